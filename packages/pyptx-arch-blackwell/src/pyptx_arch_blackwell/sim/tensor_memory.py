"""Tensor memory: 128 lanes of 512 32-bit columns in every CTA. Manual: "Tensor Memory".

An address has the lane in its upper and the column in its lower half. In the simulator's arena the columns of a lane
are contiguous, and lanes are consecutive.

Race checks number the bytes differently (*places*): four columns of a lane, then the same columns of the next lane;
after the last lane, the next four columns. So data used together is contiguous: an accumulator in all lanes, and scale
factors in four columns of 32 lanes, which in the arena are 32 separate runs of 16 bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx_arch_blackwell.datapath import LANES
from pyptx_sim.extension import AsyncAccess, Proxy, Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_arch_blackwell.datapath import Rectangle
    from pyptx_sim.extension import Array, IntArray, Operands, Reader, Wave

__all__ = [
    "COLUMNS",
    "SPACE",
    "TENSOR",
    "WORD",
    "Pieces",
    "TensorMemoryWords",
    "Words",
    "address_of",
    "columns_of",
    "lanes_of",
    "placed",
    "touch",
]

COLUMNS: Final = 512
WORD: Final = 4
_WHOLE: Final = 0xFFFFFFFF
_WIDEST_PIECE: Final = 1024  # maximum number of bytes of one tensor memory access that is passed to the race checker
_LANE_SHIFT = 16
_COLUMN_MASK = 0xFFFF
_BYTES = LANES * COLUMNS * WORD
_CHUNK: Final = 4  # race checks number the bytes of 4 columns of a lane contiguously, then those of the next lane
_ACROSS: Final = LANES * _CHUNK * WORD  # distance in race-check byte numbers between columns c and c + 4 of a lane
_LANE_BITS, _COLUMN_BITS, _CHUNK_BITS = 7, 9, 2

Words: TypeAlias = NDArray[np.uint32]


def _describe(place: int) -> str:
    chunk, inside = divmod(place, _ACROSS)
    lane, column = divmod(inside // WORD, _CHUNK)
    return f"tmem lane {lane}, column {chunk * _CHUNK + column}"


def placed(words: IntArray) -> IntArray:
    """Return the places (byte numbers in race checks) of tensor memory words, given by index in simulated memory."""
    blocks = words >> (_LANE_BITS + _COLUMN_BITS) << (_LANE_BITS + _COLUMN_BITS)
    lanes, columns = words >> _COLUMN_BITS & (LANES - 1), words & (COLUMNS - 1)
    inside = (columns >> _CHUNK_BITS << _LANE_BITS | lanes) << _CHUNK_BITS | columns & (_CHUNK - 1)
    return (blocks | inside) * WORD


SPACE: Final = Space(name="tmem", size=_BYTES, describe=_describe)

TENSOR: Final = Proxy(name="tcgen05", unfenced="tmem-race")
"""Proxy of tensor memory: only tcgen05 accesses it, so no proxy fence is needed."""


def address_of(operands: Operands, name: str) -> Reader:
    """Return the function that reads a tensor memory address operand, `[register]` or `[register+offset]`."""
    return operands.source(name, "u32")


def lanes_of(addresses: Array) -> IntArray:
    """Return the lane fields of tensor memory addresses."""
    return addresses.astype(np.int64) >> _LANE_SHIFT


def columns_of(addresses: Array) -> IntArray:
    """Return the column fields of tensor memory addresses."""
    return addresses.astype(np.int64) & _COLUMN_MASK


class TensorMemoryWords:
    """Tensor memory of all simulated CTAs, as words `[CTAs, lanes, columns]`."""

    def __init__(self, wave: Wave) -> None:
        """Create NumPy views of the array that holds the tensor memory of all simulated CTAs."""
        self.arena = wave.memory(SPACE).arena
        shape = -1, LANES, COLUMNS
        self.words: Words = self.arena.units(WORD).reshape(shape)
        known = self.arena.known(WORD)
        self._defined: Words | None = None if known is None else known.reshape(shape)

    def flat(self, blocks: IntArray, lanes: IntArray, columns: IntArray) -> IntArray:
        """Return the byte offsets of words in the array that holds the tensor memory of all simulated CTAs."""
        offsets: IntArray = ((blocks * LANES + lanes) * COLUMNS + columns) * WORD
        return offsets

    # --- matrices -------------------------------------------------------------------------------

    def read(self, blocks: IntArray, addresses: IntArray, rectangles: Sequence[Rectangle]) -> Words:
        """Return the words of matrices, `[n, rows, columns]`, whose rectangles are relative to `addresses`.

        `blocks` are the CTAs of the matrices; for matrices in a CTA pair, the pair's first CTA.
        """
        return self._taken(self.words, blocks, addresses, rectangles)

    def unknown(
        self, blocks: IntArray, addresses: IntArray, rectangles: Sequence[Rectangle], bits: int = _WHOLE
    ) -> Words | None:
        """Return the undefined bits, masked by `bits`, of the words that `read` returns; None if there are none.

        In a run without checks, undefined bits are not tracked: return None.
        """
        if self._defined is None:
            return None
        defined = self._defined
        if all((defined[at] == _WHOLE).all() for _, _, at in _parts(blocks, addresses, rectangles)):
            return None
        unknown: Words = ~self._taken(defined, blocks, addresses, rectangles) & np.uint32(bits)
        return unknown if unknown.any() else None

    def write(
        self,
        blocks: IntArray,
        addresses: IntArray,
        rectangles: Sequence[Rectangle],
        values: Words,
        hidden: NDArray[np.bool_] | None = None,
    ) -> None:
        """Write matrices, `[n, rows, columns]`; skip lanes for which `hidden`, `[n, lanes of the CTAs]`, is true."""
        for rectangle, some, at in _parts(blocks, addresses, rectangles):
            rows = slice(rectangle.row, rectangle.row + rectangle.rows)
            new = values[some, rows, rectangle.n : rectangle.n + rectangle.columns]
            if hidden is not None:
                first = rectangle.block * LANES + at[1].start
                stays = hidden[some, first : first + rectangle.rows, None]
                new = np.where(stays, self.words[at], new)
            self.words[at] = new
            if self._defined is not None:
                self._defined[at] = _WHOLE

    @staticmethod
    def _taken(words: Words, blocks: IntArray, addresses: IntArray, rectangles: Sequence[Rectangle]) -> Words:
        rows = max(each.row + each.rows for each in rectangles)
        columns = max(each.n + each.columns for each in rectangles)
        found: Words = np.empty((len(blocks), rows, columns), np.uint32)
        for rectangle, some, at in _parts(blocks, addresses, rectangles):
            inside = slice(rectangle.row, rectangle.row + rectangle.rows)
            found[some, inside, rectangle.n : rectangle.n + rectangle.columns] = words[at]
        return found

    def forget(self, block: int, columns: slice) -> None:
        """Mark columns of a CTA as uninitialized."""
        if self._defined is not None:
            self._defined[block, :, columns] = 0


def _parts(
    blocks: IntArray, addresses: IntArray, rectangles: Sequence[Rectangle]
) -> Iterator[tuple[Rectangle, slice, tuple[IntArray | slice, slice, slice]]]:
    """Yield each rectangle, a slice of matrices, and indices of words; matrices at equal addresses are one slice."""
    lanes, columns = lanes_of(addresses), columns_of(addresses)
    alike = bool((addresses == addresses[0]).all())
    for rectangle in rectangles:
        for i in range(1 if alike else len(blocks)):
            some = slice(None) if alike else slice(i, i + 1)
            lane, column = int(lanes[i]) + rectangle.lane, int(columns[i]) + rectangle.column
            inside = slice(lane, lane + rectangle.rows), slice(column, column + rectangle.columns)
            yield rectangle, some, (_evenly(blocks[some] + rectangle.block), *inside)


def _evenly(blocks: IntArray) -> IntArray | slice:
    """Return CTA indices as a slice if they are equally spaced: indexing with a slice does not copy."""
    first, step = int(blocks[0]), int(blocks[-1] - blocks[0]) // max(len(blocks) - 1, 1) or 1
    if step < 1 or (np.diff(blocks) != step).any():
        return blocks
    return slice(first, int(blocks[-1]) + 1, step)


def touch(blocks: IntArray, addresses: IntArray, rectangles: Sequence[Rectangle], *, writes: bool) -> AsyncAccess:
    """Return accesses to matrices for race checks, as runs of bytes (places), equally long and as long as possible."""
    numbers, parts = np.arange(len(blocks)), list(_parts(blocks, addresses, _joined(tuple(rectangles))))
    pieces = [_pieces(lanes.start, lanes.stop, columns.start, columns.stop) for _, _, (_, lanes, columns) in parts]
    size = min(each.size for each in pieces)
    offsets, owners = [], []
    for (rectangle, some, _), each in zip(parts, pieces, strict=True):
        inside = each.split(size)
        offsets.append(((blocks[some] + rectangle.block)[:, None] * _BYTES + inside).reshape(-1))
        owners.append(numbers[some].repeat(len(inside)))
    return AsyncAccess(SPACE.name, writes, np.concatenate(offsets), size, np.concatenate(owners), proxy=TENSOR)


@lru_cache(maxsize=256)
def _joined(rectangles: tuple[Rectangle, ...]) -> Sequence[Rectangle]:
    """Return rectangles of tensor memory, with adjacent rectangles merged."""
    joined: list[Rectangle] = []
    for each in rectangles:
        last = joined[-1] if joined else each
        behind = last.block, last.lane, last.rows, last.column + last.columns
        if behind == (each.block, each.lane, each.rows, each.column):
            joined[-1] = replace(last, columns=last.columns + each.columns)
        else:
            joined.append(each)
    return joined


@dataclass(frozen=True, slots=True)
class Pieces:
    """Places (byte numbers in race checks) as aligned runs of `size` bytes, a power of two."""

    starts: IntArray
    size: int

    @classmethod
    def of(cls, places: IntArray) -> Pieces:
        """Return the places (byte numbers) of words as aligned runs that are as wide as possible, up to 1024 bytes."""
        found = np.unique(places)
        breaks = np.flatnonzero(np.diff(found) != WORD) + 1
        bounds = [*found[breaks].tolist(), *(found[breaks - 1] + WORD).tolist(), int(found[0]), int(found[-1]) + WORD]
        size = math.gcd(_WIDEST_PIECE, *bounds)
        return cls(found[found % size == 0], size)

    def split(self, size: int) -> IntArray:
        """Return the starts of the runs after each run is split into runs of `size` bytes."""
        found: IntArray = (self.starts[:, None] + np.arange(0, self.size, size)).reshape(-1)
        return found


@lru_cache(maxsize=1024)
def _pieces(lane: int, end: int, column: int, stop: int) -> Pieces:
    """Return the places (byte numbers in race checks) of a rectangle's words in a CTA's tensor memory."""
    lanes, columns = np.arange(lane, end), np.arange(column, stop)
    return Pieces.of(placed((lanes[:, None] * COLUMNS + columns).reshape(-1)))
