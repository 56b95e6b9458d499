"""Fragments of warp-level MMA. Manual: the sections "Matrix Fragments for mma", m8n8k4 to m16n8k256."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final, Literal, TypeAlias

from pyptx_ir.fragments.distribution import distributed, transposed
from pyptx_ir.fragments.layout import Fragment, Stride
from pyptx_ir.isa.matrix_rows import BITS

Operand: TypeAlias = Literal["a", "b", "c", "d"]

_SHAPE: Final = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WORD: Final = 32
_PAIR: Final = 2  # number of consecutive accumulator elements in one lane


def sizes(shape: str) -> tuple[int, int, int]:
    """Return M, N and K of `m16n8k16`; raise ValueError for an invalid shape."""
    found = _SHAPE.fullmatch(shape)
    if found is None:
        raise ValueError(f"expected an MMA shape such as m16n8k16, got {shape!r}")
    m, n, k = map(int, found.groups())
    return m, n, k


@cache
def mma_fragment(shape: str, operand: Operand, element: str, layout: str = "") -> Fragment:
    """Return the layout of an operand of `mma.sync` with a shape and element type (`f16`, `e4m3`, `b1`).

    `layout` (`row`, `col`) is used only for A and B of m8n8k4 with f16; elsewhere A is row-major and B is column-major.
    """
    if shape == "m8n8k4" and element != "f64":
        return _quad_pairs(operand, element, layout)
    m, n, k = sizes(shape)
    bits = BITS[element]
    title = f"{shape} {operand} .{element}"
    beside = max(_WORD // bits, 1)
    if operand == "a":
        return distributed(title, m, k, bits, beside)
    if operand == "b":
        return transposed(distributed(title, n, k, bits, beside), title)
    return distributed(title, m, n, bits, _PAIR)


# --- m8n8k4 with f16: four MMAs at once, each by lanes 4p to 4p+3 and 4p+16 to 4p+19 -------------------------

_PRODUCT: Final = (Stride(0, 0, 1), Stride(0, 0, 2))
# For each operand (name, type, layout) of mma.m8n8k4: steps in the matrix for bits 0, 1 and 4 of the lane index, then
# for the bits of the element index.
_QUAD_PAIRS: Final[dict[tuple[str, str, str], tuple[tuple[Stride, Stride, Stride], tuple[Stride, ...]]]] = {
    ("a", "f16", "row"): ((Stride(1), Stride(2), Stride(4)), (Stride(0, 1), Stride(0, 2))),
    ("a", "f16", "col"): ((Stride(0, 1), Stride(0, 2), Stride(4)), (Stride(1), Stride(2))),
    ("b", "f16", "row"): ((Stride(1), Stride(2), Stride(0, 4)), (Stride(0, 1), Stride(0, 2))),
    ("b", "f16", "col"): ((Stride(0, 1), Stride(0, 2), Stride(0, 4)), (Stride(1), Stride(2))),
    ("c", "f16", ""): ((Stride(1), Stride(2), Stride(4)), (Stride(0, 1), Stride(0, 2), Stride(0, 4))),
    ("c", "f32", ""): ((Stride(1), Stride(0, 2), Stride(4)), (Stride(0, 1), Stride(2), Stride(0, 4))),
}


def _quad_pairs(operand: Operand, element: str, layout: str) -> Fragment:
    name = "c" if operand == "d" else operand
    layout = "" if name == "c" else layout or ("row" if name == "a" else "col")
    found = _QUAD_PAIRS.get((name, element, layout))
    if found is None:
        raise ValueError(f"invalid operand of m8n8k4: {operand} .{element}{' ' + layout if layout else ''}")
    (first, second, last), elements = found
    rows, columns = {"a": (8, 4), "b": (4, 8), "c": (8, 8)}[name]
    lanes = (first, second, *_PRODUCT, last)
    title = " ".join(part for part in ("m8n8k4", operand, f".{element}", layout) if part)
    return Fragment(title, rows, columns, BITS[element], lanes, elements, products=4)


# --- wmma: an opaque layout, composed of mma.sync operations -----------------------------------------------------

_TILE_ROWS: Final = 16
_TILE_COLUMNS: Final = 8
_WMMA_F16_ELEMENTS: Final = 4  # bits of an element index of f16 A or B in wmma: 16 per lane, with copies
_WMMA_TRANSPOSED: Final[dict[Operand, Operand]] = {"a": "b", "b": "a", "c": "c", "d": "d"}


@cache
def wmma_fragment(shape: str, operand: Operand, element: str) -> Fragment:
    """Return the layout of an operand of wmma: the layouts of the 16 x 8 mma.sync operations that it consists of.

    The manual leaves the layout unspecified. This is the layout that ptxas 13.0 generates for sm_80 and later, as
    measured on an H200 (`tests/golden`). In a lane, the elements of the second mma.sync operand follow those of the
    first. m8n32 is computed as the transpose of m32n8. The layout of A or B in memory, `.row` or `.col`, makes no
    difference.
    """
    m, n, k = sizes(shape)
    title = f"wmma {shape} {operand} .{element}"
    if m < n:
        return transposed(_tiled(title, (n, m, k), _WMMA_TRANSPOSED[operand], element), title)
    return _tiled(title, (m, n, k), operand, element)


def _tiled(title: str, extents: tuple[int, int, int], operand: Operand, element: str) -> Fragment:
    """Return the layout of several mma.sync operands, placed below or to the right of each other."""
    m, n, k = extents
    height, width = min(m, _TILE_ROWS), min(n, _TILE_COLUMNS)
    tile = mma_fragment(f"m{height}n{width}k{k}", operand, element)
    below = (Stride(height),) * (m > height and operand != "b")
    beside = (Stride(0, width),) * (n > width and operand != "a")
    elements = (*tile.elements, *below, *beside)
    if element == "f16" and operand in ("a", "b"):
        elements += (Stride(),) * (_WMMA_F16_ELEMENTS - len(elements))
    rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}[operand]
    return replace(tile, title=title, rows=rows, columns=columns, elements=elements)
