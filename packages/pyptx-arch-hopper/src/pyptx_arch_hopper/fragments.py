"""The fragments of warpgroup-level products, and of stmatrix. Manual: "Register Fragments" of wgmma.mma_async.

A warpgroup deals 64 rows out to its four warps, 16 to each, and those as mma.sync does. A lane's number is that of its
thread in the warpgroup, 0 to 127.
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
"""What registers hold: the first factor, where it is not in shared memory, and the sums."""

_ROWS = 64
_WARPS = 4
_PAIR = 2
_REGISTER_BITS = 32


@cache
def wgmma_fragment(operand: Operand, columns: int, element: str) -> Fragment:
    """Return the layout of 64 by `columns` elements (K for a, N for d).

    A layout is made of powers of two. For another N it is that of the next one, of which the first N / 2 elements are
    there: an element's place does not depend on N.
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
    """Return the layout of an operand of `shape`; of a, one of `stored` elements is there."""
    _, columns, depth = sizes(shape)
    if operand == "a":
        return wgmma_fragment("a", depth // stored, element)
    if operand == "d":
        return wgmma_fragment("d", columns, element)
    raise ValueError(f"a product of a warpgroup has d in registers, and maybe a, but no {operand!r}")


FRAGMENTS: Final = (Fragments("wgmma", _dense), Fragments("wgmma.sp", _sparse))

# A thread stores what it holds of a sum of 16 by 8, narrowed to bytes: a pair of columns of row g, and of row g + 8.
_M16N8: Final = flipped(distributed("stmatrix m16n8 .b8", 16, 8, 8, _PAIR))
MOVES: Final = (MatrixMove("m16n8", ("b8",), _M16N8, 8, transposed=True),)
