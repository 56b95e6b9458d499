"""The fragments of matrices that move between shared memory and registers.

Manual: "Warp-level matrix load instruction: ldmatrix", "… store instruction: stmatrix", "… transpose: movmatrix".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_ir.fragments.distribution import distributed, transposed

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment


@dataclass(frozen=True, slots=True)
class Move:
    """How one matrix of `ldmatrix` or `stmatrix` lies in shared memory and in registers.

    `fragment` has the rows and columns of memory: each row is 16 bytes from an address of its own, the first `stored`
    bits of an element after the other, and padding.
    """

    fragment: Fragment
    stored: int

    @property
    def addresses(self) -> int:
        """How many lanes give the address of a row, for each matrix."""
        return self.fragment.rows


def _plain(shape: str, rows: int, columns: int, bits: int) -> Fragment:
    return distributed(f"ldmatrix {shape} .b{bits}", rows, columns, bits, 32 // bits)


_M8N8: Final = _plain("m8n8", 8, 8, 16)
_M8N16: Final = _plain("m8n16", 8, 16, 8)
_M16N16: Final = _plain("m16n16", 16, 16, 8)
# A thread stores what it holds of a sum of 16 by 8, narrowed to bytes: a pair of columns of row g, and of row g + 8.
_M16N8: Final = distributed("stmatrix m16n8 .b8", 16, 8, 8, 2)


def _flipped(fragment: Fragment) -> Fragment:
    return transposed(fragment, f"{fragment.title} .trans")


# Shape, transposed or not, and the types: what the opcode says of a move.
MOVES: Final[dict[tuple[str, bool, tuple[str, ...]], Move]] = {
    ("m8n8", False, ("b16",)): Move(_M8N8, 16),
    ("m8n8", True, ("b16",)): Move(_flipped(_M8N8), 16),
    ("m16n16", True, ("b8",)): Move(_flipped(_M16N16), 8),
    ("m16n16", True, ("b8x16", "b6x16_p32")): Move(_flipped(_M16N16), 6),
    ("m16n16", True, ("b8x16", "b4x16_p64")): Move(_flipped(_M16N16), 4),
    ("m8n16", False, ("b8x16", "b6x16_p32")): Move(_M8N16, 6),
    ("m8n16", False, ("b8x16", "b4x16_p64")): Move(_M8N16, 4),
    ("m16n8", True, ("b8",)): Move(_flipped(_M16N8), 8),
}


def move_of(shape: str, *types: str, transposed: bool = False) -> Move:
    """Return how `ldmatrix` or `stmatrix` of a shape moves a matrix: `move_of("m8n8", "b16", transposed=True)`."""
    found = MOVES.get((shape, transposed, types))
    if found is None:
        raise ValueError(f"no matrix of {shape} moves as {'.'.join(types)}{' transposed' if transposed else ''}")
    return found
