"""Python lines that launch a kernel of a module on arrays of torch and of jax, as a template to copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.contract.descriptors import kind_of_size
from pyptx_dsl.modules.dynamic_memory import bytes_reached
from pyptx_dsl.modules.entry_kernels import directive_sizes, parameter_names
from pyptx_dsl.modules.statements import parameter_types
from pyptx_dsl.types import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_dsl.modules.pointers import Pointer
    from pyptx_dsl.types import PtxType
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.syntax import nodes

__all__ = ["launch_lines"]

_ARRAYS = {
    "b8": "uint8",
    "b16": "int16",
    "b32": "int32",
    "b64": "int64",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
_ELEMENTS = 1 << 22  # number of elements of each array argument in the printed Python lines
_NUMBER = 16  # value of each integer kernel argument: most kernels handle a size of 16 without a remainder
_THREADS = 128  # threads per CTA, if the kernel header has no .maxntid
_SHARED = 49152  # bytes of dynamic shared memory that every GPU grants a CTA
_KIB = 1024
_WIDTH = 100  # maximum columns of a printed Python line
_WIDE = 64  # element size in bits for which jax requires jax_enable_x64


@dataclass(frozen=True, slots=True)
class _Array:
    """An array argument of a kernel: example sizes, and the arguments of its Tile after the element type."""

    sizes: tuple[int, ...]
    dtype: str
    written: bool
    arguments: str = ""

    def tile(self, number: str) -> str:
        """Return the Python source of the array's Tile; its dimension names end in `number`."""
        letters = {1: "N", 2: "MN"}.get(len(self.sizes), "BCDMN")
        names = [f"{letter}{number}" for letter in letters[-len(self.sizes) :]]
        return f"Tile({', '.join(map(repr, names))}, {self.dtype}{self.arguments})".replace("'", '"')

    @property
    def shape(self) -> str:
        """Python source of the array's shape as an argument of `torch.zeros` and `jnp.zeros`."""
        return str(self.sizes[0]) if len(self.sizes) == 1 else str(self.sizes)


def launch_lines(
    kernel: nodes.Function,
    pointers: Mapping[str, Pointer],
    name: str,
    file: str,
    *,
    dynamic: Sequence[str],
    most_shared: int = _SHARED,
) -> Iterator[str]:
    """Yield the Python lines that launch a kernel of a PTX file; `dynamic` are its dynamic shared memory variables.

    A kernel with descriptors gets `most_shared` bytes of dynamic shared memory, because such a kernel computes the
    offsets of buffers.
    """
    parameters = kernel.parameters or ()
    types = parameter_types(parameters)
    short = dict(zip((each.name for each in parameters), parameter_names(kernel), strict=True))
    described = {each.name: kind for each in parameters if (kind := kind_of_size(each)) is not None}
    shown = {each: _fitting(kind, kernel, each) for each, kind in described.items()}
    shown |= {each: _Array((_ELEMENTS,), found.element, found.written) for each, found in pointers.items()}
    arrays = {short[each]: array for each in short if (array := shown.get(each)) is not None}
    structures = [each.name for each in parameters if types.get(each.name) is None]
    if structures and structures == list(described) and None in shown.values():
        titles = " and ".join(dict.fromkeys(f"{kind.title}s" for kind in described.values()))
        names = [short[each] for each in structures]
        yield f"{name} takes {titles} ({', '.join(names)}). To launch it, describe their arrays in {name}.kernel:"
        yield f'    in_specs={{"{names[0]}": {described[structures[0]].example}, …}}'
        return
    if structures != list(described) or not arrays:
        why = f"{short[structures[0]]} is a structure" if structures else "the kernel takes no arrays"
        yield f"Launch {name} with the driver API, from module.cubin(): {why}."
        return
    unused = {each.name for each in parameters if each.pointer is not None} - set(pointers)
    numbers = {name: dtype for name, dtype in types.items() if short[name] not in arrays}
    values = [f"{short[each]}={0 if each in unused else _one(dtype)}" for each, dtype in numbers.items()]
    shared = max(most_shared if described else _SHARED, -(-bytes_reached(kernel, dynamic) // _KIB) * _KIB)
    keywords = list(_keywords(kernel, arrays, shared if dynamic else 0))
    yield from _lines(name, file, arrays, keywords, values)


def _lines(
    name: str, file: str, arrays: Mapping[str, _Array], keywords: list[str], values: Sequence[str]
) -> Iterator[str]:
    """Yield the Python lines that describe a kernel's arrays and launch it, starting with the imports."""
    layout = "Layout, " if any("Layout." in each.arguments for each in arrays.values()) else ""
    yield f"To launch {name}, describe its arrays; torch and jax arrays run on their GPU or the simulator:"
    yield f"    from pyptx import {layout}Tile"
    yield f"    from pyptx.types import {', '.join(sorted({each.dtype for each in arrays.values()}))}"
    yield f"    from {file} import {name}"
    yield ""
    yield from _call(f"    run = {name}.kernel(", keywords)
    yield from _torch(arrays, values)
    yield from _jax(arrays, values)


def _fitting(kind: DescriptorKind, kernel: nodes.Function, parameter: str) -> _Array | None:
    """Return the array that a descriptor describes, inferred from the kernel's copies; None if that fails."""
    found = None if kind.fitting is None else kind.fitting(kernel, parameter)
    return None if found is None else _Array(found.sizes, found.dtype, found.written, found.arguments)


def _call(opening: str, arguments: list[str]) -> Iterator[str]:
    """Yield the Python lines of a call; a call of more than 100 columns has one argument per line."""
    whole = f"{opening}{', '.join(arguments)})"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield opening
    yield from (f"        {each}," for each in arguments)
    yield "    )"


def _keywords(kernel: nodes.Function, arrays: Mapping[str, _Array], shared: int) -> Iterator[str]:
    numbers = [""] if len(arrays) == 1 else map(str, range(len(arrays)))
    tiles = [f'"{each}": {arrays[each].tile(number)}' for each, number in zip(arrays, numbers, strict=True)]
    specs = f"in_specs={{{', '.join(tiles)}}}"
    yield (
        specs
        if len(specs) <= _WIDTH
        else "\n".join(["in_specs={", *(f"            {each}," for each in tiles), "        }"])
    )
    written = [each for each, array in arrays.items() if array.written]
    if 0 < len(written) < len(arrays):
        yield f"mutates={written!r}".replace("'", '"')
    yield f"grid={directive_sizes(kernel, 'reqnctapercluster') or 1}"
    if directive_sizes(kernel, "reqntid") is None:
        most = directive_sizes(kernel, "maxntid")
        yield f"block={_THREADS if most is None else most[0] if len(most) == 1 or set(most[1:]) == {1} else most}"
    if shared:
        yield f"smem={shared}"


def _torch(arrays: Mapping[str, _Array], values: Sequence[str]) -> Iterator[str]:
    yield ""
    yield "    import torch"
    for each, array in arrays.items():
        yield f"    {each} = torch.zeros({array.shape}, dtype=torch.{_ARRAYS[array.dtype]})"
    yield from _call("    run(", [*arrays, *values])
    yield f"    print({_written(arrays)})  # written by the kernel"


def _jax(arrays: Mapping[str, _Array], values: Sequence[str]) -> Iterator[str]:
    yield ""
    if any(BY_NAME[array.dtype].bits == _WIDE for array in arrays.values()):
        yield "    import jax"
        yield '    jax.config.update("jax_enable_x64", True)'
    yield "    import jax.numpy as jnp"
    for each, array in arrays.items():
        yield f"    {each} = jnp.zeros({array.shape}, jnp.{_ARRAYS[array.dtype]})"
    yield from _call(f"    {_written(arrays)} = run(", [*arrays, *values])
    yield f"    print({_written(arrays)})"


def _written(arrays: Mapping[str, _Array]) -> str:
    return ", ".join([each for each, array in arrays.items() if array.written] or arrays)


def _one(dtype: PtxType | None) -> str:
    return "1.0" if dtype is not None and dtype.is_float else str(_NUMBER)
