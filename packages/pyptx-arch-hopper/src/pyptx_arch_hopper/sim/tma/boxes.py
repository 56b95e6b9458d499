"""Global addresses and shared memory offsets of the elements that a box or im2col copy transfers.

Manual: "Tensors": "Tiled Mode", "im2col mode", "Interleave layout", "Swizzling Modes".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.tma.maps import FILLS, unpack
from pyptx_sim.numerics.nan import F32_NAN, OUT_OF_BOUNDS
from pyptx_sim.types import SIXTEEN

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.tma.maps import Packing, Record
    from pyptx_sim.extension import Array, IntArray, Mask
    from pyptx_sim.types import DType

# Address bits that each swizzle changes: (number of bits, lowest changed bit, lowest of the bits XORed into them).
_SWIZZLED_BITS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "none": (),
    "32B": ((1, 4, 7),),
    "64B": ((2, 4, 7),),
    "128B": ((3, 4, 7),),
    "128B_atom_32B": ((2, 5, 7),),
    "128B_atom_32B_flip_8B": ((2, 5, 7), (1, 3, 7)),
    "128B_atom_64B": ((1, 6, 7),),
}
_CHUNK = 16  # number of bytes that a swizzle moves as one chunk, except the swizzles in _SMALLER
_SMALLER = ("128B_atom_32B_flip_8B",)
_WORD = 4  # bytes: the packed data of a row of padded elements is a multiple of this size
_PERIOD = 1024  # bytes of shared memory after which every swizzle pattern repeats
_LINE = 128  # bytes of a swizzle row, within which 16-byte chunks are permuted
_TF32_NAN = np.uint32(F32_NAN & 0xFFFFE000)  # value that a TMA load of any NaN as tf32 writes
# The NaN with which TMA fills out-of-bounds f16 elements; wider elements repeat its two bytes.
_NAN = OUT_OF_BOUNDS.to_bytes(2, "little")


@dataclass(frozen=True, eq=False)
class Descriptor:
    """A valid tensor map, and the elements that its copies transfer. Values that depend only on the map are cached.

    Packed elements, which share bytes, are counted as bytes in `map`; `packing` describes their layout.
    """

    map: Record
    packing: Packing | None = None

    def unfit(self) -> tuple[str, str] | None:
        """Return why the copy mode cannot use a valid map, and the remedy; None: box and im2col can use every map."""

    @property
    def rank(self) -> int:
        """Number of dimensions of the tensor."""
        return self.map.rank

    def unit(self, corner: tuple[int, ...]) -> int:
        """Return how many bytes a copy from `corner` moves at once: 16 if rows are aligned to that, else an element."""
        if self.packing is not None and self.packing.padded:
            return _WORD
        return _CHUNK if self._chunked and corner[0] * self.itemsize % _CHUNK == 0 else self.itemsize

    @cached_property
    def _chunked(self) -> bool:
        """Whether tensor rows are multiples of 16 bytes, and copies keep 16-byte chunks together and unchanged."""
        record = self.map
        plain = not (record.columns or record.interleave or self.rounds or record.swizzle_name in _SMALLER)
        return plain and record.extents[0] * self.itemsize % _CHUNK == 0

    @cached_property
    def itemsize(self) -> int:
        """Bytes of an element in the tensor; 1 if elements are packed."""
        return self.map.itemsize

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of one copy in elements, innermost dimension first; for im2col, channels and pixels."""
        record = self.map
        if record.columns:
            return record.channels, record.pixels
        pairs = zip(record.box[: record.rank], record.steps, strict=False)
        return tuple(-(-extent // step) for extent, step in pairs)

    @cached_property
    def bytes(self) -> int:
        """Bytes that a copy transfers, including elements out of bounds."""
        return math.prod(self.shape) * self.map.itemsize

    @cached_property
    def room(self) -> int:
        """Bytes that a copy occupies in shared memory, including padding."""
        return self.bytes if self.packing is None else self.bytes * self.packing.room // self.packing.dense

    def fill(self, unit: int) -> Array:
        """Return the fill value for `unit` bytes out of bounds."""
        return _filling(FILLS[self.map.fill], unit)

    @cached_property
    def rounds(self) -> bool:
        """Whether loads change element values. See `rounded`."""
        return self.map.type.startswith("tf32")

    def rounded(self, bits: Array) -> Array:
        """Return `tf32` elements as a load rounds them: to nearest even, subnormals included.

        Measured on an H200 and an H100 (`tests/golden`). Also measured: every NaN becomes the same NaN; a load of
        `f32.ftz` flushes nothing; a load of `tf32.ftz` does not flush values that round up to a normal number.
        """
        odd = (bits >> np.uint32(13)) & np.uint32(1)
        nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        return np.where(nan, _TF32_NAN, (bits + np.uint32(0xFFF) + odd) & np.uint32(0xFFFFE000))

    # --- in global memory -----------------------------------------------------------------------

    def corner(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Return the coordinates of a copy's first element; the innermost one in bytes if elements are packed."""
        if self.packing is None:
            return coordinates
        return self.packing.bytes(coordinates[0]), *coordinates[1:]

    def misaligned(self, coordinates: tuple[int, ...]) -> tuple[str, str] | None:
        """Return the fault of a copy's coordinates in a packed tensor, and the remedy; None if they are valid."""
        step = 1 if self.packing is None else self.packing.step
        if coordinates[0] % step:
            message = f"coordinate 0 of packed elements is {coordinates[0]}, must be a multiple of {step}"
            return message, f"start the box at a multiple of {step} elements"
        return None

    def misplaced(self, corner: tuple[int, ...]) -> tuple[str, str] | None:
        """Return the fault of the coordinates of a copy's first element, and the remedy; None if they are valid."""
        record = self.map
        per_slice = record.slice_bytes // record.itemsize
        if per_slice and corner[0] % per_slice:
            message = f"coordinate 0 is {corner[0]}, must be a multiple of {per_slice}, the channels of a slice"
            return message, "copy whole slices of an interleaved tensor"
        for axis in range(1, record.rank - 1) if record.columns else ():
            low, high = self._bounds(axis)
            if not low <= corner[axis] <= high:
                message = f"coordinate {axis} is {corner[axis]}, outside the bounding box ({low} to {high})"
                return (
                    message,
                    "start inside the bounding box that the map's corners define; pass other offsets as im2col offsets",
                )
        return None

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Per dimension: the lowest start coordinate with which a box exceeds the tensor."""
        record = self.map
        extents = zip(record.extents, self.shape, record.steps, strict=False)
        return tuple(extent - (count - 1) * step for extent, count, step in extents)

    @cached_property
    def span(self) -> int:
        """Bytes of global memory from the first to the last element of a box, inclusive."""
        steps = zip(self.shape, self.map.steps, self.map.strides, strict=False)
        return sum((count - 1) * step * stride for count, step, stride in steps) + self.itemsize

    def origin(self, corner: tuple[int, ...]) -> int | None:
        """Return a box's global address; None if elements are out of bounds, in im2col mode, and with interleave."""
        record = self.map
        if record.columns or record.interleave:
            return None
        address = record.address
        for place, end, stride in zip(corner, self._ends, record.strides, strict=False):
            if not 0 <= place < end:
                return None
            address += place * stride
        return address

    def pattern(self, unit: int) -> IntArray:
        """Return the global offset of each `unit` bytes of a box from its first element, in units of `unit` bytes."""
        return _pattern(self, unit)

    def row(self, unit: int) -> int:
        """Return how many consecutive `unit`-byte runs of a copy are contiguous in global memory."""
        record = self.map
        plain = not record.interleave and (bool(record.columns) or record.steps[0] == 1)
        return self.shape[0] * self.itemsize // unit if plain else 1

    def units(self, corner: tuple[int, ...], offsets: tuple[int, ...], unit: int) -> tuple[IntArray, Mask | None]:
        """Return the address of each run of `unit` bytes, innermost first, and which runs are in bounds (None: all)."""
        return self._columns(corner, offsets) if self.map.columns else self._box(corner, unit // self.map.itemsize)

    def _box(self, corner: tuple[int, ...], together: int) -> tuple[IntArray, Mask | None]:
        """Return the addresses of a box's groups of `together` elements, and which groups are in bounds (None: all)."""
        record = self.map
        origin = record.address
        inside: Mask | None = None
        for axis, (first, count) in enumerate(zip(corner, self.shape, strict=True)):
            origin += int(self._distance(axis, np.array(first)))
            if first >= 0 and first + (count - 1) * record.steps[axis] < record.extents[axis]:
                continue
            place = first + self._places(axis, together)
            here = ((place >= 0) & (place < record.extents[axis])).reshape(self._form(axis))
            inside = here if inside is None else inside & here
        distances = _distances(self, together)
        if inside is not None:
            inside = np.broadcast_to(inside, distances.shape).reshape(-1)
        return origin + distances.reshape(-1), inside

    def distances(self, together: int) -> IntArray:
        """Return the byte offset of each `together` elements from a box's first element, innermost dimension last."""
        total = np.zeros((1,) * self.rank, np.int64)
        for axis in range(self.rank):
            total = total + self._distance(axis, self._places(axis, together)).reshape(self._form(axis))
        return total

    def _places(self, axis: int, together: int) -> IntArray:
        """Return a box's coordinates along a dimension, from 0; every `together`-th along the innermost dimension."""
        step = self.map.steps[axis]
        return np.arange(0, self.shape[axis] * step, step if axis else together, dtype=np.int64)

    def _form(self, axis: int) -> tuple[int, ...]:
        """Return the shape of an array that varies along dimension `axis` only; the innermost dimension is last."""
        return (1,) * (self.rank - 1 - axis) + (-1,) + (1,) * axis

    def _columns(self, corner: tuple[int, ...], offsets: tuple[int, ...]) -> tuple[IntArray, Mask]:
        """Return the addresses of an im2col copy, and which are in bounds.

        The pixels traverse the bounding box, innermost dimension first, from image to image.
        """
        record, last = self.map, self.rank - 1
        channel = corner[0] + np.arange(record.channels, dtype=np.int64)
        address = record.address + self._distance(0, channel)[None, :]
        inside = ((channel >= 0) & (channel < record.extents[0]))[None, :]
        turn = np.arange(record.pixels, dtype=np.int64)
        for axis in range(1, self.rank):
            if axis == last:
                place = corner[last] + turn
            else:
                place, turn = walk(turn, corner[axis], self._bounds(axis), record.steps[axis])
                place = place + (offsets[axis - 1] if offsets else 0)
            address = address + self._distance(axis, place)[:, None]
            inside = inside & ((place >= 0) & (place < record.extents[axis]))[:, None]
        return address.reshape(-1), inside.reshape(-1)

    def _bounds(self, axis: int) -> tuple[int, int]:
        """Return the first and the last coordinate in the bounding box of an im2col copy."""
        record = self.map
        return record.lower[axis - 1], record.extents[axis] - 1 + record.upper[axis - 1]

    def _distance(self, axis: int, place: IntArray) -> IntArray:
        """Return the byte offsets in the tensor of coordinates along one dimension."""
        record = self.map
        if axis or not record.slice_bytes:
            return place * record.strides[axis]
        # Channel slices of an interleaved tensor are consecutive in global memory; only the batch is a slower
        # dimension.
        number, inside = np.divmod(place, record.slice_bytes // record.itemsize)
        outer = record.rank - 2
        distance: IntArray = number * (record.strides[outer] * record.extents[outer]) + inside * record.itemsize
        return distance

    # --- in shared memory -----------------------------------------------------------------------

    @property
    def gapless(self) -> bool:
        """Whether a copy writes or reads all bytes from its start to its end in shared memory."""
        padded = self.packing is not None and self.packing.padded
        return not padded and (self.map.swizzle_name == "none" or self.room % _LINE == 0)

    def shared_index(self, start: int, base: int, unit: int) -> IntArray:
        """Return the index of each `unit` bytes of a copy in shared memory, in units of `unit` bytes.

        The copy is at `start` in the shared memory of a CTA, which starts at `base`.
        """
        phase = start % _PERIOD
        before = (base + start - phase) // unit
        index: IntArray = _swizzled(self.map.swizzle_name, self.room, unit, phase) + before
        if self.packing is None or unit != _WORD or not self.packing.padded:
            return index
        return index.reshape(-1, self.packing.room // unit)[:, : self.packing.dense // unit].reshape(-1)


def dtype_of_unit(size: int) -> DType:
    """Return an unsigned NumPy dtype of `size` bytes, to copy elements unchanged."""
    return SIXTEEN if size == _CHUNK else np.dtype(f"<u{size}")


@lru_cache(maxsize=256)
def _distances(described: Descriptor, together: int) -> IntArray:
    return described.distances(together)


@lru_cache(maxsize=256)
def _pattern(described: Descriptor, unit: int) -> IntArray:
    pattern = described.distances(unit // described.itemsize).reshape(-1) // unit
    pattern.flags.writeable = False
    return pattern


@lru_cache(maxsize=16)
def _filling(fill: str, unit: int) -> Array:
    data = bytes(unit) if fill == "zeros" else _NAN * (unit // len(_NAN))
    return np.frombuffer(data, dtype_of_unit(unit))


def walk(turn: IntArray, start: int, bounds: tuple[int, int], step: int) -> tuple[IntArray, IntArray]:
    """Return the position along one dimension at each step of a traversal, and the number of wraps so far.

    The traversal starts at `start`, advances by `step`, and wraps from the last position to the first.
    """
    low, high = bounds
    first, count = len(range(start, high + 1, step)), len(range(low, high + 1, step))
    later = turn - first
    place = np.where(later < 0, start + turn * step, low + later % count * step)
    return place, np.where(later < 0, 0, 1 + later // count)


@lru_cache(maxsize=256)
def _swizzled(swizzle: str, size: int, step: int, start: int) -> IntArray:
    """Return the swizzled index of each `step` bytes from `start` on, in units of `step` bytes."""
    offsets = np.arange(start, start + size, step, dtype=np.int64)
    moved = offsets
    for bits, low, high in _SWIZZLED_BITS[swizzle]:
        moved = moved ^ (((offsets >> high) & ((1 << bits) - 1)) << low)
    index: IntArray = moved // step
    index.flags.writeable = False
    return index


@lru_cache(maxsize=256)
def decode(data: bytes, address: int | None = None) -> Descriptor | tuple[str, str]:
    """Return the tensor map decoded from `data`; for an invalid map, the fault and the remedy.

    `address` replaces the tensor's address in the map.
    """
    record = unpack(data)
    if record is None:
        return "operand is not a valid tensor map", "pass the tensor map of this tensor"
    if address is not None:
        record = replace(record, address=address)
    fault = record.fault()
    if fault is not None:
        return f"invalid tensor map: {fault[0]}", fault[1]
    return Descriptor(record.in_bytes(), record.packing)
