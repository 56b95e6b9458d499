"""Active lanes of an executed instruction, and operations on per-lane arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.operation import Array, Mask

IntArray: TypeAlias = NDArray[np.int64]

WARP = 32


@lru_cache(maxsize=64)
def all_lanes(height: int) -> Mask:
    """Return a read-only mask, `[height, 32]`, that is true for all lanes."""
    mask = np.ones((height, WARP), np.bool_)
    mask.flags.writeable = False
    return mask


@lru_cache(maxsize=64)
def every_lane(height: int) -> tuple[IntArray, IntArray]:
    """Return the row and lane numbers of all lanes of `height` warps, in order, as cached read-only arrays."""
    rows, lanes = np.divmod(np.arange(height * WARP, dtype=np.int64), WARP)
    rows.flags.writeable = lanes.flags.writeable = False
    return rows, lanes


def _places(mask: Mask) -> tuple[IntArray, IntArray]:
    positions, lanes = np.nonzero(mask)
    return positions.astype(np.int64, copy=False), lanes.astype(np.int64, copy=False)


@lru_cache(maxsize=WARP)
def _one_lane(lane: int) -> tuple[Mask, tuple[IntArray, IntArray]]:
    mask = np.zeros((1, WARP), np.bool_)
    mask[0, lane] = True
    mask.flags.writeable = False
    return mask, _places(mask)


def lane_names(mask: Mask) -> str:
    """Return the lanes for which a mask, `[32]`, is true, as text for messages: `lane 3`, `lanes 0, 4-7`."""
    lanes: list[int] = np.flatnonzero(mask).tolist()
    return f"{'lane' if len(lanes) == 1 else 'lanes'} {in_ranges(lanes)}"


def in_ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as ranges, for messages: `0, 4-7`."""
    parts: list[tuple[int, int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1] = parts[-1][0], number
        else:
            parts.append((number, number))
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


class Lanes:
    """Active lanes of an executed instruction: rows (warps of the wave), and a mask over their lanes.

    `rows` None means every row of the wave; the mask then excludes dead warps. `mask` is bool `[height, 32]`; None
    means every lane of these rows. `whole`: all live lanes of the wave are active, so registers may be replaced instead
    of merged (the contents of dead lanes do not matter).
    """

    __slots__ = ("_active", "height", "mask", "rows", "whole")

    def __init__(self, rows: IntArray | None, mask: Mask | None, height: int, *, whole: bool) -> None:
        """Keep the rows and the mask without a copy; `mask` must not change afterwards."""
        self.rows = rows
        self.mask = mask
        self.height = height
        self.whole = whole
        self._active: tuple[IntArray, IntArray] | None = None

    @classmethod
    def of_thread(cls, warp: int, lane: int) -> Lanes:
        """Return a `Lanes` whose only active lane is `lane` of `warp`."""
        mask, active = _one_lane(lane)
        one = cls(np.array([warp], np.int64), mask, 1, whole=False)
        one._active = active
        return one

    @property
    def active(self) -> tuple[IntArray, IntArray]:
        """Active lanes in order, as two arrays: row index and lane number."""
        if self._active is None:
            self._active = every_lane(self.height) if self.mask is None else _places(self.mask)
        return self._active

    @property
    def full_mask(self) -> Mask:
        """The mask as an array, even if `mask` is None."""
        return all_lanes(self.height) if self.mask is None else self.mask

    @property
    def count(self) -> int:
        """Number of active lanes."""
        return self.height * WARP if self.mask is None else int(np.count_nonzero(self.mask))

    def warps(self, positions: IntArray) -> IntArray:
        """Return the numbers, in the wave, of the warps with row indices `positions`."""
        return positions if self.rows is None else self.rows[positions]

    def row_numbers(self) -> IntArray:
        """Return the number, in the wave, of each row's warp."""
        return np.arange(self.height, dtype=np.int64) if self.rows is None else self.rows

    def active_rows(self) -> IntArray:
        """Return the numbers of the warps that have an active lane."""
        rows = self.row_numbers()
        return rows if self.mask is None else rows[self.mask.any(axis=1)]

    def by_warp(self) -> tuple[IntArray, Mask]:
        """Return the numbers of the warps that have an active lane, and their lane masks."""
        rows, mask = self.row_numbers(), self.full_mask
        if self.mask is None:
            return rows, mask
        some = mask.any(axis=1)
        return (rows, mask) if some.all() else (rows[some], mask[some])

    def select(self, per_warp: Array) -> Array:
        """Return these lanes' rows of an array that has one row per warp of the wave, or a single row for all warps."""
        return per_warp if self.rows is None or per_warp.shape[0] == 1 else per_warp.take(self.rows, axis=0)

    def narrowed(self, condition: Mask) -> Lanes | None:
        """Return the active lanes for which `condition` (broadcastable) is true; None if there are none."""
        if condition.all():
            return self
        mask = broadcast(condition, (self.height, WARP))
        if self.mask is not None:
            mask = mask & self.mask
        if not mask.any():
            return None
        return Lanes(self.rows, mask, self.height, whole=False)


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values in ascending order, without sorting if they are already ascending (cheaper)."""
    if len(values) < 2:
        return values
    rises = values[1:] != values[:-1]
    if not rises.any():
        return values[:1]
    if not (values[1:] >= values[:-1]).all():
        return np.unique(values)
    first = np.flatnonzero(rises) + 1
    return np.concatenate([values[:1], values[first]])


def broadcast(values: Array, shape: tuple[int, ...]) -> Array:
    """Return `values` broadcast to `shape`, read-only; for a single value ten times as fast as `np.broadcast_to`."""
    if values.shape == shape:
        return values
    if values.size != 1:
        return np.broadcast_to(values, shape)
    single: Array = np.ndarray(shape, values.dtype, values, 0, (0,) * len(shape))
    single.flags.writeable = False
    return single


def pick(values: Array, positions: IntArray, lanes: IntArray) -> Array:
    """Return the entries of a `[rows|1, 32|1]` array at row `positions[i]`, lane `lanes[i]`."""
    if values.size == 1:
        return broadcast(values, positions.shape)
    picked: Array = values[positions if values.shape[0] > 1 else 0, lanes if values.shape[1] > 1 else 0]
    return picked


def spread(picked: Array, positions: IntArray, lanes: IntArray, height: int) -> Array:
    """Return a `[height, 32]` array with `picked[i]` at row `positions[i]`, lane `lanes[i]`, and zero elsewhere."""
    values = np.zeros((height, WARP), picked.dtype)
    values[positions, lanes] = picked
    return values


def by_warp(warps: IntArray, lanes: IntArray) -> tuple[IntArray, Mask]:
    """Return the distinct `warps` of threads in ascending order, and a mask of each warp's lanes among the threads."""
    if len(warps) > 1 and bool((warps[1:] > warps[:-1]).all()):
        each: Mask = lanes[:, None] == np.arange(WARP)
        return warps, each
    found = distinct(warps)
    mask: Mask = np.zeros((len(found), WARP), np.bool_)
    mask[0 if len(found) == 1 else np.searchsorted(found, warps), lanes] = True
    return found, mask


def united(warps: IntArray, masks: Mask) -> tuple[IntArray, Mask]:
    """Return the distinct warps of warp splits in ascending order, and for each warp the lanes of all its splits."""
    if len(warps) < 2 or bool((warps[1:] > warps[:-1]).all()):
        return warps, masks
    found, which = np.unique(warps, return_inverse=True)
    both = np.zeros((len(found), WARP), np.bool_)
    np.logical_or.at(both, which.reshape(-1), masks)
    return found, both


def merged(old: Array | None, value: Array, lanes: Lanes, height: int) -> Array:
    """Return register values `old`, `[height|1, 32|1]`, with the values of active lanes replaced by `value`."""
    dtype = value.dtype
    if old is None:
        old = np.zeros((1, 1), dtype)
    elif old.dtype != dtype:
        old = old.view(dtype)
    rows, mask = lanes.rows, lanes.mask
    if rows is None:
        return value if mask is None else np.where(mask, value, old)
    columns = WARP if mask is not None else max(old.shape[1], value.shape[1])
    if old.shape == (height, columns):
        new = old.copy()
    else:
        new = np.empty((height, columns), dtype)
        new[:] = old
    if mask is not None:
        value = np.where(mask, value, new.take(rows, axis=0))
    if len(rows) < _MANY or value.shape != (len(rows), columns):
        new[rows] = value
    else:
        put_rows(new, rows, value)
    return new


_MANY: Final = 32
"""Minimum number of rows for which `put_rows` is faster than indexed assignment."""


def put_rows(array: Array, rows: IntArray, values: Array) -> None:
    """Assign `values` to the given rows of a contiguous `[n, columns]` array of the same dtype."""
    row = _bytes(array.shape[1] * array.itemsize)
    array.view(row)[:, 0].put(rows, np.ascontiguousarray(values).view(row))


@lru_cache(maxsize=64)
def _bytes(count: int) -> np.dtype[np.void]:
    """Return the dtype of `count` bytes. NumPy moves a row as one such value several times faster than as elements."""
    return np.dtype((np.void, count))
