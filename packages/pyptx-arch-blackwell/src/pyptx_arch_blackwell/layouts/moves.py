"""Lane and column that each register of tcgen05.ld and tcgen05.st accesses. Manual: "Matrix fragments for shape …".

A warp accesses 16 or 32 lanes. `row` is the lane and `column` the column, relative to the instruction's address. The
manual has figures only; the steps below are those of CuTe's copy traits and of Triton's linear layouts, which agree
with each other. Not verified on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from pyptx_ir.fragments.layout import Fragment, N, Stride

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SHAPES", "Shape", "column", "lane", "register_fragment"]

_CELL = 32  # number of bits of a tensor memory cell (one lane of one column)
_HALF = 16
_REGISTERS = 128  # maximum number of registers per thread of one tcgen05.ld or tcgen05.st


@dataclass(frozen=True, slots=True)
class Shape:
    """One repetition of a shape: `lanes` by `columns` 32-bit cells, `accesses` times.

    `threads` and `registers` have a stride, in lanes and columns, for each bit of the thread index and of the register
    index.
    """

    lanes: int
    columns: int
    threads: tuple[Stride, ...]
    registers: tuple[Stride, ...] = ()
    accesses: int = 1

    @property
    def count(self) -> int:
        """Registers per thread in one repetition."""
        return 1 << len(self.registers)


_EIGHT: Final = (Stride(1), Stride(2), Stride(4))
_FOUR: Final = (Stride(0, 1), Stride(0, 2))
_BELOW: Final = Stride(8)

SHAPES: Final[Mapping[str, Shape]] = {
    "32x32b": Shape(32, 1, (*_EIGHT, _BELOW, Stride(16))),
    # tcgen05.ld.16x64b: threads 4g to 4g + 3 access lanes g and g + 8, in two adjacent columns.
    "16x64b": Shape(16, 2, (_BELOW, Stride(0, 1), *_EIGHT)),
    "16x128b": Shape(16, 4, (*_FOUR, *_EIGHT), (_BELOW,)),
    # tcgen05.ld.16x256b: each thread holds pairs of adjacent columns, as in an mma.sync accumulator.
    "16x256b": Shape(16, 8, (Stride(0, 2), Stride(0, 4), *_EIGHT), (Stride(0, 1), _BELOW)),
    # tcgen05.ld.16x32bx2: threads 16 to 31 access the lanes of threads 0 to 15, at the second column address.
    "16x32bx2": Shape(16, 1, (*_EIGHT, _BELOW, Stride(0, 0, 1)), accesses=2),
}


@cache
def register_fragment(shape: str, repeats: int, *, packed: bool = False) -> Fragment:
    """Return the layout of a thread's registers over lanes (rows) and columns, relative to the instruction's address.

    `repeats` is `.num`, 4 for `.x4`: repetitions are adjacent in columns. A register holds one 32-bit column of a lane.
    If `packed` (`.pack::16b`, `.unpack::16b`), a register holds the lower halves of two adjacent columns, the left
    column in its lower half: the instruction moves twice as many columns. For `16x32bx2`, `Fragment.product` is 0 for
    the first access and 1 for the second. Raise ValueError for an invalid shape or number of repetitions.
    """
    one = SHAPES.get(shape)
    if one is None:
        raise ValueError(f"invalid shape {shape} of tcgen05.ld or tcgen05.st: use one of {', '.join(SHAPES)}")
    if repeats not in (1 << bit for bit in range(_REGISTERS.bit_length())) or one.count * repeats > _REGISTERS:
        raise ValueError(f"invalid repetition count {repeats} of {shape}: use 1, 2, 4 to {_REGISTERS // one.count}")
    further = tuple(Stride(0, one.columns << bit) for bit in range(repeats.bit_length() - 1))
    elements = (*one.registers, *further)
    threads, wide = one.threads, one.columns * repeats
    if packed:
        threads, elements = _spread(threads), (Stride(0, 1), *_spread(elements))
        wide *= 2
    title = f"tcgen05.ld, tcgen05.st {shape}.x{repeats}{' of halves' if packed else ''}"
    bits = _HALF if packed else _CELL
    return Fragment(title, one.lanes, wide, bits, threads, elements, _CELL, one.accesses)


def _spread(steps: tuple[Stride, ...]) -> tuple[Stride, ...]:
    """Return strides of a shape with doubled column distances, for registers that hold two columns."""
    return tuple(Stride(step.row, 2 * step.column, step.product) for step in steps)


def lane(shape: str, thread: N, register: int) -> N:
    """Return the lane (0 to 31 from the instruction's address) that a thread's register accesses in each repetition.

    Raise ValueError for an unknown shape, IndexError for a register past the last one of the maximum repetition count.
    """
    return _widest(shape).row(thread, register)


def column(shape: str, thread: N, register: int, split: int = 0, *, packed: bool = False) -> N:
    """Return the column, from the instruction's address on, that a register accesses; if `packed`, its lower half.

    `split` is the distance in columns of the second access of `16x32bx2`. A column does not depend on the number of
    repetitions. Raises the errors of `lane`.
    """
    held = _widest(shape, packed=packed)
    index = register * held.packed
    found = held.column(thread, index)
    if held.products == 1:
        return found
    second = held.product(thread, index)
    for bit in range(split.bit_length()):
        if split >> bit & 1:
            found = found + (second << bit)
    return found


def _widest(shape: str, *, packed: bool = False) -> Fragment:
    count = SHAPES[shape].count if shape in SHAPES else 1
    return register_fragment(shape, _REGISTERS // count, packed=packed)
