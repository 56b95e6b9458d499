"""Register fragments of wgmma and stmatrix. Manual: "Register Fragments" of wgmma.mma_async.

A warpgroup distributes 64 rows over its four warps; each warp distributes its 16 rows over its lanes like mma.sync. A
lane's number is the index of its thread in the warpgroup, 0 to 127.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pyptx_ir.fragments.distribution import distributed
from pyptx_ir.fragments.mma import sizes
from pyptx_ir.fragments.moves import flipped
from pyptx_ir.isa.matrix_rows import BITS, MatrixMove
from pyptx_ir.plugins.rows import Fragments

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment

__all__ = ["FRAGMENTS", "MOVES", "Operand", "wgmma_fragment"]

Operand: TypeAlias = Literal["a", "d"]
"""wgmma operands that may be in registers: A and the accumulator D."""

_ROWS = 64
_WARPS = 4
_PAIR = 2
_REGISTER_BITS = 32


@cache
def wgmma_fragment(operand: Operand, columns: int, element: str) -> Fragment:
    """Return the register layout of a matrix of 64 by `columns` elements: `columns` is K for A, N for D.

    Layouts have power-of-two sizes. If N is not a power of two, the layout is that of the next power of two, and only
    the first N / 2 elements of each thread exist: an element's location does not depend on N.
    """
    bits = BITS[element]
    whole = 1 << (columns - 1).bit_length()
    beside = _REGISTER_BITS // bits if operand == "a" else _PAIR
    return distributed(f"m64 {operand} .{element}, {columns} columns", _ROWS, whole, bits, beside, warps=_WARPS)


def _dense(shape: str, operand: str, element: str, _order: str) -> Fragment:
    return _of_shape(shape, operand, element, stored=1)


def _sparse(shape: str, operand: str, element: str, _order: str) -> Fragment:
    return _of_shape(shape, operand, element, stored=2)


def _of_shape(shape: str, operand: str, element: str, stored: int) -> Fragment:
    """Return the register layout of A or D in an MMA of `shape`; of `stored` elements in a row, A stores one."""
    _, columns, depth = sizes(shape)
    if operand == "a":
        return wgmma_fragment("a", depth // stored, element)
    if operand == "d":
        return wgmma_fragment("d", columns, element)
    raise ValueError(f"wgmma fragments exist for operands d and a, got {operand!r}")


FRAGMENTS: Final = (Fragments("wgmma", _dense), Fragments("wgmma.sp", _sparse))

# stmatrix.m16n8 stores bytes: each thread holds two columns of row g, and of row g + 8, of a 16 x 8 accumulator.
_M16N8: Final = flipped(distributed("stmatrix m16n8 .b8", 16, 8, 8, _PAIR))
MOVES: Final = (MatrixMove("m16n8", ("b8",), _M16N8, 8, transposed=True),)
