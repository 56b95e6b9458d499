"""Fragments of accumulators: which element of D each register of a thread holds after tcgen05.ld.

The MMA determines the lane and column of each element of D (`datapath`), tcgen05.ld the register of each lane and
column (`layouts.moves`). Both maps are linear in the bits of their indices, and so is their composition. A thread's
number is its index in the warpgroup, 0 to 127. `tcgen05.ld` and `tcgen05.st` have fragments of their own, of tensor
memory's lanes and columns: those need no MMA. Manual: "Data Path Layout Organization", "Matrix fragments for shape …".
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.datapath import LANES, PARTITION, accumulator
from pyptx_arch_blackwell.layouts.moves import SHAPES, register_fragment
from pyptx_ir.fragments.layout import Fragment, Stride
from pyptx_ir.plugins.rows import Fragments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_arch_blackwell.datapath import Rectangle

__all__ = ["FRAGMENTS", "accumulator_fragment"]

_CELL, _HALF = 32, 16  # number of bits of a tensor memory cell (one lane of one column), and of half a cell


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
    """Return the layout of an `m` by `n` accumulator in the registers of a warpgroup that loads the whole accumulator.

    `load` is the shape of tcgen05.ld, at the address of the warp's lanes: for a matrix that uses 16 lanes of 32, at the
    first or second 16 lanes. For a CTA pair, the layout is that of one CTA's part. Each register holds one element of
    D; if `packed`, two f16 elements of adjacent columns. If N is not a power of two, the layout is that of the next
    power of two, of which only the first columns exist: an element's location does not depend on N, except in layouts
    with column ranges of D in different lane ranges.

    Raise ValueError for an invalid M, and for a load of lanes without elements of D.
    """
    shape = SHAPES.get(load)
    if shape is None or shape.accesses > 1:
        known = ", ".join(name for name, each in SHAPES.items() if each.accesses == 1)
        raise ValueError(f"load must be one of {known} for an accumulator, got {load}")
    own = [part for part in accumulator(m, n, blocks=cta_group, sparse=sparse, stationary=ws) if part.block == 0]
    width = max(part.column + part.columns for part in own)
    steps = {1 << bit: _step(own, 1 << bit) for bit in range(LANES.bit_length() - 1)}
    held = [_composed(steps, step) for step in shape.threads]
    if None in held:
        raise ValueError(f"{load} loads 32 lanes, and M = {m} uses 16 of them: load 16x64b, 16x128b or 16x256b")
    warps = [steps[PARTITION], steps[2 * PARTITION]]
    further = [Stride(0, 1 << bit) for bit in range(shape.columns.bit_length() - 1, (width - 1).bit_length())]
    registers = [_composed(steps, step) for step in shape.registers]
    lanes = [*held, *warps]
    elements = [*registers, *further]
    if packed:
        elements = [Stride(0, 1), *map(_doubled, elements[: len(shape.registers)]), *further[1:]]
        lanes = [*map(_doubled, held), *warps]
    if None in elements + lanes:
        raise ValueError(f"{load} accesses lanes without elements for M = {m}: load 16x64b")
    title = f"m{m} n{n}{' .ws' if ws else ''}{' .sp' if sparse else ''} d with tcgen05.ld {load}"
    rows = max(part.row + part.rows for part in own)
    columns = max(part.n + part.columns for part in own)
    bits = _HALF if packed else _CELL
    return Fragment(title, rows, columns, bits, _steps(lanes), _steps(elements), _CELL)


def _step(parts: Iterable[Rectangle], lane: int) -> Stride | None:
    """Return the row and column of D in tensor memory lane `lane`, column 0; None for a lane without elements of D."""
    for part in parts:
        inside = lane - part.lane
        if 0 <= inside < part.rows and part.column == 0:
            return Stride(part.row + inside, part.n)
    return None


def _composed(steps: dict[int, Stride | None], step: Stride) -> Stride | None:
    """Return the distance in D of elements that are `step` apart in tensor memory; None if D does not use the lane."""
    if not step.row:
        return Stride(0, step.column)
    found = steps[step.row]
    return None if found is None else Stride(found.row, found.column + step.column)


def _doubled(step: Stride | None) -> Stride | None:
    """Return the stride in D for registers that hold two adjacent columns: a stride along D's columns is doubled."""
    return step if step is None or step.row else Stride(0, 2 * step.column)


def _steps(found: Iterable[Stride | None]) -> tuple[Stride, ...]:
    return tuple(step for step in found if step is not None)


def _by_name(shape: str, operand: str, _element: str, _order: str) -> Fragment:
    """Return the layout of D for a shape such as m128n256, loaded with 32x32b."""
    extents = shape.removeprefix("m").split("k")[0].split("n")
    if operand != "d" or len(extents) != 2 or not all(each.isdecimal() for each in extents):
        raise ValueError(f"tcgen05.ld loads operand d of a shape such as m128n256, got {operand!r} of {shape}")
    return accumulator_fragment(int(extents[0]), int(extents[1]))


def _of_cells(shape: str, operand: str, element: str, _order: str) -> Fragment:
    """Return the layout over lanes and columns of tensor memory for a shape such as 16x256b.x4.

    `element` is `32b`, or `16b` for `.pack::16b` and `.unpack::16b`.
    """
    name, _, repeats = shape.partition(".x")
    if operand != "r" or element not in {"16b", "32b"} or not repeats.isdecimal():
        known = "operand r of 32b or 16b in a shape such as 16x256b.x4"
        raise ValueError(f"tcgen05.ld and tcgen05.st have {known}, got {operand!r} of {element} in {shape}")
    return register_fragment(name, int(repeats), packed=element == "16b")


FRAGMENTS = (
    Fragments("tcgen05", _by_name),
    Fragments("tcgen05.ld", _of_cells),
    Fragments("tcgen05.st", _of_cells),
)
