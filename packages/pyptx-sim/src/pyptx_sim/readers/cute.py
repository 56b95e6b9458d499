"""Launches of kernels compiled by the CuTe DSL.

Verified with nvidia-cutlass-dsl 4.8, which compiles without a GPU for a `CUTE_DSL_ARCH`. With `CUTE_DSL_KEEP=ptx,ir` in
the environment, `cute.compile(host, …)` keeps the PTX and the MLIR, which has the types of the kernel's parameters and
the launch properties that are compile-time constants. The shared memory size per CTA is in the lowered host function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.arrays import argument_of, is_cpu_array
from pyptx_sim.errors import LaunchError
from pyptx_sim.launch import Launch
from pyptx_sim.memory import DeviceArray
from pyptx_sim.values import Uninitialized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_sim.limits import Count
    from pyptx_sim.values import Argument

_KEPT: Final = "set CUTE_DSL_KEEP=ptx,ir before cutlass is imported"
_ALIAS: Final = re.compile(r"^(!\w+) = (.+)$", re.MULTILINE)
_KERNEL: Final = re.compile(r"^ *cuda\.kernel @(\w+)\((.*)\) attributes (\{.*\}) \{$", re.MULTILINE)
_FACT: Final = re.compile(r"(exact_grid_dim|exact_cluster_dim) = array<i64: (\d+), (\d+), (\d+)>")
_MEMREF: Final = re.compile(r'!cute\.memref<\w+, gmem, [^"]*"(.*)">')
_SCALAR: Final = re.compile(r"(i|f)(\d+)|bf16")
_LEAF: Final = re.compile(r"\?(?:\{[^}]*\})?|-?\d+")
# MLIR that computes the address of field 2 of a launch configuration (grid, block, bytes of shared memory).
_CONFIGURED: Final = re.compile(r"(%\w+) = llvm\.getelementptr %\w+\[0, 2\][^\n]*array<3 x i32>, array<3 x i32>, i64, ")
_LAUNCHED: Final = "llvm.call @_cudaLaunchKernelEx"


class CompiledFunction(Protocol):
    """Attributes that are read from a compiled function of the CuTe DSL."""

    @property
    def artifacts(self) -> Any:  # noqa: ANN401 - of a class that the DSL does not document
        """`PTX` and `MLIR`: the artifacts that the compiler kept."""
        ...

    @property
    def ir_module(self) -> Any:  # noqa: ANN401 - see above
        """Module with the host function in MLIR's LLVM dialect."""
        ...


def from_cute(compiled: CompiledFunction, grid: Count | None, args: Sequence[object], *, entry: str = "") -> Launch:
    """Return the launch of a kernel of a compiled host function, for `run(compiled.artifacts.PTX, launch)`.

    `grid` counts CTAs; None if it is a compile-time constant. `args` are the arguments that the host function passes to
    the kernel, without layouts, copy atoms and MMA atoms:

    - for a tensor, an array: its address is passed with its dynamic extents and strides;
    - for a tensor view with nested modes, some of them dynamic, the tuple of the values passed;
    - for a TMA atom, a `WithDescriptor` array;
    - numbers.

    `entry` selects the kernel, if the host function launches several. Raises LaunchError if the compiler did not keep
    the artifacts, and for arguments that do not match.
    """
    text = cast("str | None", compiled.artifacts.MLIR)
    if not text:
        raise LaunchError("no compiler artifacts besides PTX", help=_KEPT)
    kernel = _kernel(text, entry)
    facts = {name: (int(x), int(y), int(z)) for name, x, y, z in _FACT.findall(kernel.attributes)}
    if grid is None and "exact_grid_dim" not in facts:
        raise LaunchError(f"the grid of {kernel.name} depends on arguments of the host function", help="pass grid=")
    return Launch(
        entry=kernel.name,
        grid=facts["exact_grid_dim"] if grid is None else grid,
        cluster=facts.get("exact_cluster_dim", (1, 1, 1)),
        shared_bytes=_shared_bytes(str(compiled.ir_module), kernel.name),
        args=list(_arguments(kernel, _bytes_of_parameters(compiled.artifacts.PTX, kernel.name), args)),
        cooperative="cooperative_launch = true" in kernel.attributes,
    )


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Texts from MLIR: a kernel's name, parameter types and attributes."""

    name: str
    parameters: tuple[str, ...]
    attributes: str


def _kernel(text: str, entry: str) -> _Kernel:
    aliases = dict(_ALIAS.findall(text))
    found = {name: (parameters, attributes) for name, parameters, attributes in _KERNEL.findall(text)}
    names = [name for name in found if entry in {"", name}]
    if len(names) != 1:
        raise LaunchError(
            f"unknown kernel {entry!r}" if entry else f"expected one kernel, got {len(found)}",
            help=f"pass entry=, one of: {', '.join(sorted(found)) or 'none'}",
        )
    parameters, attributes = found[names[0]]
    types = (each.partition(": ")[2] for each in _split(parameters))
    return _Kernel(names[0], tuple(aliases.get(each, each) for each in types), attributes)


def _split(text: str, opened: str = "<({[", closed: str = ">)}]") -> Iterator[str]:
    """Yield the parts of the text between commas that are outside all brackets."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character in opened) - (character in closed)
        if character == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _bytes_of_parameters(ptx: str, name: str) -> list[int]:
    """Return the size in bytes of each of the entry's parameters that is a byte array, and 0 for other parameters."""
    head = ptx.partition(f".entry {name}(")[2].partition(")")[0]
    sizes = (re.search(r"\.b8 \w+\[(\d+)\]", each) for each in head.split(",") if each.strip())
    return [int(each[1]) if each else 0 for each in sizes]


def _shared_bytes(lowered: str, name: str) -> int:
    """Return the bytes of dynamic shared memory that the host function requests in the kernel's launch."""
    for part in lowered.split(_LAUNCHED):
        found = _CONFIGURED.search(part) if f"@kernels_{name} " in part else None
        stored = found and re.search(rf"llvm\.store (%\w+), {found[1]} : i64", part)
        number = stored and re.search(rf"{stored[1]} = llvm\.mlir\.constant\((\d+) : i64\)", part)
        if number:
            return int(number[1])
    raise LaunchError(f"cannot read the shared memory size of {name}", help="pass the entry's arguments to a Launch")


def _arguments(kernel: _Kernel, sizes: Sequence[int], args: Sequence[object]) -> Iterator[Argument]:
    """Yield the arguments of the entry.

    A kernel parameter without bytes at run time is not an entry parameter. For an MMA atom with run-time flags, yield
    bytes of zeros.
    """
    asked = [kind for kind in kernel.parameters if _is_given(kind)]
    if len(asked) != len(args):
        help = f"pass a value for each kernel parameter: {', '.join(kind[:60] for kind in asked) or 'none'}"
        raise LaunchError(f"{kernel.name}: expected {counted(len(asked), 'argument')}, got {len(args)}", help=help)
    products = sum(map(_is_product, kernel.parameters))
    if len(sizes) - len(asked) not in {0, products}:
        what = f"cannot read {len(sizes) - len(asked)} of {counted(len(sizes), 'parameter')} of {kernel.name}"
        raise LaunchError(what, help="pass the entry's arguments to a Launch")
    flags, given, place = len(sizes) > len(asked), iter(args), iter(sizes)
    for kind in kernel.parameters:
        if _is_given(kind):
            next(place)
            yield _argument(kind, next(given))
        elif flags and _is_product(kind):
            yield bytes(next(place))


def _is_product(kind: str) -> bool:
    return kind.startswith("!cute.tiled_mma<")


def _is_given(kind: str) -> bool:
    """Return whether the host function passes an argument for a kernel parameter of MLIR type `kind`."""
    return bool(_MEMREF.match(kind) or _SCALAR.match(kind)) or kind.startswith("!cute.ptr<") or "_tma_" in kind


def _argument(kind: str, value: object) -> Argument:
    tensor, scalar = _MEMREF.match(kind), _SCALAR.match(kind)
    if tensor and not isinstance(value, tuple):
        return _structure(kind, tensor[1], value)
    if scalar and scalar[0] == "f16":
        return np.float16(cast("float", value)).tobytes()
    return cast("Argument", value)


def _structure(kind: str, layout: str, value: object) -> Argument:
    """Return the address of an array, followed by its dynamic extents and strides (unknown at compile time)."""
    inner: Any = value.array if isinstance(value, DeviceArray | Uninitialized) else value
    if not is_cpu_array(inner):
        raise LaunchError(f"expected an array for {kind}, got {type(value).__name__}")
    known = argument_of(inner)
    shape, _, strides = layout.partition(":")
    return (
        cast("Argument", value),
        *_unknown(kind, shape, known.shape),
        *_unknown(kind, strides, known.strides, known.shape),
    )


def _unknown(kind: str, text: str, numbers: Sequence[int], extents: Sequence[int] = ()) -> Iterator[np.integer[Any]]:
    """Yield those extents or strides of an array that are dynamic (`?`) in its layout, as passed to the kernel."""
    modes = list(_split(text.removeprefix("(").removesuffix(")")))
    plain = len(modes) == len(numbers) and all(map(_LEAF.fullmatch, modes))
    if not plain and "?" in text:
        raise LaunchError(
            f"cannot derive {kind} from an array",
            help="pass the tuple that the @cute.jit function passes to the kernel",
        )
    for place, (mode, number) in enumerate(zip(modes, numbers, strict=True) if plain else ()):
        if mode.startswith("?"):
            yield np.int64(number) if "i64" in mode else np.int32(number)
        elif int(mode) != number and (not extents or extents[place] > 1):
            raise LaunchError(
                f"expected {mode} in the layout of {kind}, got {number}", help="pass an array of the kernel's layout"
            )
