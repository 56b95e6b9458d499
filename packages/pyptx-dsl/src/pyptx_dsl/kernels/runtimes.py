"""Selection of the installed runtime of highest priority that accepts the arrays of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

from pyptx_dsl.contract.arrays import check_arrays, named_arguments
from pyptx_dsl.errors import RuntimeMissingError, point_at_call
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_ir.plugins.rows import Argument, Launchable, Runtime, Simulation, Specialization
    from pyptx_ir.plugins.timings import Timings

Method = TypeVar("Method", bound=Callable[..., object])
ResultT = TypeVar("ResultT")
Simulate = Callable[["Launchable", Sequence[object], Mapping[str, object]], "Simulation"]


SIMULATOR: Final = "sim"
"""Name of the simulator's runtime."""

VIRTUAL_GPU: Final = "virtual"
"""Name of the runtime of a virtual GPU, which claims CUDA tensors, and devices, while it is active."""


class Specialized:
    """Stand-in for a kernel with one specialization, by which a runtime runs that specialization on the simulator."""

    __slots__ = ("_special",)

    def __init__(self, special: Specialization) -> None:
        """Store the kernel specialization to run on the simulator."""
        self._special = special

    @property
    def name(self) -> str:
        """Name of the specialization's PTX entry."""
        return self._special.entry

    @property
    def declaration(self) -> None:
        """None, not a kernel declaration: the specialization contains all launch data."""

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Return the stored specialization, for any arguments."""
        del arguments, keywords
        return self._special


def call(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> tuple[Runtime, object]:
    """Run a kernel on the runtime of its arrays; return the runtime and the kernel's result.

    Errors of the runtime are located at the user's call.
    """
    try:
        runtime = _runtime_of(kernel, arrays, keywords)
        if runtime.name == SIMULATOR:
            return runtime, _simulated(runtime.call, kernel, arrays, keywords)
        return runtime, runtime.call(kernel, arrays, keywords)
    except PyptxError as error:
        point_at_call(error)
        raise


def simulate(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> Simulation:
    """Run a kernel on the simulator; its errors are located at the user's call."""
    try:
        return _simulated(simulator_for(kernel, arrays, keywords.get("out")), kernel, arrays, keywords)
    except PyptxError as error:
        point_at_call(error)
        raise


def _simulated(
    function: Callable[[Launchable, Sequence[object], Mapping[str, object]], ResultT],
    kernel: Kernel,
    arrays: Sequence[object],
    keywords: Mapping[str, object],
) -> ResultT:
    """Run a kernel with the simulator's `run`; check torch tensors, and increment versions of written tensors."""
    if "torch" not in sys.modules:
        return function(kernel, arrays, keywords)
    from pyptx_dsl.contract.gradients import check_tensors, count_versions

    declaration, given = kernel.declaration, _given(keywords.get("out"))
    check_tensors(kernel.name, named_arguments(declaration.tensors, arrays, given))
    result = function(kernel, arrays, keywords)
    count_versions([*(arrays[at] for at in declaration.mutated), *given])
    return result


def witnesses(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> Sequence[object]:
    """Return the values that select the runtime: the arrays and jax tracers of a call, else `out=`, else `device=`."""
    numbers = [keywords.get(row.name) for row in kernel.declaration.raw]
    arrays = (*arrays, *filter(_is_traced_by_jax, numbers))
    if arrays:
        return arrays
    out = _given(keywords.get("out"))
    if out:
        return out
    own = {*kernel.declaration.templates, *kernel.declaration.dimensions}
    return (keywords["device"],) if "device" in keywords and "device" not in own else ()


def _is_traced_by_jax(value: object) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def _given(out: object) -> Sequence[object]:
    """Return the arrays of `out=` as a sequence; empty for None."""
    if isinstance(out, tuple | list):
        return tuple(cast("Sequence[object]", out))
    return () if out is None else (out,)


def called_while_compiling(method: Method) -> Method:
    """Mark a method that torch.compile calls instead of tracing it (torch.compiler.assume_constant_result)."""
    vars(method)["_dynamo_marked_constant"] = True
    return method


def compiling_check() -> Callable[[], bool]:
    """Return a function that checks whether torch.compile is tracing the caller; torch's own if torch is loaded.

    torch's function is cheapest. If torch is imported later, each call also checks whether it is loaded.
    """
    torch = sys.modules.get("torch")
    return torch.compiler.is_dynamo_compiling if torch is not None else _is_compiling


def _is_compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_dynamo_compiling()


def operator(kernel: Kernel) -> Callable[..., object] | None:
    """Return the function that torch.compile traces instead of a kernel call, if an installed runtime provides it."""
    return next((runtime.operator(kernel) for runtime in _runtimes() if runtime.operator is not None), None)


def simulator(kernel: str) -> Runtime:
    """Return the simulator's runtime; raise RuntimeMissingError, with an install command, if it is not installed."""
    for runtime in _runtimes():
        if runtime.name == SIMULATOR:
            return runtime
    from pyptx_ir.origins import install_command

    raise RuntimeMissingError(
        f"{kernel}: arrays on the CPU run on the simulator, which is not installed",
        help=f"{install_command('sim')}, or move the arrays to a GPU",
    )


def virtual_gpu(values: Sequence[object]) -> Runtime | None:
    """Return the runtime of the virtual GPU if it is active and claims all tensors or devices in `values`."""
    return next((row for row in _runtimes() if row.name == VIRTUAL_GPU and row.claims(values)), None)


def _runtime_of(kernel: Kernel, arrays: Sequence[object], keywords: Mapping[str, object]) -> Runtime:
    """Return the runtime of highest priority that accepts the arrays of a call.

    Raises ForeignArrayError for arrays of several frameworks, and RuntimeMissingError, with an install command.
    """
    claimed = witnesses(kernel, arrays, keywords)
    runtime = next((row for row in _runtimes() if row.claims(claimed)), None)
    if runtime is None or _takes_one_framework(runtime):
        _check(kernel, arrays, keywords.get("out"))
    if runtime is None:
        raise _missing(kernel.name, claimed, "runs", kernel.declaration.tensors if arrays else ())
    return runtime


def _takes_one_framework(runtime: Runtime) -> bool:
    """Return whether a runtime is one of this project's, whose arrays must be of one framework."""
    from pyptx_ir.plugins.homes import RUNTIMES

    return runtime.name in RUNTIMES


def _check(kernel: Kernel, arrays: Sequence[object], out: object) -> None:
    """Raise ContractError for arrays of different frameworks."""
    declaration = kernel.declaration
    given = _given(out)
    if "out" in {*declaration.templates, *declaration.dimensions} or len(given) != len(declaration.out_specs):
        given = ()  # `out=` names a template value or dimension, or has too few or too many arrays (reported later)
    check_arrays(kernel.name, named_arguments(declaration.tensors, arrays, given))


def simulator_for(kernel: Kernel, arrays: Sequence[object], out: object = None) -> Simulate:
    """Return the `simulate` function of the first runtime that accepts these arrays and can simulate."""
    row = next((row for row in _runtimes() if row.simulate is not None and row.claims(arrays)), None)
    if row is None or _takes_one_framework(row):
        _check(kernel, arrays, out)
    if row is None or row.simulate is None:
        raise _missing(kernel.name, arrays, "simulates", kernel.declaration.tensors)
    return row.simulate


def differentiable_runtime(name: str, kernel: Kernel, arrays: Sequence[object]) -> Runtime:
    """Return the runtime that differentiates a kernel on these arrays; `name` is used in messages.

    Raises ForeignArrayError for arrays of several frameworks, and RuntimeMissingError if no runtime does.
    """
    for runtime in _runtimes():
        if runtime.differentiable is not None and runtime.claims(arrays):
            return runtime
    _check(kernel, arrays, None)
    raise _missing(name, arrays, "differentiates", kernel.declaration.tensors)


def benchmark(
    kernel: Kernel, inputs: Sequence[tuple[str, str, tuple[int, ...]]], keywords: Mapping[str, object], runs: int
) -> Timings:
    """Time `runs` launches of a kernel on a GPU; raise RuntimeMissingError if no installed runtime does that.

    `inputs` are the name, the PTX element type and the shape of each input array, which is filled at random.
    """
    for runtime in _runtimes():
        if runtime.benchmark is not None:
            return runtime.benchmark(kernel, inputs, keywords, runs)
    from pyptx_ir.origins import install_command

    raise RuntimeMissingError(
        f"{kernel.name}: no installed runtime measures kernels on a GPU", where="", help=install_command("torch")
    )


def compilable_runtime(kernel: str) -> Runtime:
    """Return the runtime that differentiates in torch.compile's graphs; raise RuntimeMissingError if there is none."""
    for runtime in _runtimes():
        if runtime.differentiable is not None and runtime.operator is not None:
            return runtime
    from pyptx_ir.origins import install_command

    raise RuntimeMissingError(
        f"{kernel}: no installed runtime supports differentiation in torch.compile", help=install_command("torch")
    )


def _runtimes() -> Sequence[Runtime]:
    from pyptx_ir.plugins.manager import manager

    return manager().runtimes()


def _missing(kernel: str, arrays: Sequence[object], verb: str, names: Sequence[str]) -> RuntimeMissingError:
    """Return the error for arrays that no installed runtime accepts; `names` are the names of the first arrays."""
    types = dict.fromkeys(type(array).__name__ for array in arrays)
    if verb == "differentiates" and list(types) == ["ndarray"]:
        return RuntimeMissingError(
            f"{kernel}: NumPy arrays have no gradients",
            help="pass torch tensors or jax arrays",
        )
    from pyptx_dsl.contract.tensors import TensorSpec

    if any(isinstance(array, TensorSpec) for array in arrays):  # the body of a kernel calls a kernel, during tracing
        return RuntimeMissingError(
            f"{kernel}: a kernel cannot be called while another kernel is traced",
            help="move the shared code to a plain Python function that emits it, or launch the kernels one after "
            "the other",
        )
    named = [(type(array).__name__, name) for array, name in zip(arrays, names, strict=False)]
    told = [", ".join(name for kind, name in named if kind == each) for each in types]
    shown = ", ".join(f"{each} ({which})" if which else each for each, which in zip(types, told, strict=True))
    return RuntimeMissingError(
        f"{kernel}: no installed runtime {verb} arguments of type {shown or 'no arrays'}", help=_remedy(arrays)
    )


def _remedy(arrays: Sequence[object]) -> str:
    """Return the help for unsupported arrays: the package to install, or the array types to pass instead."""
    from pyptx_ir.plugins.homes import remedy

    if any(type(array).__module__ == "torch.fx.proxy" for array in arrays):
        return (
            "torch.fx.symbolic_trace does not pass tensors: trace with torch.export or make_fx, or call the "
            "kernel in a function wrapped by torch.fx.wrap"
        )
    roots = ["" if _is_scalar(array) else type(array).__module__.partition(".")[0] for array in arrays]
    remedies = list(dict.fromkeys(None if _has_runtime(root) else remedy(root) for root in roots))
    if arrays and None not in remedies:
        return "; ".join(filter(None, remedies))
    usual = "pass NumPy arrays, torch tensors or jax arrays, one for each input"
    if any(hasattr(array, mark) for array in arrays for mark in ("__dlpack__", "__cuda_array_interface__")):
        return f"{usual}; convert arrays of other libraries with torch.from_dlpack or jax.numpy.from_dlpack"
    return usual


def _has_runtime(framework: str) -> bool:
    """Return whether the runtime of a framework's arrays is installed."""
    from pyptx_ir.plugins.homes import HOMES

    installed = {row.name for row in _runtimes()}
    return any(framework in home.frameworks and home.runtime in installed for home in HOMES)


def _is_scalar(value: object) -> bool:
    """Return whether a value is a NumPy scalar (`numpy.generic`), not an array."""
    return any(kind.__module__ == "numpy" and kind.__name__ == "generic" for kind in type(value).__mro__)
