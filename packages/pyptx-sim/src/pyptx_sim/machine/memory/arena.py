"""Storage of one state space: a flat byte array with typed views."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.memory.atomics import Update, all_defined, apply
from pyptx_sim.machine.memory.paired_bits import apart, paired
from pyptx_sim.types import SIXTEEN, bits_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

# Accesses read or write aligned units whose size in bytes is a power of two up to this size; no instruction accesses
# more than two units.
_UNIT = 16
_CLEARED = 1 << 22  # number of bytes up to which zeroing is faster than allocating zero pages


class Arena:
    """Byte array of a state space, for all CTAs or threads of a wave. Callers check bounds and alignment of offsets.

    `defined`, if tracked, has a set bit for each defined bit of the memory.
    """

    __slots__ = ("_origin_of", "_origins", "_shadow", "_views", "data")

    def __init__(self, size: int, *, track: bool) -> None:
        """Allocate `size` zero bytes, rounded up to a multiple of 16; `track`: track which bits are defined."""
        rounded = max(-(-size // _UNIT), 1) * _UNIT
        self.data: NDArray[np.uint8] = np.zeros(rounded, np.uint8)
        self._shadow = Arena(size, track=False) if track else None
        self._views: dict[int, Array] = {}
        self._origins: list[Origin] = []
        # per four bytes of the arena: 1 + index of their origin in `_origins`; 0: none
        self._origin_of: NDArray[np.int32] | None = None

    @classmethod
    def over(cls, data: NDArray[np.uint8], defined: NDArray[np.uint8] | None) -> Arena:
        """Return an arena whose bytes are `data`, a multiple of 16, and whose mask of defined bits is `defined`."""
        made = cls(0, track=defined is not None)
        made.data = data
        if made._shadow is not None and defined is not None:
            made._shadow.data = defined
        return made

    def clear(self) -> None:
        """Make all bytes zero and undefined. A large arena gets fresh zero pages, which are free until accessed."""
        if len(self.data) <= _CLEARED:
            self.data[:] = 0
        else:
            self.data = np.zeros_like(self.data)
            self._views.clear()
        if self._shadow is not None:
            self._shadow.clear()
        self._origin_of = None

    @property
    def defined(self) -> NDArray[np.uint8] | None:
        """Mask of defined bits; None if they are not tracked."""
        return None if self._shadow is None else self._shadow.data

    @property
    def shadow(self) -> Arena | None:
        """Arena of the same size with a set bit for each defined bit; None if definedness is not tracked."""
        return self._shadow

    def units(self, size: int) -> Array:
        """Return the memory as an array of units of `size` bytes, a power of two up to 16."""
        view = self._views.get(size)
        if view is None:
            view = self._views[size] = self.data.view(SIXTEEN if size == _UNIT else np.dtype(f"<u{size}"))
        return view

    def known(self, size: int) -> Array | None:
        """Return the mask of defined bits as units of `size` bytes, a power of two; None if untracked."""
        return None if self._shadow is None else self._shadow.units(size)

    def chunks(self, index: IntArray) -> Array:
        """Return copies of 16-byte units, by index: byte offset / 16."""
        return self.units(_UNIT).take(index)

    def gather(self, offsets: IntArray, dtype: DType, count: int) -> list[Array]:
        """Read `count` consecutive elements at each offset; return one array of the offsets' shape per element."""
        size = dtype.itemsize * count
        if count == 1 and size < _UNIT:
            return [self.units(size).take(offsets >> (size.bit_length() - 1)).view(dtype)]
        unit = min(size, _UNIT)
        words = self.units(unit)
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
            self.units(size)[offsets >> (size.bit_length() - 1)] = bits
            return
        unit = min(size, _UNIT)
        per_unit = unit // dtype.itemsize
        index = offsets >> (unit.bit_length() - 1)
        for part in range(size // unit):
            packed = np.empty((*offsets.shape, per_unit), dtype)
            for position in range(per_unit):
                packed[..., position] = values[part * per_unit + position]
            word = packed.view(self.units(unit).dtype)[..., 0]
            self.units(unit)[index + part if part else index] = word

    def take(self, index: IntArray, dtype: DType) -> Array:
        """Return copies of elements of `dtype`, by index: byte offset / element size."""
        return self.data.view(dtype).take(index)

    def put(self, index: IntArray, values: Array) -> None:
        """Write elements, by index (byte offset / element size), and mark them as defined."""
        self.data.view(values.dtype)[index] = values
        self._mark_elements(index, values.dtype)

    def update(self, index: IntArray, how: Update, values: Array, origin: Origin | None = None) -> None:
        """Perform atomic updates one after the other: `how` combines the element at `index[i]` with `values[i]`.

        An index is byte offset / element size. `origin`: origin of undefined bits in the results.
        """
        apply(self.data.view(values.dtype), index, how, values, values)
        self.keep(index, how, values, values, origin)

    def keep(
        self, index: IntArray, how: Update, values: Array, second: Array, origin: Origin | None = None
    ) -> Array | None:
        """Record the undefined bits of elements after atomic updates (`how`, `values`, `second`) of their contents.

        Return the undefined bits of each old value (128-bit elements: as `paired_bits`); None if there are none.
        """
        if self._shadow is None:
            return None
        kind = bits_dtype(values.dtype.itemsize)
        words = self._shadow.data.view(kind)
        if (words[index] == all_defined(kind)).all():
            return None
        found = apply(words, index, Update(how.keeps), values.view(kind), second.view(kind))
        if origin is not None:
            self._blame(index[words[index] != all_defined(kind)] * kind.itemsize, kind.itemsize, origin)
        return paired(~found["lo"], ~found["hi"]) if kind.names else ~found

    def _mark_elements(self, index: IntArray, dtype: DType) -> None:
        if self._shadow is not None:
            self._shadow.data.view(dtype)[index] = all_defined(dtype)

    def undefined_elements(self, index: IntArray, dtype: DType) -> NDArray[np.uint8] | None:
        """Return the undefined bits of elements as bytes, `[len(index), element size]`; None if there are none."""
        if self._shadow is None:
            return None
        known = self._shadow.data.view(dtype).take(index)
        word = np.uint64 if known.nbytes % 8 == 0 else np.uint8
        words: Array = known.view(word)
        if (words == np.iinfo(word).max).all():
            return None
        return ~known.view(np.uint8).reshape(-1, dtype.itemsize)

    def leave_elements(self, index: IntArray, bits: NDArray[np.uint8], origin: Origin) -> None:
        """Mark `bits` of elements just written as undefined, and record `origin` as their origin.

        `bits` has the format of `undefined_elements`.
        """
        if self._shadow is None:
            return
        dirty, size = bits.any(axis=1), bits.shape[1]
        where = index[dirty] * size
        self._shadow.data[where[:, None] + np.arange(size)] &= ~bits[dirty]
        self._blame(where, size, origin)

    def bytes_at(self, start: int, size: int) -> bytes:
        """Return `size` bytes at an offset."""
        return self.data[start : start + size].tobytes()

    def set_bytes(self, start: int, values: bytes) -> None:
        """Write bytes at an offset and mark them as defined."""
        self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)
        if self._shadow is not None:
            self._shadow.data[start : start + len(values)] = 0xFF

    @contextmanager
    def holding(self, before: Mapping[int, bytes]) -> Iterator[None]:
        """Replace bytes, given as `{offset: bytes}` in `before`, during the body of the `with` statement."""
        now = {start: self.bytes_at(start, len(values)) for start, values in before.items()}
        try:
            for start, values in before.items():
                self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)
            yield
        finally:
            for start, values in now.items():
                self.data[start : start + len(values)] = np.frombuffer(values, np.uint8)

    def copy(self, targets: IntArray, source: Arena, sources: IntArray, size: int) -> None:
        """Copy `size` bytes (a power of two up to 16) from each `sources[i]` to `targets[i]`, multiples of `size`."""
        shift = size.bit_length() - 1
        self.units(size)[targets >> shift] = source.units(size).take(sources >> shift)

    def copy_part(self, targets: IntArray, source: Arena, sources: IntArray, size: int, used: IntArray) -> None:
        """Copy `used[i]` bytes from `sources[i]` to `targets[i]`; set the rest of `size` bytes at the target to 0."""
        step = np.arange(size)
        inside = step < used[:, None]
        values = source.data[np.where(inside, sources[:, None] + step, 0)]
        self.data[targets[:, None] + step] = np.where(inside, values, 0)

    def holds(self, offsets: IntArray, values: list[Array]) -> bool:
        """Return whether writing `values` at the offsets would change no byte and define no undefined bit."""
        known = self.written(np.asarray(offsets), values[0].dtype.itemsize * len(values))
        if known is not None and not known.all():
            return False
        present = self.gather(np.asarray(offsets), values[0].dtype, len(values))
        return all(
            old.tobytes() == np.broadcast_to(new, old.shape).tobytes() for old, new in zip(present, values, strict=True)
        )

    # --- defined bits ---------------------------------------------------------------------------

    def mark(self, offsets: IntArray, size: int) -> None:
        """Mark `size` bytes at each offset as defined."""
        if self._shadow is None:
            return
        unit = min(size, 8)
        ones = (1 << 8 * unit) - 1
        words = self._shadow.units(unit)
        index = offsets >> (unit.bit_length() - 1)
        for part in range(size // unit):
            words[index + part if part else index] = ones

    def forget(self, start: int, size: int) -> None:
        """Mark `size` bytes at an offset as undefined."""
        if self._shadow is not None:
            self._shadow.data[start : start + size] = 0

    def written(self, offsets: IntArray, size: int) -> NDArray[np.bool_] | None:
        """Return for each offset whether all of its `size` bytes are defined; None if untracked."""
        if self._shadow is None:
            return None
        unit = min(size, 8)
        ones = (1 << 8 * unit) - 1
        words = self._shadow.units(unit)
        index = offsets >> (unit.bit_length() - 1)
        known: NDArray[np.bool_] = words.take(index) == ones
        for part in range(1, size // unit):
            known = known & (words.take(index + part) == ones)
        return known

    def written_in(self, offsets: IntArray, positions: list[int]) -> NDArray[np.bool_] | None:
        """Return for each offset whether the bytes at offset + `positions` are all defined; None if untracked."""
        if self._shadow is None:
            return None
        bytes_used = self._shadow.data[offsets[..., None] + np.array(positions, np.int64)]
        return np.asarray((bytes_used == 0xFF).all(axis=-1))

    def defines_some(self, start: int, size: int) -> bool:
        """Return whether any bit of the `size` bytes at offset `start` is defined."""
        return self._shadow is None or bool(self._shadow.data[start : start + size].any())

    def undefined(self, offsets: IntArray, dtype: DType, count: int) -> list[Array] | None:
        """Return the undefined bits of `count` elements at each offset, as `gather` does; None if there are none."""
        known = self.written(offsets, dtype.itemsize * count)
        if known is None or self._shadow is None or known.all():
            return None
        if dtype.itemsize > 8:
            halves = self._shadow.gather(offsets, np.dtype(np.uint64), 2 * count)
            return [paired(~low, ~high) for low, high in zip(halves[::2], halves[1::2], strict=True)]
        bits = np.dtype(f"<u{dtype.itemsize}")
        return [~defined for defined in self._shadow.gather(offsets, bits, count)]

    def leave(self, offsets: IntArray, size: int, bits: list[Array], origin: Origin) -> None:
        """Mark `bits` of the `size` bytes just written at each offset as undefined, and record their origin.

        If `bits` has half that size, it is the compressed form for 128-bit registers (`paired_bits`).
        """
        if self._shadow is None:
            return
        if bits[0].dtype.itemsize * len(bits) < size:
            bits = [half for each in bits for half in apart(each)]
        self._shadow.scatter(offsets, [~each for each in bits])
        self._blame(offsets, size, origin)

    def _blame(self, offsets: IntArray, size: int, origin: Origin) -> None:
        """Record the origin of undefined bits in `size` bytes at each offset."""
        if self._origin_of is None:
            self._origin_of = np.zeros(len(self.data) // 4, np.int32)
        if origin not in self._origins:
            self._origins.append(origin)
        for behind in range(0, size, 4):
            self._origin_of[(offsets + behind) >> 2] = self._origins.index(origin) + 1

    def origin(self, offset: int) -> Origin | None:
        """Return the recorded origin of undefined bits at an offset; None if the bytes were never written."""
        number = 0 if self._origin_of is None else int(self._origin_of[offset >> 2])
        return self._origins[number - 1] if number else None
