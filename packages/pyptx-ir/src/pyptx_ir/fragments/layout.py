"""Mapping of matrix elements to the registers of a warp.

Every layout of the manual is linear in the bits of two numbers. One is the lane. The other is the index of the element
within the lane, counted from the low bits of its first register. So a `Fragment` consists of one step (row, column) per
bit. The position of an element is the sum of the steps of the set bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from pyptx_ir.drawing import Drawing


class Number(Protocol):
    """Type of a lane index: an integer, or a register of a kernel."""

    def __rshift__(self, other: int, /) -> Self:
        """Return the value shifted right by `other` bits."""
        ...

    def __lshift__(self, other: int, /) -> Self:
        """Return the value shifted left by `other` bits."""
        ...

    def __and__(self, other: int, /) -> Self:
        """Return the bitwise and of the value and the mask `other`."""
        ...

    def __add__(self, other: Self | int, /) -> Self:
        """Return the sum of the value and `other`."""
        ...


N = TypeVar("N", bound=Number)


class Stride(NamedTuple):
    """Step in the matrix for one bit of the lane index or element index; `product` is the step between matrices.

    A warp may hold several matrices. If all three steps are 0, the bit distinguishes two copies of the same element.
    """

    row: int = 0
    column: int = 0
    product: int = 0


_ROW, _COLUMN, _PRODUCT = range(3)  # indices of the fields of a `Stride`


class ElementPosition(NamedTuple):
    """Location of a matrix element: index `element` within `lane`, at bit `shift` of register `register`."""

    lane: int
    element: int
    register: int
    shift: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A thread's share of a matrix of `rows` x `columns` elements of `bits` bits, in registers of `width` bits.

    `lanes` has a step for each bit of the lane's number, `elements` one for each bit of an element's index.
    """

    title: str
    rows: int
    columns: int
    bits: int
    lanes: tuple[Stride, ...]
    elements: tuple[Stride, ...]
    width: int = 32
    products: int = 1

    @property
    def count(self) -> int:
        """Number of matrix elements per thread."""
        return 1 << len(self.elements)

    @property
    def packed(self) -> int:
        """Number of matrix elements per register."""
        return self.width // self.bits

    @property
    def registers(self) -> int:
        """Number of registers of the fragment per thread."""
        return self.count // self.packed

    def row(self, lane: N, index: int) -> N:
        """Return the row of element `index` of `lane`.

        For a lane in a register, `row` emits the necessary `shr`, `and` and `shl` for each run of consecutive bits. It
        emits an `add` between runs and before a constant.
        """
        return self._place(_ROW, lane, index)

    def column(self, lane: N, index: int) -> N:
        """Return the column of element `index` of `lane`; emits instructions as `row` does."""
        return self._place(_COLUMN, lane, index)

    def product(self, lane: N, index: int) -> N:
        """Return which of the warp's MMAs element `index` of `lane` belongs to."""
        return self._place(_PRODUCT, lane, index)

    def _place(self, axis: int, lane: N, index: int) -> N:
        if not 0 <= index < self.count:
            raise IndexError(f"element index must be 0 to {self.count - 1}, got {index}")
        start = sum([step[axis] for bit, step in enumerate(self.elements) if index >> bit & 1])
        return _sum(lane, tuple([step[axis] for step in self.lanes]), start)

    def places(self, row: int, column: int, product: int = 0) -> tuple[ElementPosition, ...]:
        """Return the locations of a matrix element, by lane; several if the layout repeats elements."""
        found = _places(self).get((row, column, product))
        if found is None:
            raise ValueError(f"element ({row}, {column}) is outside {self.title} ({self.rows} x {self.columns})")
        return found

    def lane_of(self, row: int, column: int, product: int = 0) -> int:
        """Return the lane that holds a matrix element; the first lane if several hold copies."""
        return self.places(row, column, product)[0].lane

    def element_of(self, row: int, column: int, product: int = 0) -> int:
        """Return the index of a matrix element within its lane."""
        return self.places(row, column, product)[0].element

    def __str__(self) -> str:
        """Return the matrix as a table of the lane and register of each element."""
        from pyptx_ir.fragments.drawing import draw

        return draw(self)

    def to_svg(self) -> Drawing:
        """Return a drawing of the lane and register of each element; of a large matrix, of its first elements."""
        from pyptx_ir.fragments.svg import draw_svg

        return draw_svg(self)

    def _repr_html_(self) -> str:
        """Return the drawing of `to_svg` for notebooks."""
        from pyptx_ir.drawing import notebook

        return notebook(self.to_svg())


def _sum(lane: N, weights: tuple[int, ...], start: int) -> N:
    """Return `start` plus `weights[i]` for each set bit i of `lane`, with one term per run of consecutive bits."""
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
    """Return the half-open ranges of bit indices i in which `weights[i + 1]` is twice `weights[i]`."""
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
def _places(fragment: Fragment) -> dict[tuple[int, int, int], tuple[ElementPosition, ...]]:
    found: dict[tuple[int, int, int], list[ElementPosition]] = {}
    for lane in range(1 << len(fragment.lanes)):
        for index in range(fragment.count):
            element = (fragment.row(lane, index), fragment.column(lane, index), fragment.product(lane, index))
            register, position = divmod(index, fragment.packed)
            found.setdefault(element, []).append(ElementPosition(lane, index, register, position * fragment.bits))
    return {element: tuple(places) for element, places in found.items()}
