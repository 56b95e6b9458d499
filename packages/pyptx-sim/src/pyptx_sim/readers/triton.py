"""Launches of kernels compiled by Triton.

Verified with Triton 3.2, 3.4, 3.6 and 3.9, which compile without a GPU: `triton.compile(ASTSource(fn, signature,
constexprs), target)`. Parameters are passed as in Triton's `triton/backends/nvidia/driver.py`; in 3.9,
`triton/backends/driver.py` defines the parameters of a tensor descriptor.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.rows import SWIZZLES
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Function
from pyptx_sim.arrays import argument_of, is_cpu_array
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.registry import offered
from pyptx_sim.launch import Launch
from pyptx_sim.machine.geometry import extent_of
from pyptx_sim.memory import DeviceArray
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.values import Uninitialized, WithDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_sim.limits import Count
    from pyptx_sim.operation import Array
    from pyptx_sim.values import Argument

# Triton's names of element types in descriptors.
_ELEMENTS: Final = {
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "fp8e4nv": "e4m3", "fp8e5": "e5m2", "i1": "u8",
    "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
}  # fmt: skip
# Triton's 16-bit float types; the launcher passes a scalar of such a type as its bits.
_HALVES: Final = {"fp16": "f16", "bf16": "bf16"}
_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<(\w+)\[")
_WARP: Final = 32
# Kinds of scratch memory: Triton 3.2 passes a pointer to none, 3.4 to global_scratch, later releases to both.
_SCRATCH: Final = ("global_scratch", "profile_scratch")


class CompiledKernel(Protocol):
    """Attributes that are read from Triton's `CompiledKernel`."""

    @property
    def asm(self) -> Mapping[str, Any]:
        """Output of each compiler stage by name; the text of stage `"ptx"` is read."""
        ...

    @property
    def metadata(self) -> Any:  # noqa: ANN401 - a named tuple that Triton makes for each kernel
        """Compiler metadata: `name`, `num_warps`, `num_ctas`, `shared`, `global_scratch_size` and other fields."""
        ...

    @property
    def src(self) -> Any:  # noqa: ANN401 - an ASTSource
        """The compiled source, whose `signature` maps the names of parameters to their types."""
        ...


def from_triton(compiled: CompiledKernel, grid: Count, args: Sequence[object]) -> Launch:
    """Return the launch of a kernel that Triton has compiled, for `run(compiled.asm["ptx"], launch)`.

    `grid` counts programs, 0 for empty arrays. `args` are those of the non-constexpr parameters, in order: NumPy
    arrays, arrays of a `Memory`, CPU tensors of torch; numbers; tuples where the kernel takes tuples. For a tensor
    descriptor made by the host, pass an array (described with its own shape and strides) or Triton's TensorDescriptor.
    The parameters that Triton adds (shapes and strides of descriptors, scratch memory) are filled in.

    Raises LaunchError for arguments that do not match, and for descriptors of im2col mode or of fp4, which are not
    supported.
    """
    metadata = compiled.metadata
    clusters = _clusters(metadata)
    extent = extent_of(grid, "grid", least=0)
    parameters = _parameters(compiled.asm["ptx"], metadata.name)
    given = _given(compiled, args, parameters - sum(hasattr(metadata, f"{kind}_size") for kind in _SCRATCH))
    hidden = parameters - len(given)
    if not 0 <= hidden <= len(_SCRATCH):
        raise LaunchError(
            f"{metadata.name}: expected 0 to 2 parameters after its {counted(len(given), 'argument')}, got {hidden}",
            help="pass the entry's arguments to a Launch: this Triton version is not supported",
        )
    blocks = math.prod(extent) * math.prod(clusters)
    given += [(kind, _scratch(metadata, kind, blocks)) for kind in _SCRATCH[:hidden]]
    return Launch(
        entry=metadata.name,
        grid=(extent[0] * clusters[0], extent[1] * clusters[1], extent[2] * clusters[2]),
        block=_WARP * metadata.num_warps,
        cluster=clusters,
        shared_bytes=metadata.shared,
        args=[value for _, value in given],
        names=[name for name, _ in given],
        cooperative=bool(getattr(metadata, "launch_cooperative_grid", False)),
        programmatic_dependent=bool(getattr(metadata, "launch_pdl", False)),
    )


def _clusters(metadata: Any) -> tuple[int, int, int]:  # noqa: ANN401 - see Compiled
    """Return the cluster extent; before 3.6, Triton chooses the dimensions, later releases put all CTAs on x."""
    count = int(getattr(metadata, "num_ctas", 1))
    x, y, z = getattr(metadata, "cluster_dims", None) or (count, 1, 1)
    return (int(x), int(y), int(z)) if x * y * z == count else (count, 1, 1)


def _given(compiled: CompiledKernel, args: Sequence[object], wanted: int) -> list[tuple[str, Argument]]:
    """Return the entry's arguments with their names: the arguments of the Triton release that passes `wanted` ones.

    After the strides of a descriptor made on the device, Triton 3.9 passes two flags, 3.6 one, and 3.4 none.
    If no release passes `wanted` arguments, return the arguments of 3.9.
    """
    signature = cast("Mapping[str, object]", compiled.src.signature)
    descriptors = getattr(compiled.metadata, "tensordesc_meta", None) or ()
    readers = (_Reader(iter(descriptors), flags) for flags in (2, 1, 0))
    given = [list(reader.all(list(signature), tuple(signature.values()), args)) for reader in readers]
    return next((each for each in given if len(each) == wanted), given[0])


@lru_cache(maxsize=256)
def _parameters(ptx: str, name: str) -> int:
    """Return the number of parameters of an entry; cached, since a kernel may be launched many times."""
    entries = (each for each in parse(ptx).body if isinstance(each, Function) and each.name == name)
    return len(next(entries).parameters or ())


def _scratch(metadata: Any, kind: str, blocks: int) -> Argument:  # noqa: ANN401 - see Compiled
    """Return uninitialized scratch memory for all CTAs, as Triton's launcher allocates it; null if its size is 0."""
    size = blocks * int(getattr(metadata, f"{kind}_size", 0))
    return Uninitialized(np.zeros(size, np.uint8)) if size else 0


class _Reader:
    """Converter of call arguments to entry arguments; `descriptors` is Triton's metadata of each descriptor, in order.

    `flags` is the number of flag parameters after the strides of a descriptor made on the device.
    """

    def __init__(self, descriptors: Iterator[Mapping[str, Any]], flags: int) -> None:
        self._descriptors, self._flags = descriptors, flags

    def all(
        self, names: Sequence[str], types: Sequence[object], args: Sequence[object]
    ) -> Iterator[tuple[str, Argument]]:
        """Yield the entry's arguments with their names, for the parameters of a call."""
        asked = [(name, kind) for name, kind in zip(names, types, strict=True) if kind != "constexpr"]
        if len(asked) != len(args):
            wanted = ", ".join(f"{name}: {kind}" for name, kind in asked) or "none"
            raise LaunchError(
                f"expected {counted(len(asked), 'argument')}, got {len(args)}",
                help=f"pass a value for each parameter: {wanted}",
            )
        for (name, kind), value in zip(asked, args, strict=True):
            yield from self._one(name, kind, value)

    def _one(self, name: str, kind: object, value: object) -> Iterator[tuple[str, Argument]]:
        if isinstance(kind, tuple):
            inner = cast("tuple[object, ...]", kind)
            names = [f"{name}.{number}" for number in range(len(inner))]
            yield from self.all(names, inner, cast("Sequence[object]", value))
        elif str(kind).startswith("tensordesc"):
            yield from ((name, each) for each in self._described(name, str(kind), value))
        elif kind in _HALVES:
            number = np.array([cast("float", value)], np.float64)
            yield name, HALVES[_HALVES[str(kind)]].narrow(number).tobytes()
        else:
            yield name, 0 if value is None else cast("Argument", value)

    def _described(self, name: str, kind: str, value: object) -> Iterator[Argument]:
        """Yield a descriptor, or the fields from which the device builds it; then the tensor's shape and strides."""
        base, shape, strides, nan, rounded = _tensor(name, value)
        said = next(self._descriptors, None)
        if said is None:
            yield from (base, *shape, *strides, *(int(nan), int(rounded))[: self._flags])
        else:
            yield WithDescriptor(base, _map(name, kind, said, shape, strides, nan=nan, rounded=rounded))
        yield from shape
        yield from strides


def _tensor(name: str, value: object) -> tuple[Array | DeviceArray, tuple[int, ...], tuple[int, ...], bool, bool]:
    """Return the base, the shape and the strides (in elements) of the tensor of a descriptor.

    The last two results are whether copies fill out-of-bounds elements with NaN, and whether they round f32 to tf32.
    """
    described: Any = value
    if isinstance(value, DeviceArray) or is_cpu_array(value):
        said = argument_of(value.array if isinstance(value, DeviceArray) else value)
        return described, tuple(map(int, said.shape)), tuple(map(int, said.strides)), False, False
    if not hasattr(described, "block_shape"):
        raise LaunchError(f"{name} must be an array or a TensorDescriptor, got {type(value).__name__}")
    shape, strides = tuple(map(int, described.shape)), tuple(map(int, described.strides))
    return (
        described.base,
        shape,
        strides,
        getattr(described, "padding", "zero") == "nan",  # since Triton 3.5
        bool(getattr(described, "round_f32_to_tf32", False)),
    )


def _map(
    name: str,
    kind: str,
    said: Mapping[str, Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    nan: bool,
    rounded: bool,
) -> object:
    """Return the tensor map that Triton's launcher encodes for a tensor."""
    element = _DESCRIPTOR.match(kind)
    known = offered("TensorMap")
    if element is None or element[1] not in _ELEMENTS or said.get("is_im2col") or said.get("fp4_padded"):
        raise LaunchError(f"{name}: unsupported descriptor {kind}", help="pass the entry's arguments to a Launch")
    if known is None:
        raise LaunchError(
            f"no plugin provides descriptor {kind}", help="install the package of the descriptor's architecture"
        )
    size = int(said["elem_size"])
    made: object = known(
        "tf32" if rounded else _ELEMENTS[element[1]],
        shape,
        tuple(size * stride for stride in strides),
        tuple(said["block_size"]),
        (1,) * len(shape),
        SWIZZLES[said["swizzle"]],
        fill="nan" if nan else "zeros",
    )
    return made
