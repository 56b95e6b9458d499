"""Fragments of matrices that move between shared memory and registers.

Manual: "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix", "Warp-level
matrix transpose instruction: movmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.fragments.distribution import distributed, transposed
from pyptx_ir.isa.matrix_rows import MatrixMove

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment


def _plain(shape: str, rows: int, columns: int, bits: int) -> Fragment:
    return distributed(f"ldmatrix {shape} .b{bits}", rows, columns, bits, 32 // bits)


def flipped(fragment: Fragment) -> Fragment:
    """Return the layout of a matrix move with `.trans`: columns are distributed as `fragment` distributes rows."""
    return transposed(fragment, f"{fragment.title} .trans")


_M8N8: Final = _plain("m8n8", 8, 8, 16)
_M8N16: Final = _plain("m8n16", 8, 16, 8)
_M16N16: Final = flipped(_plain("m16n16", 16, 16, 8))

MOVES: Final = (
    MatrixMove("m8n8", ("b16",), _M8N8, 16),
    MatrixMove("m8n8", ("b16",), flipped(_M8N8), 16, transposed=True),
    MatrixMove("m16n16", ("b8",), _M16N16, 8, transposed=True),
    MatrixMove("m16n16", ("b8x16", "b6x16_p32"), _M16N16, 6, transposed=True),
    MatrixMove("m16n16", ("b8x16", "b4x16_p64"), _M16N16, 4, transposed=True),
    MatrixMove("m8n16", ("b8x16", "b6x16_p32"), _M8N16, 6),
    MatrixMove("m8n16", ("b8x16", "b4x16_p64"), _M8N16, 4),
)
"""Matrix moves of ldmatrix; stmatrix supports some of them, and further ones (see pyptx-arch-hopper)."""
