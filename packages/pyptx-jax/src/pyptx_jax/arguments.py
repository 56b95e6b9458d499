"""Arrays as kernels see them: element types by their PTX names, shapes, layouts, and what no kernel can take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pyptx_dsl.contract.arguments import dense_strides
from pyptx_dsl.contract.arrays import JAX, foreign, unknown_elements
from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import DtypeError, ShapeError
from pyptx_ir.element_types import BY_ARRAY, BY_NAME
from pyptx_ir.plugins.rows import Argument
from pyptx_jax.framework import dtype, has_dtype, is_array, is_traced, shape_and_dtype, struct, wide_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Input, Launchable, Output

NAMES: Final = {name: row.name for name, row in BY_ARRAY.items() if has_dtype(name)}
"""The PTX names of jax's element types; those that are missing have none."""

DTYPES: Final = {name: row.array for name, row in BY_NAME.items() if has_dtype(row.array)}
"""The element types of outputs by their PTX names."""


def arguments_of(kernel: Launchable[Declaration], arrays: Sequence[object]) -> list[Argument]:
    """Return what a kernel must know of its inputs, laid out as its Tiles say: XLA stores them so for the call.

    Raise DtypeError and ShapeError for what no kernel takes.
    """
    declaration = kernel.declaration
    _check_wide_types(kernel)
    home = next((place for place in map(_device, arrays) if place), "jax")
    layouts = [tile.layout for tile in declaration.in_specs]
    found = list[Argument]()
    for index, array in enumerate(arrays):
        name = declaration.tensors[index] if index < len(declaration.tensors) else f"array {index}"
        layout = layouts[index] if index < len(layouts) else Layout.ROW
        shape, element = _described(kernel.name, name, array)
        found.append(Argument(shape, element, dense_strides(shape, layout), device=_device(array) or home))
    return found


def _described(kernel: str, name: str, array: object) -> tuple[tuple[int, ...], str]:
    """Return the shape and the PTX name of the element type."""
    shape, held = shape_and_dtype(array)
    if held is None:
        raise foreign(kernel, name, array, JAX)
    element = NAMES.get(held.name)
    if element is None:
        raise unknown_elements(kernel, name, array)
    if held.itemsize == 8 and not wide_types():
        raise DtypeError(f"{kernel}: {name} holds {held.name}", hint=_WIDE)
    return tuple(_size(kernel, name, size) for size in shape), element


def _size(kernel: str, name: str, size: object) -> int:
    if not isinstance(size, int):
        raise ShapeError(
            f"{kernel}: a dimension of {name} is {size}, and a kernel is traced for sizes that are numbers",
            hint="export the function once for each shape, without symbolic dimensions",
        )
    return size


_WIDE: Final = 'jax makes 64-bit arrays only after jax.config.update("jax_enable_x64", True)'


def _check_wide_types(kernel: Launchable[Declaration]) -> None:
    """Raise DtypeError for a kernel of 64-bit arrays while jax makes none."""
    declaration = kernel.declaration
    if wide_types():
        return
    for name, tile in zip(declaration.tensors, declaration.tiles, strict=False):
        if tile.dtype.bits == 64:
            raise DtypeError(f"{kernel.name}: {name} is {tile!r}, whose elements have 64 bits", hint=_WIDE)


def _device(array: object) -> str:
    """Return where an array has to stay; nothing for what is traced, and for what jax moves as it needs."""
    if not is_array(array) or is_traced(array) or not array.committed:
        return ""
    return ", ".join(sorted(map(str, array.devices())))


def result_of(kernel: str, row: Output, varying: frozenset[str]) -> jax.ShapeDtypeStruct:
    """Return what jax is told of an output; raise DtypeError where jax has no such type."""
    name = DTYPES.get(row.dtype)
    if name is None:
        raise DtypeError(
            f"{kernel}: {row.name} is .{row.dtype}, of which jax has no arrays", hint="declare it as bits: b8, b16"
        )
    return struct(row.shape, dtype(name), varying)


def dimension_order(row: Input | Output) -> tuple[int, ...]:
    """Return an array's dimensions from the slowest to the fastest in memory, as jax.ffi takes layouts."""
    axes = tuple(range(len(row.shape)))
    return axes if row.strides == dense_strides(row.shape, Layout.ROW) else axes[::-1]


def bytes_of(row: Input | Output) -> int:
    """Return the bytes of an array."""
    return dtype(DTYPES[row.dtype]).itemsize * math.prod(row.shape)
