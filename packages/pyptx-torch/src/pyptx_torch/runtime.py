"""The runtime `torch` of the plugin interface. This module does not import torch before a call has a tensor.

call, launcher  ──▶ eager.py ──▶ operators.py ──▶ cpu.py, cuda.py
operator        ──▶ operators.py                  fake.py, batching.py, gradients.py
differentiable  ──▶ differentiable.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, cast

from pyptx_ir.plugins.rows import Launchable, Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_ir.plugins.timings import Timings

PRIORITY: Final = 100  # greater than the simulator's priority, because the simulator's runtime also accepts CPU tensors


def claims(arguments: Sequence[object]) -> bool:
    """Return whether all arguments are torch tensors, or the only argument is a torch device."""
    if len(arguments) == 1 and isinstance(arguments[0], str):
        return True
    # The torch module; None unless the caller has imported torch, as a caller with torch tensors has.
    framework = sys.modules.get("torch")
    if framework is None or not arguments:
        return False
    if len(arguments) == 1 and isinstance(arguments[0], framework.device):
        return True
    return all(isinstance(argument, framework.Tensor) for argument in arguments)


def call(kernel: Launchable[Declaration], arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Run a kernel through its operator; return its only output, a tuple of several outputs, or None."""
    from pyptx_torch.operators import operator_of

    return operator_of(kernel)(*cast("Sequence[torch.Tensor]", arguments), **keywords)


def operator(kernel: Launchable[Declaration]) -> Callable[..., object]:
    """Return the function of tensors that torch.compile and torch.export trace."""
    from pyptx_torch.operators import operator_of

    return operator_of(kernel).traceable


def launcher(kernel: Launchable[Declaration], miss: Callable[..., object]) -> Callable[..., object]:
    """Return the callable for a kernel's calls with torch tensors; it forwards other calls to `miss`."""
    from pyptx_torch.eager import launcher_of

    return launcher_of(kernel, miss)


def differentiable(forward: Kernel, backward: Backward, **keywords: object) -> Callable[..., object]:
    """Return a function of tensors that runs `forward`, and whose gradients `backward` computes."""
    from pyptx_torch.differentiable import join

    return join(forward, backward, keywords)


def capability() -> tuple[int, int]:
    """Return the compute capability of the first GPU; raise LaunchError (a RuntimeError) if there is none."""
    from pyptx_launch import driver

    return driver.device(0).capability


def benchmark(
    kernel: Launchable[Declaration],
    inputs: Sequence[tuple[str, str, tuple[int, ...]]],
    keywords: Mapping[str, object],
    runs: int,
) -> Timings:
    """Return the times of launches of a kernel on random arrays on the first GPU."""
    from pyptx_torch.benchmark import measure

    return measure(kernel, inputs, keywords, runs)


RUNTIME: Final = Runtime(
    "torch",
    PRIORITY,
    claims,
    call,
    differentiable=differentiable,
    operator=operator,
    launcher=launcher,
    capability=capability,
    benchmark=benchmark,
)
