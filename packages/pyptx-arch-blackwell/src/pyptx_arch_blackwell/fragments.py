"""The fragments of accumulators: which element of d a thread has, register by register, when tcgen05.ld brings it.

A product says where its sums lie in tensor memory (`datapath`), a load which cell comes into which register
(`layouts.moves`). Both are linear in the bits of their numbers, and so is what they make together. A thread's number is
that in its warpgroup, 0 to 127. Manual: "Data Path Layout Organization", "Matrix fragments for shape …".
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.datapath import LANES, PARTITION, accumulator
from pyptx_arch_blackwell.layouts.moves import SHAPES
from pyptx_ir.fragments.layout import Fragment, Step
from pyptx_ir.plugins.rows import Fragments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_arch_blackwell.datapath import Rectangle

__all__ = ["FRAGMENTS", "accumulator_fragment"]

_CELL, _HALF = 32, 16  # bits


@cache
def accumulator_fragment(
    m: int,
    n: int,
    *,
    load: str = "32x32b",
    cta_group: int = 1,
    sparse: bool = False,
    ws: bool = False,
    packed: bool = False,
) -> Fragment:
    """Return the layout of an accumulator of `m` by `n` in the registers of a warpgroup that loads all of it.

    `load` is the shape of tcgen05.ld, whose address has the lanes of the warp (and of matrices that use 16 lanes of 32
    the first or the second 16 of them). Of a pair of blocks it is the part of the block. Each register holds an
    element; if `packed`, two f16 of neighbouring columns. For an N that is no power of two, the layout is that of the
    next one, of which the first columns are there: an element's place does not depend on N, but for matrices whose
    halves or quarters lie below each other.

    Raise ValueError for an M that there is not, and for a load of lanes that hold nothing.
    """
    shape = SHAPES.get(load)
    if shape is None or shape.accesses > 1:
        known = ", ".join(name for name, each in SHAPES.items() if each.accesses == 1)
        raise ValueError(f"an accumulator is loaded by {known}, not by {load}")
    own = [part for part in accumulator(m, n, blocks=cta_group, sparse=sparse, stationary=ws) if part.block == 0]
    width = max(part.column + part.columns for part in own)
    steps = {1 << bit: _step(own, 1 << bit) for bit in range(LANES.bit_length() - 1)}
    held = [_composed(steps, step) for step in shape.threads]
    if None in held:
        raise ValueError(f"{load} loads 32 lanes, and M = {m} uses 16 of them: load 16x64b, 16x128b or 16x256b")
    warps = [steps[PARTITION], steps[2 * PARTITION]]
    further = [Step(0, 1 << bit) for bit in range(shape.columns.bit_length() - 1, (width - 1).bit_length())]
    registers = [_composed(steps, step) for step in shape.registers]
    lanes = [*held, *warps]
    elements = [*registers, *further]
    if packed:
        elements = [Step(0, 1), *map(_doubled, elements[: len(shape.registers)]), *further[1:]]
        lanes = [*map(_doubled, held), *warps]
    if None in elements + lanes:
        raise ValueError(f"{load} loads lanes of which M = {m} has no elements: load 16x64b")
    title = f"m{m} n{n}{' .ws' if ws else ''}{' .sp' if sparse else ''} d by tcgen05.ld {load}"
    rows = max(part.row + part.rows for part in own)
    columns = max(part.n + part.columns for part in own)
    bits = _HALF if packed else _CELL
    return Fragment(title, rows, columns, bits, _steps(lanes), _steps(elements), _CELL)


def _step(parts: Iterable[Rectangle], lane: int) -> Step | None:
    """Return which element a lane begins with; None for one that holds nothing of the matrix."""
    for part in parts:
        inside = lane - part.lane
        if 0 <= inside < part.rows and part.column == 0:
            return Step(part.row + inside, part.n)
    return None


def _composed(steps: dict[int, Step | None], step: Step) -> Step | None:
    """Return the step in the matrix for one in tensor memory."""
    if not step.row:
        return Step(0, step.column)
    found = steps[step.row]
    return None if found is None else Step(found.row, found.column + step.column)


def _doubled(step: Step | None) -> Step | None:
    """Return the step of a load that brings pairs of columns."""
    return step if step is None or step.row else Step(0, 2 * step.column)


def _steps(found: Iterable[Step | None]) -> tuple[Step, ...]:
    return tuple(step for step in found if step is not None)


def _by_name(shape: str, operand: str, _element: str, _order: str) -> Fragment:
    """Return the layout of d for a shape such as m128n256, loaded by 32x32b."""
    extents = shape.removeprefix("m").split("k")[0].split("n")
    if operand != "d" or len(extents) != 2 or not all(each.isdecimal() for each in extents):
        raise ValueError(f"tcgen05.ld brings d of a product, m128n256, not {operand!r} of {shape}")
    return accumulator_fragment(int(extents[0]), int(extents[1]))


FRAGMENTS = (Fragments("tcgen05", _by_name),)
