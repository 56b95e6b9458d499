"""Flat bytes with typed views: the storage of one state space."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.memory.atomics import apply
from pyptx_sim.types import SIXTEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

# Accesses move in units of a power of two up to this size; no instruction accesses more than two of them.
_UNIT = 16


class Arena:
    """The bytes of a state space; offsets are flat, and the caller has checked bounds and alignment.

    `initialised`, where it is tracked, holds 1 for each byte that something has written.
    """

    __slots__ = ("_views", "data", "initialised")

    def __init__(self, size: int, *, track: bool) -> None:
        """Allocate `size` zero bytes, rounded up to whole units."""
        rounded = max(-(-size // _UNIT), 1) * _UNIT
        self.data: NDArray[np.uint8] = np.zeros(rounded, np.uint8)
        self.initialised: NDArray[np.uint8] | None = np.zeros(rounded, np.uint8) if track else None
        self._views: dict[int, Array] = {}

    def clear(self) -> None:
        """Forget all contents; fresh zero pages cost nothing until they are touched."""
        self.data = np.zeros_like(self.data)
        self._views.clear()
        if self.initialised is not None:
            self.initialised = np.zeros_like(self.initialised)

    def _units(self, size: int) -> Array:
        view = self._views.get(size)
        if view is None:
            view = self._views[size] = self.data.view(SIXTEEN if size == _UNIT else np.dtype(f"<u{size}"))
        return view

    def chunks(self, index: IntArray) -> Array:
        """Return copies of units of 16 bytes, which `index` counts from the start."""
        return self._units(_UNIT).take(index)

    def gather(self, offsets: IntArray, dtype: DType, count: int) -> list[Array]:
        """Read `count` consecutive elements at each offset; returns one array of the offsets' shape for each."""
        size = dtype.itemsize * count
        if count == 1 and size < _UNIT:
            return [self._units(size).take(offsets >> (size.bit_length() - 1)).view(dtype)]
        unit = min(size, _UNIT)
        words = self._units(unit)
        elements: list[Array] = []
        for part in range(size // unit):
            index = offsets >> (unit.bit_length() - 1)
            taken = words.take(index + part if part else index)
            split = taken.view(dtype).reshape(*offsets.shape, unit // dtype.itemsize)
            planes = np.ascontiguousarray(split.transpose(split.ndim - 1, *range(split.ndim - 1)))
            elements += list(planes)
        return elements

    def scatter(self, offsets: IntArray, values: list[Array]) -> None:
        """Write the elements of `values` (broadcastable to the offsets' shape) consecutively at each offset."""
        dtype = values[0].dtype
        size = dtype.itemsize * len(values)
        if len(values) == 1 and size < _UNIT:
            bits = values[0].view(np.dtype(f"<u{size}"))
            self._units(size)[offsets >> (size.bit_length() - 1)] = bits
            return
        unit = min(size, _UNIT)
        per_unit = unit // dtype.itemsize
        index = offsets >> (unit.bit_length() - 1)
        for part in range(size // unit):
            packed = np.empty((*offsets.shape, per_unit), dtype)
            for position in range(per_unit):
                packed[..., position] = values[part * per_unit + position]
            word = packed.view(self._units(unit).dtype)[..., 0]
            self._units(unit)[index + part if part else index] = word

    def take(self, index: IntArray, dtype: DType) -> Array:
        """Return copies of elements of a dtype, which `index` counts from the start."""
        return self.data.view(dtype).take(index)

    def put(self, index: IntArray, values: Array) -> None:
        """Write elements, which `index` counts from the start, and note that they are written."""
        self.data.view(values.dtype)[index] = values
        self._mark_elements(index, values.dtype)

    def update(self, index: IntArray, how: Update, values: Array) -> None:
        """Combine elements, which `index` counts from the start, with values, one after the other."""
        apply(self.data.view(values.dtype), index, how, values, values)
        self._mark_elements(index, values.dtype)

    def _mark_elements(self, index: IntArray, dtype: DType) -> None:
        if self.initialised is not None:
            self.initialised.view(dtype)[index] = np.frombuffer(b"\1" * dtype.itemsize, dtype)

    def blank(self, index: IntArray, dtype: DType) -> NDArray[np.bool_] | None:
        """Return which elements have bytes that nothing has written; None if there are none."""
        if self.initialised is None:
            return None
        known = self.initialised.view(dtype)[index].tobytes()
        if known.count(1) == len(known):
            return None
        return np.logical_not(np.frombuffer(known, np.bool_).reshape(-1, dtype.itemsize).all(axis=1))

    def bytes_at(self, start: int, size: int) -> bytes:
        """Return the bytes from an offset on."""
        return self.data[start : start + size].tobytes()

    def set_bytes(self, start: int, values: bytes) -> None:
        """Write bytes from an offset on, and note that they are written."""
        self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)
        if self.initialised is not None:
            self.initialised[start : start + len(values)] = 1

    @contextmanager
    def holding(self, before: Mapping[int, bytes]) -> Iterator[None]:
        """Let other bytes stand at some offsets for a while."""
        now = {start: self.bytes_at(start, len(values)) for start, values in before.items()}
        try:
            for start, values in before.items():
                self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)
            yield
        finally:
            for start, values in now.items():
                self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)

    def copy(self, targets: IntArray, source: Arena, sources: IntArray, size: int) -> None:
        """Copy `size` bytes (a power of two up to 16), aligned to it, from each of `sources` to one of `targets`."""
        shift = size.bit_length() - 1
        self._units(size)[targets >> shift] = source._units(size).take(sources >> shift)

    def copy_part(self, targets: IntArray, source: Arena, sources: IntArray, size: int, used: IntArray) -> None:
        """Copy the first `used` of `size` bytes each, and put zeros behind them."""
        step = np.arange(size)
        inside = step < used[:, None]
        values = source.data[np.where(inside, sources[:, None] + step, 0)]
        self.data[targets[:, None] + step] = np.where(inside, values, 0)

    def holds(self, offsets: IntArray, values: list[Array]) -> bool:
        """Tell whether writing `values` at the offsets would change nothing."""
        present = self.gather(np.asarray(offsets), values[0].dtype, len(values))
        return all(
            old.tobytes() == np.broadcast_to(new, old.shape).tobytes() for old, new in zip(present, values, strict=True)
        )

    def mark(self, offsets: IntArray, size: int) -> None:
        """Note that `size` bytes at each offset are written."""
        if self.initialised is None:
            return
        unit = min(size, 8)
        ones = int.from_bytes(b"\1" * unit, "little")
        words = self.initialised.view(np.dtype(f"<u{unit}"))
        index = offsets >> (unit.bit_length() - 1)
        for part in range(size // unit):
            words[index + part if part else index] = ones

    def forget(self, start: int, size: int) -> None:
        """Note that nothing has written `size` bytes from an offset on."""
        if self.initialised is not None:
            self.initialised[start : start + size] = 0

    def written(self, offsets: IntArray, size: int, *, partly: bool) -> NDArray[np.bool_] | None:
        """Return for each offset whether all `size` bytes there (`partly`: any) were written; None if untracked."""
        if self.initialised is None:
            return None
        unit = min(size, 8)
        ones = int.from_bytes(b"\1" * unit, "little")
        words = self.initialised.view(np.dtype(f"<u{unit}"))
        index = offsets >> (unit.bit_length() - 1)
        parts = [words.take(index + part if part else index) for part in range(size // unit)]
        known: NDArray[np.bool_] = (parts[0] != 0) if partly else (parts[0] == ones)
        for words_of_part in parts[1:]:
            known = known | (words_of_part != 0) if partly else known & (words_of_part == ones)
        return known

    def written_in(self, offsets: IntArray, positions: list[int]) -> NDArray[np.bool_] | None:
        """Return for each offset whether the bytes at these distances from it were written; None if untracked."""
        if self.initialised is None:
            return None
        bytes_used = self.initialised[offsets[..., None] + np.array(positions, np.int64)]
        return np.asarray(bytes_used.all(axis=-1))
