"""The runtime row `torch`. This module does not import torch before a call has a tensor.

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

PRIORITY: Final = 100  # ahead of the simulator, which claims CPU tensors too


def claims(arguments: Sequence[object]) -> bool:
    """Return whether all arguments are tensors, or the only one is a device (of a call without arrays)."""
    if len(arguments) == 1 and isinstance(arguments[0], str):
        return True
    framework = sys.modules.get("torch")  # a caller with a tensor has imported it
    if framework is None or not arguments:
        return False
    if len(arguments) == 1 and isinstance(arguments[0], framework.device):
        return True
    return all(isinstance(argument, framework.Tensor) for argument in arguments)


def call(kernel: Launchable[Declaration], arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Run a kernel through its operator and return the output, a tuple of several, or None."""
    from pyptx_torch.operators import operator_of

    return operator_of(kernel)(*cast("Sequence[torch.Tensor]", arguments), **keywords)


def operator(kernel: Launchable[Declaration]) -> Callable[..., object]:
    """Return the function of tensors that torch.compile and torch.export trace."""
    from pyptx_torch.operators import operator_of

    return operator_of(kernel).traceable


def launcher(kernel: Launchable[Declaration], miss: Callable[..., object]) -> Callable[..., object]:
    """Return the callable for calls with torch tensors."""
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


RUNTIME: Final = Runtime(
    "torch",
    PRIORITY,
    claims,
    call,
    differentiable=differentiable,
    operator=operator,
    launcher=launcher,
    capability=capability,
)
