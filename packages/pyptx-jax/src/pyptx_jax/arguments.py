"""Conversion of jax arrays to kernel arguments: PTX element types, shapes, layouts; errors for unsupported arrays."""

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
"""PTX name of each jax dtype; dtypes without an entry are not supported."""

DTYPES: Final = {name: row.array for name, row in BY_NAME.items() if has_dtype(row.array)}
"""jax dtype of an output, by the PTX name of its element type."""


def arguments_of(kernel: Launchable[Declaration], arrays: Sequence[object]) -> list[Argument]:
    """Return shape, type and strides of each kernel input, in the layout that the input's declared `Tile` requires.

    XLA stores the inputs in these layouts for the call. Raises DtypeError and ShapeError for unsupported arrays.
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
    """Return an array's shape and the PTX name of its element type; raise DtypeError if PTX has no such type."""
    shape, held = shape_and_dtype(array)
    if held is None:
        raise foreign(kernel, name, array, JAX)
    element = NAMES.get(held.name)
    if element is None:
        raise unknown_elements(kernel, name, array)
    if held.itemsize == 8 and not wide_types():
        raise DtypeError(f"{kernel}: {name} holds {held.name}", help=_WIDE)
    return tuple(_size(kernel, name, size) for size in shape), element


def _size(kernel: str, name: str, size: object) -> int:
    if not isinstance(size, int):
        raise ShapeError(
            f"{kernel}: {name} has the symbolic dimension {size}, but a kernel is traced for fixed sizes",
            help="export the function once per shape, without symbolic dimensions",
        )
    return size


_WIDE: Final = 'call jax.config.update("jax_enable_x64", True) to enable 64-bit arrays'


def _check_wide_types(kernel: Launchable[Declaration]) -> None:
    """Raise DtypeError for a kernel of 64-bit arrays while jax_enable_x64 is off."""
    declaration = kernel.declaration
    if wide_types():
        return
    for name, tile in zip(declaration.tensors, declaration.tiles, strict=False):
        if tile.dtype.bits == 64:
            raise DtypeError(f"{kernel.name}: {name} is {tile!r}, which needs 64-bit arrays", help=_WIDE)


def _device(array: object) -> str:
    """Return the device to which an array is committed; empty for traced and uncommitted arrays."""
    if not is_array(array) or is_traced(array) or not array.committed:
        return ""
    return ", ".join(sorted(map(str, array.devices())))


def result_of(kernel: str, row: Output, varying: frozenset[str]) -> jax.ShapeDtypeStruct:
    """Return an output's shape and dtype for jax; raise DtypeError if jax lacks the element type."""
    name = DTYPES.get(row.dtype)
    if name is None:
        raise DtypeError(
            f"{kernel}: {row.name} is .{row.dtype}, which has no jax dtype",
            help="declare its elements as bits: b8, b16",
        )
    return struct(row.shape, dtype(name), varying)


def dimension_order(row: Input | Output) -> tuple[int, ...]:
    """Return an array's dimensions from the slowest to the fastest in memory, the layout format of jax.ffi."""
    axes = tuple(range(len(row.shape)))
    return axes if row.strides == dense_strides(row.shape, Layout.ROW) else axes[::-1]


def bytes_of(row: Input | Output) -> int:
    """Return the size of an array in bytes."""
    return dtype(DTYPES[row.dtype]).itemsize * math.prod(row.shape)
