"""Finding who runs a call: the installed runtime of highest priority that claims its arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_dsl.errors import RuntimeMissingError, point_at_call
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from pyptx_dsl.kernel import Kernel
    from pyptx_ir.plugins.rows import Launchable, Runtime, Simulation

Method = TypeVar("Method", bound=Callable[..., object])
Simulate = Callable[["Launchable", Sequence[object], Mapping[str, object]], "Simulation"]

# What to install for arrays of a framework, by the first word of their type's module.
_HOMES = {
    "numpy": "pip install pyptx-sim",
    "torch": "pip install 'pyptx[torch]', or pyptx-sim for CPU tensors",
    "jax": "pip install 'pyptx[jax]'",
    "jaxlib": "pip install 'pyptx[jax]'",
}


def call(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> tuple[Runtime, object]:
    """Run a kernel on the runtime of its arrays; return that and what the kernel returns.

    What the runtime complains about is shown at the user's call.
    """
    try:
        runtime = runtime_for(kernel.name, witnesses(kernel, arrays, keywords))
        return runtime, runtime.call(kernel, arrays, keywords)
    except PyptxError as error:
        point_at_call(error)
        raise


def simulate(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> Simulation:
    """Run a kernel on the simulator; what that complains about is shown at the user's call."""
    try:
        return simulator_for(kernel.name, arrays)(kernel, arrays, keywords)
    except PyptxError as error:
        point_at_call(error)
        raise


def witnesses(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> Sequence[object]:
    """Return what tells whose a call is: its arrays; without any, those of `out=`, or else the value of `device=`."""
    if arrays:
        return arrays
    out = keywords.get("out")
    if out is not None:
        return tuple(cast("Sequence[object]", out)) if isinstance(out, tuple | list) else (out,)
    own = {*kernel.declaration.templates, *kernel.declaration.dimensions}
    return (keywords["device"],) if "device" in keywords and "device" not in own else ()


def called_while_compiling(method: Method) -> Method:
    """Have torch.compile call a method while it traces, not trace into it: as torch.compiler.assume_constant_result."""
    vars(method)["_dynamo_marked_constant"] = True
    return method


def compiling_check() -> Callable[[], bool]:
    """Return what tells whether torch.compile is tracing the caller: torch's own, if torch is loaded already.

    That one costs least at every call; whoever imports torch later pays for a look whether it is there.
    """
    torch = sys.modules.get("torch")
    return torch.compiler.is_dynamo_compiling if torch is not None else _is_compiling


def _is_compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_dynamo_compiling()


def operator(kernel: Kernel) -> Callable[..., object] | None:
    """Return what torch.compile traces in place of a call, if an installed runtime has it."""
    return next((runtime.operator(kernel) for runtime in _runtimes() if runtime.operator is not None), None)


def simulator(kernel: str) -> Runtime:
    """Return the simulator's runtime; raise RuntimeMissingError, which names its package."""
    for runtime in _runtimes():
        if runtime.name == "sim":
            return runtime
    raise RuntimeMissingError(
        f"{kernel}: arrays on the CPU run on the simulator, which is not installed",
        hint="pip install pyptx-sim, or move the arrays to a GPU",
    )


def runtime_for(kernel: str, arrays: Sequence[object]) -> Runtime:
    """Return the runtime for these arrays; raise RuntimeMissingError, which says what to install."""
    for runtime in _runtimes():
        if runtime.claims(arrays):
            return runtime
    raise _missing(kernel, arrays, "runs")


def simulator_for(kernel: str, arrays: Sequence[object]) -> Simulate:
    """Return the `simulate` of the first runtime that has one and claims these arrays."""
    for runtime in _runtimes():
        if runtime.simulate is not None and runtime.claims(arrays):
            return runtime.simulate
    raise _missing(kernel, arrays, "simulates")


def differentiable_runtime(kernel: str, arrays: Sequence[object]) -> Runtime:
    """Return the runtime that runs and differentiates these arrays; raise RuntimeMissingError if there is none."""
    for runtime in _runtimes():
        if runtime.differentiable is not None and runtime.claims(arrays):
            return runtime
    raise _missing(kernel, arrays, "differentiates")


def compilable_runtime(kernel: str) -> Runtime:
    """Return the runtime that differentiates in torch.compile's graphs; raise RuntimeMissingError if there is none."""
    for runtime in _runtimes():
        if runtime.differentiable is not None and runtime.operator is not None:
            return runtime
    raise RuntimeMissingError(
        f"{kernel}: no installed runtime differentiates in torch.compile", hint="pip install 'pyptx[torch]'"
    )


def _runtimes() -> Sequence[Runtime]:
    from pyptx_ir.plugins.manager import manager

    return manager().runtimes()


def _missing(kernel: str, arrays: Sequence[object], verb: str) -> RuntimeMissingError:
    types = ", ".join(dict.fromkeys(type(array).__name__ for array in arrays)) or "no arrays"
    if verb == "differentiates" and types == "ndarray":
        return RuntimeMissingError(
            f"{kernel}: NumPy arrays have no gradients",
            hint="pass torch tensors or jax arrays",
        )
    roots = ["" if _is_scalar(array) else type(array).__module__.partition(".")[0] for array in arrays]
    hints = dict.fromkeys(_HOMES[root] for root in roots if root in _HOMES)
    if not all(root in _HOMES for root in roots):
        hints = {}  # nothing that can be installed runs a list or a number
    return RuntimeMissingError(
        f"{kernel}: no installed runtime {verb} arguments of type {types}",
        hint="; ".join(hints) or "pass NumPy arrays, torch tensors or jax arrays, one for each input",
    )


def _is_scalar(value: object) -> bool:
    """Tell NumPy's scalars, all of them `numpy.generic`, from its arrays."""
    return any(kind.__module__ == "numpy" and kind.__name__ == "generic" for kind in type(value).__mro__)
