"""The runtime `jax` of the plugin interface. This module does not import jax before a call has a jax array.

call, launcher  ──▶ eager.py     ──▶ calls.py ──▶ arguments.py, batching.py, records.py, targets.py
differentiable  ──▶ autodiff.py  ──▶
XLA             ──▶ launches.py  ──▶ cpu.py, cuda.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from pyptx_ir.plugins.rows import Launchable, Runtime, Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel

# Greater than the simulator's priority, so that pyptx offers a call with jax arrays to this runtime first.
PRIORITY: Final = 100


def claims(arguments: Sequence[object]) -> bool:
    """Return whether the arguments contain a jax array, or are one jax device (of a call without arrays)."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    if len(arguments) == 1 and isinstance(arguments[0], jax.Device):
        return True
    return any(isinstance(argument, jax.Array) for argument in arguments)


def call(kernel: Launchable[Declaration], arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Run a kernel, or add it to the program being traced; return its outputs and mutated inputs."""
    from pyptx_jax.eager import call as call_eagerly

    return call_eagerly(kernel, arguments, keywords)


def simulate(
    kernel: Launchable[Declaration], arguments: Sequence[object], keywords: Mapping[str, object]
) -> Simulation:
    """Run a kernel on the simulator, with checks."""
    from pyptx_jax.cpu import simulate as simulate_arrays

    return simulate_arrays(kernel, arguments, keywords)


def launcher(kernel: Launchable[Declaration], miss: Callable[..., object]) -> Callable[..., object]:
    """Return the callable for a kernel's calls with jax arrays; it forwards other calls to `miss`."""
    from pyptx_jax.eager import launcher as launcher_of

    return launcher_of(kernel, miss)


def differentiable(forward: Kernel, backward: Backward, **keywords: object) -> Callable[..., object]:
    """Return a function of jax arrays that runs `forward`, and whose gradients `backward` computes."""
    from pyptx_jax.autodiff import join

    return join(forward, backward, keywords)


def capability() -> tuple[int, int]:
    """Return the compute capability of the first GPU; raise LaunchError (a RuntimeError) if there is none."""
    from pyptx_launch import driver

    return driver.device(0).capability


RUNTIME: Final = Runtime(
    "jax", PRIORITY, claims, call, simulate, differentiable, launcher=launcher, capability=capability
)
