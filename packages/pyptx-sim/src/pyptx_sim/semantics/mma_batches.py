"""Batches of consecutive MMAs that multiply each fragment of a with each fragment of b, computed as one larger MMA.

A kernel loads several fragments of a and of b, and multiplies each fragment of a with each fragment of b. Stacked, the
fragments form two larger matrices, and so do the accumulators. NumPy multiplies the two larger matrices in a third of
the time of the single MMAs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_sim.numerics.elements import packing, unpacking
from pyptx_sim.numerics.operands import WIDEN
from pyptx_sim.numerics.recent import Reading, Recent
from pyptx_sim.operation import Array, Batch

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment
    from pyptx_sim.numerics.dot_products import Sum
    from pyptx_sim.semantics.mma import Shares

_One: TypeAlias = Callable[[Sequence[Array]], tuple[Array, ...]]

_KEPT = 2
"""Maximum number of cached accumulator matrices: a kernel adds to one matrix, or alternates between two."""


def batching(shares: Shares, total: Sum, one: _One) -> Batch | None:
    """Return a function that computes consecutive MMAs as one larger MMA, by dot product function `total`.

    If the MMAs do not combine each fragment of a with each of b, `one` computes them one at a time. None for
    instructions whose operands hold several matrices.
    """
    if any(fragment.products > 1 for fragment in (shares.a, shares.b, shares.c, shares.d)):
        return None
    first = shares.a.registers
    second = first + shares.b.registers

    def batch(sources: Sequence[Sequence[Array]]) -> Sequence[tuple[Array, ...]]:
        a, rows = _numbered([each[:first] for each in sources])
        b, columns = _numbered([each[first:second] for each in sources])
        cells = {row * len(b) + column: number for number, (row, column) in enumerate(zip(rows, columns, strict=True))}
        if not len(cells) == len(sources) == len(a) * len(b):
            return [one(each) for each in sources]
        order = [cells[cell] for cell in range(len(cells))]
        addends = [register for number in order for register in sources[number][second:]]
        registers = _grid(shares, len(a), len(b)).multiply(_joined(a), _joined(b), addends, total)
        held = len(registers) // len(order)
        results: list[tuple[Array, ...]] = [()] * len(order)
        for cell, number in enumerate(order):
            results[number] = registers[cell * held : (cell + 1) * held]
        return results

    return batch


def _numbered(fragments: Sequence[Sequence[Array]]) -> tuple[Sequence[Sequence[Array]], list[int]]:
    """Return the distinct fragments, and for each given fragment its index among the distinct ones."""
    known: dict[tuple[int, ...], int] = {}
    numbers = [known.setdefault(tuple(map(id, each)), len(known)) for each in fragments]
    return [fragments[numbers.index(number)] for number in range(len(known))], numbers


def _joined(fragments: Sequence[Sequence[Array]]) -> list[Array]:
    return [register for fragment in fragments for register in fragment]


class _Grid:
    """Grid of MMAs: each of `rows` fragments of a is multiplied with each of `columns` fragments of b."""

    def __init__(self, shares: Shares, rows: int, columns: int) -> None:
        d, a, b, c = shares.types
        self._a = _below(shares.a, a, rows)
        self._b = _below(shares.b, b, columns, transposed=True)
        self._c = Recent(_beside(shares.c, c, rows, columns), most=_KEPT)
        self._pack = packing(shares.d, (rows, columns))
        self._goes_on = d == c == "f32" and (shares.d.lanes, shares.d.elements) == (shares.c.lanes, shares.c.elements)

    def multiply(
        self, a: Sequence[Array], b: Sequence[Array], addends: Sequence[Array], total: Sum
    ) -> tuple[Array, ...]:
        """Compute all MMAs of the `_Grid`; return the registers of the fragments of d in the grid's row-major order."""
        sums = total(self._a(a), self._b(b), self._c.take(addends))
        registers = self._pack(sums)
        if self._goes_on:
            self._c.keep(registers, sums)
        return registers


@cache
def _grid(shares: Shares, rows: int, columns: int) -> _Grid:
    return _Grid(shares, rows, columns)


def _below(fragment: Fragment, element: str, count: int, *, transposed: bool = False) -> Reading:
    """Return a function from the registers of `count` fragments to one array `[warps, rows, k]`, stacked by rows."""
    unpack, widen = unpacking(fragment, transposed=transposed, count=count), WIDEN[element]
    length = fragment.rows if transposed else fragment.columns

    def read(registers: Sequence[Array]) -> Array:
        numbers = widen(unpack(registers))
        return numbers.reshape(len(numbers), -1, length)

    return read


def _beside(fragment: Fragment, element: str, rows: int, columns: int) -> Reading:
    """Return a function from the registers of a grid of fragments to one array `[warps, rows, columns]`."""
    unpack, widen = unpacking(fragment, count=rows * columns), WIDEN[element]
    height, width = fragment.rows, fragment.columns

    def read(registers: Sequence[Array]) -> Array:
        numbers = widen(unpack(registers)).reshape(-1, rows, columns, height, width)
        return numbers.swapaxes(2, 3).reshape(len(numbers), rows * height, columns * width)

    return read
