"""Layouts of matrices in the registers of acme_1.

The operands of acme.dot have the layouts of mma.sync, except d: each lane has a row. Two warps execute acme.pair
together and share d and a; the elements of a have a type that no other architecture has. ldmatrix also loads tiles of 8
x 4 words.
"""

from __future__ import annotations

from pyptx_ir.fragments import Fragment, Stride, fragment_of
from pyptx_ir.fragments.distribution import distributed
from pyptx_ir.isa.matrix_rows import Element, MatrixMove
from pyptx_ir.plugins.rows import Fragments

# A 12-bit floating-point type, stored in 16 bits of an untyped register.
A12 = Element("a12", 16)

# Accumulator of acme.dot, 32 rows of eight elements: each lane has a row.
_SUMS = Fragment(
    "acme.dot m32n8k8 d .f32",
    32,
    8,
    32,
    lanes=tuple(Stride(row=1 << bit) for bit in range(5)),
    elements=tuple(Stride(column=1 << bit) for bit in range(3)),
)
_PAIR = {
    "d": distributed("acme.pair m32n8k8 d .f32", 32, 8, 32, 2, warps=2),
    "a": distributed("acme.pair m32n8k8 a .a12", 32, 8, A12.bits, 2, warps=2),
}


def _dot(shape: str, operand: str, element: str, _order: str) -> Fragment:
    if shape != "m32n8k8":
        raise ValueError(f"acme.dot has no shape {shape!r}")
    return _SUMS if operand == "d" else fragment_of("mma", shape, operand, element)


def _pair(shape: str, operand: str, element: str, _order: str) -> Fragment:
    """Return the layout of an operand of acme.pair; both warps have all of b."""
    return _PAIR[operand] if operand in _PAIR else fragment_of("mma", shape, operand, element)


FRAGMENTS = (Fragments("acme.dot", _dot), Fragments("acme.pair", _pair))

_WORDS = distributed("ldmatrix m8n4 .b32", 8, 4, 32, 1)
# Fragment of ldmatrix.trans: the words of each column are in eight lanes, one word per lane.
_COLUMNS = Fragment(
    "ldmatrix m8n4 .b32 .trans", 8, 4, 32, (Stride(1), Stride(2), Stride(4), Stride(0, 1), Stride(0, 2)), ()
)
MOVES = (
    MatrixMove("m8n4", ("b32",), _WORDS, 32),
    MatrixMove("m8n4", ("b32",), _COLUMNS, 32, transposed=True),
)
