"""Which element of a matrix lies where in the registers of a warp.

Every layout of the manual is linear in the bits of the two numbers that name a place: the lane, and the element that
the lane counts from the low bits of its first register on. A `Fragment` is therefore nothing but a step (row, column)
for each bit; the element of a place is the sum of the steps of the bits that are set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol, Self, TypeVar


class Number(Protocol):
    """What a lane may be: an integer, or a register of a kernel."""

    def __rshift__(self, other: int, /) -> Self:
        """Shift right."""
        ...

    def __lshift__(self, other: int, /) -> Self:
        """Shift left."""
        ...

    def __and__(self, other: int, /) -> Self:
        """Mask."""
        ...

    def __add__(self, other: Self | int, /) -> Self:
        """Add."""
        ...


N = TypeVar("N", bound=Number)


class Step(NamedTuple):
    """How far one bit of a place moves in the matrix; `product` tells apart matrices that a warp holds at once.

    Where all three are 0, the places hold the same element.
    """

    row: int = 0
    column: int = 0
    product: int = 0


_ROW, _COLUMN, _PRODUCT = range(3)  # where the fields of a Step stand


class Place(NamedTuple):
    """Where an element lies: it is number `element` of `lane`, `shift` bits up in register `register`."""

    lane: int
    element: int
    register: int
    shift: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A thread's share of a matrix of `rows` by `columns` elements of `bits` bits, in registers of `width` bits.

    `lanes` has a step for each bit of the lane's number, `elements` one for each bit of an element's.
    """

    title: str
    rows: int
    columns: int
    bits: int
    lanes: tuple[Step, ...]
    elements: tuple[Step, ...]
    width: int = 32
    products: int = 1

    @property
    def count(self) -> int:
        """How many elements a thread holds."""
        return 1 << len(self.elements)

    @property
    def packed(self) -> int:
        """How many elements lie in one register."""
        return self.width // self.bits

    @property
    def registers(self) -> int:
        """How many registers a thread holds."""
        return self.count // self.packed

    def row(self, lane: N, index: int) -> N:
        """Return the row of element `index` of `lane`.

        For a lane in a register this emits `shr`, `and` and `shl`, those that do something, for each run of bits that
        stay together, and an `add` between runs and before a constant.
        """
        return self._place(_ROW, lane, index)

    def column(self, lane: N, index: int) -> N:
        """Return the column of element `index` of `lane`; of a lane in a register as `row` does."""
        return self._place(_COLUMN, lane, index)

    def product(self, lane: N, index: int) -> N:
        """Return which of the warp's products element `index` of `lane` belongs to."""
        return self._place(_PRODUCT, lane, index)

    def _place(self, axis: int, lane: N, index: int) -> N:
        if not 0 <= index < self.count:
            raise IndexError(f"element {index} of {self.count}")
        start = sum([step[axis] for bit, step in enumerate(self.elements) if index >> bit & 1])
        return _sum(lane, tuple([step[axis] for step in self.lanes]), start)

    def places(self, row: int, column: int, product: int = 0) -> tuple[Place, ...]:
        """Return every place of an element, by lane; where the layout repeats elements there are several."""
        found = _places(self).get((row, column, product))
        if found is None:
            raise ValueError(f"{self.title} has {self.rows} rows and {self.columns} columns, no ({row}, {column})")
        return found

    def lane_of(self, row: int, column: int, product: int = 0) -> int:
        """Return the lane that holds an element, the first of them if several do."""
        return self.places(row, column, product)[0].lane

    def element_of(self, row: int, column: int, product: int = 0) -> int:
        """Return which of its lane's elements an element is."""
        return self.places(row, column, product)[0].element

    def __str__(self) -> str:
        """Draw the table of the matrix: who holds what."""
        from pyptx_ir.fragments.drawing import draw

        return draw(self)


def _sum(lane: N, weights: tuple[int, ...], start: int) -> N:
    """Return `start` plus the weights of the bits set in `lane`, taking runs of bits that stay together at once."""
    total: N | None = None
    for low, high in _runs(weights):
        term = lane >> low if low else lane
        if high < len(weights):
            term = term & ((1 << (high - low)) - 1)
        shift = weights[low].bit_length() - 1
        term = term << shift if shift else term
        total = term if total is None else total + term
    if total is None:
        total = lane & 0
    return total + start if start else total


@cache
def _runs(weights: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the half-open ranges of bits whose weights double from one to the next."""
    runs: list[tuple[int, int]] = []
    for bit, weight in enumerate(weights):
        if not weight:
            continue
        if runs and runs[-1][1] == bit and weights[bit - 1] * 2 == weight:
            runs[-1] = (runs[-1][0], bit + 1)
        else:
            runs.append((bit, bit + 1))
    return tuple(runs)


@cache
def _places(fragment: Fragment) -> dict[tuple[int, int, int], tuple[Place, ...]]:
    found: dict[tuple[int, int, int], list[Place]] = {}
    for lane in range(1 << len(fragment.lanes)):
        for index in range(fragment.count):
            element = (fragment.row(lane, index), fragment.column(lane, index), fragment.product(lane, index))
            register, position = divmod(index, fragment.packed)
            found.setdefault(element, []).append(Place(lane, index, register, position * fragment.bits))
    return {element: tuple(places) for element, places in found.items()}
