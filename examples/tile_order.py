"""The order in which persistent kernels take the tiles of a matrix: what runs at the same time shares what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import u32

if TYPE_CHECKING:
    from pyptx.reg import Reg


def place(tile: Reg, rows: Reg | int, columns: int, band: int) -> tuple[Reg, Reg]:
    """Return row and column of a tile: bands of `band` rows, down and then to the right in each; ten instructions."""
    top = tile // (band * columns) * band
    inside, height = tile - top * columns, ptx.min(u32, reg.scalar(u32), rows - top, band)
    column = inside // height
    return top + (inside - column * height), column
