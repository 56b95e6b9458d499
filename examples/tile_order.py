"""Tile order of persistent kernels: CTAs that run at the same time share rows of A and columns of B in L2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import u32

if TYPE_CHECKING:
    from pyptx.reg import Reg


def place(tile: Reg, rows: Reg | int, columns: int, band: int) -> tuple[Reg, Reg]:
    """Return row and column of tile number `tile` in bands of `band` tile rows, column by column; ten instructions."""
    top = tile // (band * columns) * band
    inside, height = tile - top * columns, ptx.min(u32, reg.scalar(u32), rows - top, band)
    column = inside // height
    return top + (inside - column * height), column
