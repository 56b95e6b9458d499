"""Bit offsets of the fields in a 128-byte tensor map. Manual: "Tensor-map", "tensormap.replace".

The manual does not define the layout. The first half has every field of `tensormap.replace` at the bits that devices
read: ptxas compiles this instruction to a mask, a shift and a store, which a test compares with this table
(docs/internals/tensor-maps.md). Other bits of that half belong to the driver and are preserved. The second half is the
simulator's own, for fields whose offsets are unknown: im2col corners, channels and pixels, the L2 promotion, and which
fields lack a valid value.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

SIZE: Final = 128
RANKS: Final = 5
SPATIAL: Final = 3
_HALF = SIZE // 2


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a tensor map: `pieces` are its bit ranges (first bit, number of bits), low bits first.

    The field stores `(value - less) / unit`. `dimension` is the tensor dimension that the field describes.
    """

    pieces: tuple[tuple[int, int], ...]
    less: int = 0
    unit: int = 1
    dimension: int = 0

    def read(self, bits: int) -> int:
        """Return the field's value in a tensor map given as an integer."""
        stored, width = 0, 0
        for first, count in self.pieces:
            stored |= (bits >> first & _ones(count)) << width
            width += count
        return stored * self.unit + self.less

    def write(self, bits: int, value: int) -> int:
        """Return the tensor map with `value` in this field, truncated to the field's width."""
        stored = (value - self.less) // self.unit
        for first, count in self.pieces:
            bits = bits & ~(_ones(count) << first) | (stored & _ones(count)) << first
            stored >>= count
        return bits

    def holds(self, value: int) -> bool:
        """Return whether the field can store a value."""
        return self.read(self.write(0, value)) == value


def _ones(count: int) -> int:
    return (1 << count) - 1


# Bit ranges of tensor map fields, by name and ordinal operand of `tensormap.replace`. Field `rank` is the rank minus 1.
FIELDS: Final = {
    ("global_address", 0): Field(((0, 64),)),
    ("rank", 0): Field(((68, 3),)),
    ("elemtype", 0): Field(((71, 4), (80, 1))),
    ("interleave_layout", 0): Field(((75, 2),)),
    ("swizzle_mode", 0): Field(((77, 2), (86, 1))),
    ("fill_mode", 0): Field(((79, 1),)),
    ("swizzle_atomicity", 0): Field(((83, 3),)),
    **{("global_stride", n): Field(((96 + 32 * n, 32), (224 + 4 * n, 4)), 0, 16, n + 1) for n in range(RANKS - 1)},
    **{("global_dim", n): Field(((256 + 32 * n, 32),), 1, dimension=n) for n in range(RANKS)},
    **{("element_stride", n): Field(((416 + 3 * n, 3),), 1, dimension=n) for n in range(RANKS)},
    **{("box_dim", n): Field(((440 + 8 * n, 8),), 1, dimension=n) for n in range(RANKS)},
}
_NUMBERS: Final = {name: number for number, name in enumerate(FIELDS)}
# Values of a tensor map's element type bits, in the order of elemtype numbers; an extra bit marks tf32 and tf32.ftz.
ELEMENT_CODES: Final = (*range(11), 7 | 1 << 4, 8 | 1 << 4, *range(11, 14))
# Tensor map fields for which zero is not a valid value.
_UNSAID = sum(1 << number for (name, _), number in _NUMBERS.items() if name in {"global_dim", "box_dim"})


@dataclass(frozen=True, slots=True)
class Own:
    """Second 64 bytes of a tensor map, in the simulator's own format.

    `columns` is nonzero in im2col mode; `invalid` has a bit per invalid field.
    """

    invalid: int = 0
    columns: int = 0
    promotion: int = 0
    lower: tuple[int, ...] = (0,) * SPATIAL
    upper: tuple[int, ...] = (0,) * SPATIAL
    channels: int = 0
    pixels: int = 0

    def pack(self) -> bytes:
        """Return the 64 bytes of the second half of a tensor map; zeros for defaults."""
        if self == _NOTHING:
            return bytes(_HALF)
        numbers = (self.invalid, self.columns, self.promotion, *self.lower, *self.upper, self.channels, self.pixels)
        return _LAYOUT.pack(_MAGIC, *numbers).ljust(_HALF, b"\0")


_NOTHING = Own()
_MAGIC = b"TMAP"
_LAYOUT = struct.Struct(f"<4sI2B{SPATIAL}h{SPATIAL}h2H")


def halves(data: bytes) -> tuple[int, Own] | None:
    """Return a tensor map's first half as an integer, and its decoded second half; None for other data."""
    bits, own = int.from_bytes(data[:_HALF], "little"), data[_HALF:]
    if not any(own):
        return bits, _NOTHING if bits else Own(invalid=_UNSAID)
    magic, invalid, columns, promotion, *numbers = _LAYOUT.unpack_from(own)
    if magic != _MAGIC:
        return None
    lower, upper = tuple(numbers[:SPATIAL]), tuple(numbers[SPATIAL : 2 * SPATIAL])
    return bits, Own(invalid, columns, promotion, lower, upper, *numbers[2 * SPATIAL :])


def joined(bits: int, own: Own) -> bytes:
    """Return the 128 bytes of a tensor map, from its two halves."""
    return bits.to_bytes(_HALF, "little") + own.pack()


def invalid_fields(own: Own, rank: int) -> list[str]:
    """Return the names of those fields of a map of this rank that have no valid value."""
    held = (name for name, number in _NUMBERS.items() if own.invalid >> number & 1)
    return [f"{name} {ordinal}" for name, ordinal in held if FIELDS[name, ordinal].dimension < rank]


def replaced(data: bytes, field: str, ordinal: int, value: int) -> bytes | None:
    """Return the tensor map `data` with a field set to the `tensormap.replace` operand `value`.

    Return None if `data` is not a tensor map.
    """
    found = halves(data)
    if found is None:
        return None
    bits, own = found
    place, mask = FIELDS[field, ordinal], 1 << _NUMBERS[field, ordinal]
    code = ELEMENT_CODES[value] if field == "elemtype" else value
    invalid = own.invalid & ~mask if place.holds(code) else own.invalid | mask
    changed = Own(invalid, own.columns, own.promotion, own.lower, own.upper, own.channels, own.pixels)
    return joined(place.write(bits, code), changed)
