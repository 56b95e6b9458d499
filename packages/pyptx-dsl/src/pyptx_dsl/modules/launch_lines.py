"""Lines of Python that launch a kernel of a module on arrays of torch and of jax, to be copied and filled in."""

from __future__ import annotations

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
    from pyptx_ir.syntax import nodes

__all__ = ["launch_lines"]

_ARRAYS = {"b8": "uint8", "b16": "int16", "b32": "int32", "b64": "int64", "f32": "float32", "f64": "float64"}
_ELEMENTS = 1 << 22  # of each array
_NUMBER = 16  # for each integer: a size that is no edge for most kernels
_THREADS = 128  # of a block, where the header says nothing
_SHARED = 49152  # bytes, which every GPU has
_KIB = 1024
_WIDTH = 100  # columns
_WIDE = 64  # bits, of which jax makes arrays only when it is asked to


def launch_lines(
    kernel: nodes.Function, pointers: Mapping[str, Pointer], name: str, file: str, *, dynamic: Sequence[str]
) -> Iterator[str]:
    """Yield the lines for a kernel that a file has under a name; `dynamic` are variables in dynamic shared memory."""
    types = parameter_types(kernel.parameters or ())
    short = dict(zip((each.name for each in kernel.parameters or ()), parameter_names(kernel), strict=True))
    kinds = {short[each.name]: kind_of_size(each) for each in kernel.parameters or ()}
    described = {name: kind for name, kind in kinds.items() if kind is not None}
    structures = [short[each.name] for each in kernel.parameters or () if types.get(each.name) is None]
    arrays = {short[each]: pointers[each] for each in short if each in pointers}
    if structures and structures == list(described):
        titles = " and ".join(dict.fromkeys(f"{kind.title}s" for kind in described.values()))
        yield f"{name} takes {titles} ({', '.join(described)}). To launch it, say what these are of, in {name}.kernel:"
        yield f'    in_specs={{"{structures[0]}": {described[structures[0]].example}, …}}'
        return
    if structures or not arrays:
        why = f"{structures[0]} is a structure" if structures else "it takes no arrays"
        yield f"{name} is launched by the driver, out of module.cubin(): {why}."
        return
    unused = {each.name for each in kernel.parameters or () if each.pointer is not None} - set(pointers)
    scalars = [
        f"{short[each]}={0 if each in unused else _one(dtype)}" for each, dtype in types.items() if each not in pointers
    ]
    yield f"To launch {name} on arrays, say what they are; those of torch and jax run on their GPU or the simulator:"
    yield "    from pyptx import Tile"
    yield f"    from pyptx.types import {', '.join(sorted({each.element for each in arrays.values()}))}"
    yield f"    from {file} import {name}"
    yield ""
    yield from _call(f"    run = {name}.kernel(", list(_keywords(kernel, arrays, dynamic=dynamic)))
    yield from _torch(arrays, scalars)
    yield from _jax(arrays, scalars)


def _call(opening: str, arguments: list[str]) -> Iterator[str]:
    """Yield a call, an argument a line where it is long."""
    whole = f"{opening}{', '.join(arguments)})"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield opening
    yield from (f"        {each}," for each in arguments)
    yield "    )"


def _keywords(kernel: nodes.Function, arrays: Mapping[str, Pointer], *, dynamic: Sequence[str]) -> Iterator[str]:
    sizes = ["N"] if len(arrays) == 1 else [f"N{number}" for number in range(len(arrays))]
    tiles = [f'"{each}": Tile("{size}", {arrays[each].element})' for each, size in zip(arrays, sizes, strict=True)]
    yield f"in_specs={{{', '.join(tiles)}}}"
    written = [each for each, pointer in arrays.items() if pointer.written]
    if 0 < len(written) < len(arrays):
        yield f"mutates={written!r}".replace("'", '"')
    yield "grid=1"
    if directive_sizes(kernel, "reqntid") is None:
        most = directive_sizes(kernel, "maxntid")
        yield f"block={_THREADS if most is None else most[0] if len(most) == 1 or set(most[1:]) == {1} else most}"
    if dynamic:
        yield f"smem={max(_SHARED, -(-bytes_reached(kernel, dynamic) // _KIB) * _KIB)}"


def _torch(arrays: Mapping[str, Pointer], values: Sequence[str]) -> Iterator[str]:
    yield ""
    yield "    import torch"
    for each, pointer in arrays.items():
        yield f"    {each} = torch.zeros({_ELEMENTS}, dtype=torch.{_ARRAYS[pointer.element]})"
    yield from _call("    run(", [*arrays, *values])
    yield f"    print({_written(arrays)})  # it has written to that"


def _jax(arrays: Mapping[str, Pointer], values: Sequence[str]) -> Iterator[str]:
    yield ""
    if any(BY_NAME[pointer.element].bits == _WIDE for pointer in arrays.values()):
        yield "    import jax"
        yield '    jax.config.update("jax_enable_x64", True)'
    yield "    import jax.numpy as jnp"
    for each, pointer in arrays.items():
        yield f"    {each} = jnp.zeros({_ELEMENTS}, jnp.{_ARRAYS[pointer.element]})"
    yield from _call(f"    {_written(arrays)} = run(", [*arrays, *values])
    yield f"    print({_written(arrays)})"


def _written(arrays: Mapping[str, Pointer]) -> str:
    return ", ".join([each for each, pointer in arrays.items() if pointer.written] or arrays)


def _one(dtype: PtxType | None) -> str:
    return "1.0" if dtype is not None and dtype.is_float else str(_NUMBER)
