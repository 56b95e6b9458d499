"""Checks of arrays against the Tiles of a kernel, before a launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import (
    AlignmentError,
    ArgumentCountError,
    DeviceError,
    DtypeError,
    LayoutError,
    RankError,
    ShapeError,
)
from pyptx_ir.element_types import takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Argument

# CUDA driver API, "Tensor Map Object Management": globalAddress is aligned to 16 bytes.
_TMA_ALIGNMENT = 16


def check_arguments(
    kernel: str, names: Sequence[str], tiles: Sequence[Tile], arguments: Sequence[Argument]
) -> dict[str, int]:
    """Return the size of every named dimension; raise a ContractError for the first array that violates its Tile."""
    if len(arguments) != len(tiles):
        from pyptx_ir.isa.modules.counting import counted

        listed = ", ".join(f"{name}: {tile!r}" for name, tile in zip(names, tiles, strict=False))
        missing = names[len(arguments) : len(tiles)]
        raise ArgumentCountError(
            f"{kernel}: expected {counted(len(tiles), 'array')} ({listed}), got {len(arguments)}"
            + (f": {', '.join(missing)} missing" if missing else "")
        )
    env: dict[str, int] = {}
    owners: dict[str, str] = {}
    for name, tile, argument in zip(names, tiles, arguments, strict=False):
        _check_dtype(kernel, name, tile, argument)
        _check_shape(kernel, name, tile, argument, env, owners)
        if 0 not in argument.shape:  # an array without elements has no strides or address to check
            _check_strides(kernel, name, tile, argument)
            _check_alignment(kernel, name, tile, argument)
    _check_devices(kernel, names, arguments)
    return env


def _check_dtype(kernel: str, name: str, tile: Tile, argument: Argument) -> None:
    if takes(tile.dtype.name, argument.dtype):
        return
    raise DtypeError(
        f"{kernel}: {name} has dtype {argument.dtype}, {tile!r} requires {tile.dtype}",
        help=f"convert {name} before the call, or declare the Tile with {argument.dtype}",
    )


def _check_shape(
    kernel: str, name: str, tile: Tile, argument: Argument, env: dict[str, int], owners: dict[str, str]
) -> None:
    if len(argument.shape) != tile.rank:
        raise RankError(
            f"{kernel}: {name} has {len(argument.shape)} dimensions {argument.shape}, {tile!r} requires {tile.rank}",
            help=f"reshape {name}",
        )
    for axis, (declared, actual) in enumerate(zip(tile.shape, argument.shape, strict=True)):
        if isinstance(declared, str):
            owner = owners.setdefault(declared, f"{name}.shape[{axis}]")
            if env.setdefault(declared, actual) != actual:
                raise ShapeError(
                    f"{kernel}: dimension {declared} is {env[declared]} in {owner}, but {actual} in "
                    f"{name}.shape[{axis}]",
                    help=f"{name} has shape {argument.shape}, declared as {tile!r}",
                )
        elif declared != actual:
            raise ShapeError(
                f"{kernel}: {name}.shape[{axis}] is {actual}, {tile!r} requires {declared}",
                help="compile the kernel for the sizes of the array, or use a dimension name in the Tile",
            )


def _check_strides(kernel: str, name: str, tile: Tile, argument: Argument) -> None:
    """Raise LayoutError unless an array's strides match its layout; dimensions of size 1 may have any stride."""
    wanted = dense_strides(argument.shape, tile.layout)
    compared = zip(argument.shape, argument.strides, wanted, strict=True)
    if all(actual == dense for size, actual, dense in compared if size > 1):
        return
    how = "columns (unit stride on dimension 0)" if tile.layout is Layout.COL else "rows"
    raise LayoutError(
        f"{kernel}: {name} has strides {argument.strides} for shape {argument.shape}; "
        f"Layout.{tile.layout.name} requires dense {how}, strides {wanted}",
        help=f"pass {name}.T of an array stored by columns"
        if tile.layout is Layout.COL
        else f"pass a contiguous copy of {name}",
    )


def dense_strides(shape: Sequence[int], layout: Layout) -> tuple[int, ...]:
    """Return the strides, in elements, of a dense array of this shape and layout."""
    if layout is Layout.COL:
        return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def alignment_of(tile: Tile) -> int:
    """Return the required alignment of an array's address in bytes."""
    return max(tile.align, _TMA_ALIGNMENT if tile.layout.swizzle_bytes else tile.dtype.bytes)


def _check_alignment(kernel: str, name: str, tile: Tile, argument: Argument) -> None:
    wanted = alignment_of(tile)
    if argument.address % wanted:
        raise AlignmentError(
            f"{kernel}: {name} starts at address {argument.address:#x}, which is not a multiple of {wanted} bytes",
            help=f"pass a copy of {name}",
        )


def _check_devices(kernel: str, names: Sequence[str], arguments: Sequence[Argument]) -> None:
    for name, argument in zip(names, arguments, strict=False):
        if argument.device != arguments[0].device:
            raise DeviceError(
                f"{kernel}: arrays are on different devices: {names[0]} on {arguments[0].device}, {name} on "
                f"{argument.device}",
                help="move all arrays to one device",
            )
