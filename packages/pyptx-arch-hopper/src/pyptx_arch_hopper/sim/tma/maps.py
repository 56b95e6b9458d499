"""Tensor maps: their fields, the rules for valid maps, and encoding.

Manual: "Tensor-map", "tensormap.replace"; CUDA driver API: "Tensor Map Object Management".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.sim.tma.map_fields import (
    ELEMENT_CODES,
    FIELDS,
    RANKS,
    SPATIAL,
    Own,
    halves,
    invalid_fields,
    joined,
)
from pyptx_ir.element_types import ELEMENT_TYPES
from pyptx_ir.plugins.packed import PACKED_ELEMENTS
from pyptx_ir.plugins.rows import L2_PROMOTIONS
from pyptx_sim.errors import LaunchError
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.plugins.packed import PackedElements
    from pyptx_ir.plugins.rows import TensorMap

ALIGNMENT = 64
_MOST_CHANNELS = 256
_MOST_PIXELS = 1024
_MOST_STEP = 8
_STRIDES_END = 1 << 40
# Exclusive end of an im2col corner offset, by tensor rank: 16, 8 or 5 signed bits.
_CORNERS_END = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}
_EXTENTS_END = (1 << 32) + 1


@dataclass(frozen=True, slots=True)
class Packing:
    """Layout of 16 elements narrower than a byte: `dense` bytes in the tensor, `room` bytes in shared memory.

    A load leaves padding in the additional bytes after the data. A store, if supported (`stores`), reads one byte per
    element and drops its upper bits. Manual: "Sub-byte Types".
    """

    elements: PackedElements
    stores: bool

    @property
    def padded(self) -> bool:
        """Whether elements are followed by padding in shared memory."""
        return self.elements.padded

    @property
    def dense(self) -> int:
        """Bytes of 16 elements in global memory."""
        return self.elements.bytes(_TOGETHER)

    @property
    def room(self) -> int:
        """Bytes of 16 elements in shared memory."""
        return _TOGETHER if self.padded else self.dense

    @property
    def step(self) -> int:
        """Required divisor of extents and coordinates of the innermost dimension."""
        return _PADDED_BOX if self.padded else self.elements.elements(1)

    def bytes(self, count: int) -> int:
        """Return the bytes of `count` elements in global memory."""
        return self.elements.bytes(count)


_TOGETHER = 16
_HELP_RANK = "merge dimensions of the tensor, or add dimensions of size 1"
# Names of a tensor map's element types and modes, by field value. Manual: "tensormap.replace", table of new values.
ELEMENTS: Final = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz",
    "b4x16", "b4x16_p64", "b6x16_p32",
)  # fmt: skip
SWIZZLES: Final = ("none", "32B", "64B", "128B")
ATOMS: Final = ("", "_atom_32B", "_atom_32B_flip_8B", "_atom_64B")
INTERLEAVES: Final = ("none", "16B", "32B")
FILLS: Final = ("zeros", "nan")
_SWIZZLE_BYTES = (0, 32, 64, 128)
_SLICE_BYTES = (0, 16, 32)
PACKINGS: Final = {name: Packing(row, stores=name != "b4x16_p64") for name, row in PACKED_ELEMENTS.items()}
_PADDED_BOX = 128  # required innermost box extent, in elements, of a tensor map with a padded element type
_PADDED_SWIZZLES = ("none", "128B", "128B_atom_32B", "128B_atom_64B")
# PTX types that tensor maps lack are copied as the first type with the same CUtensorMapDataType.
_BY_NUMBER = {row.tensor_map: row.name for row in reversed(ELEMENT_TYPES)}  # first PTX type of each CUtensorMapDataType
_AS_BITS = {row.name: _BY_NUMBER[row.tensor_map] for row in ELEMENT_TYPES if row.name not in ELEMENTS}
_AS_BITS["b6p2x16"] = "b6x16_p32"  # a store of b6p2x16 elements needs a tensor map of b6x16_p32
_SWIZZLE_NAMES = {
    **{name: (number, 0) for number, name in enumerate(SWIZZLES)},
    **{SWIZZLES[-1] + atom: (len(SWIZZLES) - 1, number) for number, atom in enumerate(ATOMS)},
}


@dataclass(frozen=True, slots=True)
class Record:
    """Fields of a tensor map; tuples have the innermost dimension first, and one entry for each possible dimension.

    `columns`: im2col mode, in which `box` is unused; otherwise `lower`, `upper`, `channels` and `pixels` are unused.
    `invalid` are the fields without a value, or with a value that does not fit the field.
    """

    rank: int
    element: int
    swizzle: int
    atom: int
    interleave: int
    fill: int
    columns: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    promotion: int = 0
    invalid: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """PTX type of the elements."""
        return ELEMENTS[self.element]

    @property
    def packing(self) -> Packing | None:
        """Packing of elements narrower than a byte; None for other elements."""
        return PACKINGS.get(self.type)

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 for packed elements."""
        return _itemsize(self.type)

    def in_bytes(self) -> Record:
        """Return the map with packed elements counted in bytes."""
        packing = self.packing
        if packing is None:
            return self
        extents, box = ((packing.bytes(each[0]), *each[1:]) for each in (self.extents, self.box))
        channels = packing.bytes(self.channels)
        return replace(self, element=0, extents=extents, box=box, strides=(1, *self.strides[1:]), channels=channels)

    @property
    def swizzle_name(self) -> str:
        """Name of the swizzle mode, as in `TensorMap`."""
        return SWIZZLES[self.swizzle] + ATOMS[self.atom]

    @property
    def slice_bytes(self) -> int:
        """Bytes of one channel slice of an interleaved tensor; 0 without interleave."""
        return _SLICE_BYTES[self.interleave]

    def pack(self) -> bytes:
        """Return the tensor map as 128 bytes."""
        bits = 0
        for name, ordinal, value in self._values():
            bits = FIELDS[name, ordinal].write(bits, value)
        own = Own(0, self.columns, self.promotion, self.lower, self.upper, self.channels, self.pixels)
        return joined(bits, own)

    def _values(self) -> Iterator[tuple[str, int, int]]:
        yield "global_address", 0, self.address
        yield "rank", 0, self.rank - 1
        yield "elemtype", 0, ELEMENT_CODES[self.element]
        yield "interleave_layout", 0, self.interleave
        yield "swizzle_mode", 0, self.swizzle
        yield "swizzle_atomicity", 0, self.atom
        yield "fill_mode", 0, self.fill
        for name, values in (("global_dim", self.extents), ("box_dim", self.box), ("element_stride", self.steps)):
            yield from ((name, ordinal, value) for ordinal, value in enumerate(values))
        yield from (("global_stride", ordinal, value) for ordinal, value in enumerate(self.strides[1:]))

    def fault(self) -> tuple[str, str] | None:
        """Return the fault of an invalid map, and the remedy; None for a valid map."""
        return next(((message, help) for wrong, message, help in self._rules() if wrong), None)

    def _rules(self) -> Iterator[tuple[bool, str, str]]:
        yield (
            bool(self.invalid),
            f"no valid value for {', '.join(self.invalid)}",
            "set each field of the tensor map to a valid value",
        )
        modes = (self.element, ELEMENTS), (self.swizzle, SWIZZLES), (self.atom, ATOMS), (self.interleave, INTERLEAVES)
        unknown = any(value >= len(known) for value, known in modes)
        yield unknown, "element type, swizzle or interleave is not simulated", "use the values of sm_90"
        least = 3 if self.columns or self.interleave else 1
        wrong = not least <= self.rank <= RANKS
        yield wrong, f"rank {self.rank}, must be {least} to {RANKS}", _HELP_RANK
        packing = self.packing
        padded = packing is not None and packing.padded
        unit = 32 if padded or self.interleave == INTERLEAVES.index("32B") else 16
        strides, steps = self.strides[1 : self.rank], self.steps[: self.rank]
        extents = self.extents[: self.rank]
        wrong = not all(0 < extent < _EXTENTS_END for extent in extents)
        yield wrong, f"shape {extents[::-1]}, extents must be 1 to 2^32", "pass the extents of the tensor"
        wrong = any(step % unit or step >= _STRIDES_END for step in strides)
        message = f"strides {strides[::-1]}, must be multiples of {unit} bytes below 2^40"
        yield wrong, message, f"pad the rows of the tensor to multiples of {unit} bytes"
        message = f"address {self.address:#x}, must be a multiple of {unit}"
        yield self.address % unit != 0, message, f"align the tensor to {unit} bytes"
        wrong = not all(1 <= step <= _MOST_STEP for step in steps) or steps[0] != 1
        message = f"element strides {steps[::-1]}, must be 1 to {_MOST_STEP}, the innermost 1"
        yield wrong, message, "describe a larger distance by the tensor's strides"
        wrong = bool(self.atom) and self.swizzle != SWIZZLES.index("128B")
        yield wrong, f"swizzle {self.swizzle_name}: atoms over 16 bytes need 128B", "use swizzle 128B"
        nan = self.fill == FILLS.index("nan") and (packing is not None or self.type[0] in "us")
        yield nan, f"fill nan for elements of .{self.type}, needs a floating-point type", "use fill zeros"
        yield from self._column_rules() if self.columns else self._box_rules()
        if packing is not None:
            yield from self._packed_rules(packing)
        yield from self._row_rules()

    def _packed_rules(self, packing: Packing) -> Iterator[tuple[bool, str, str]]:
        """Yield validity rules for packed elements. CUDA driver API: cuTensorMapEncodeTiled, "packed data types"."""
        step, what = packing.step, f"elements of .{self.type}"
        message = f"innermost extent of {self.extents[0]} {what}, must be a multiple of {step}"
        yield self.extents[0] % step != 0, message, "pad the innermost dimension"
        if not packing.padded:
            return
        inner = self.channels if self.columns else self.box[0]
        message = f"box rows of {inner} {what}, must be {_PADDED_BOX}"
        yield inner != _PADDED_BOX, message, f"copy {_PADDED_BOX} elements per row"
        message = f"swizzle {self.swizzle_name} of {what}, must be {', '.join(_PADDED_SWIZZLES)}"
        yield self.swizzle_name not in _PADDED_SWIZZLES, message, "use swizzle none or 128B"

    def _box_rules(self) -> Iterator[tuple[bool, str, str]]:
        box = self.box[: self.rank]
        message = f"box {box[::-1]}, extents must be 1 to 256"
        yield not all(1 <= extent <= 256 for extent in box), message, "copy the tile as several boxes"

    def _column_rules(self) -> Iterator[tuple[bool, str, str]]:
        help = "copy the tile with several im2col copies"
        message = f"{self.channels} channels per pixel, must be 1 to {_MOST_CHANNELS}"
        yield not 1 <= self.channels <= _MOST_CHANNELS, message, help
        message = f"{self.pixels} pixels per column, must be 1 to {_MOST_PIXELS}"
        yield not 1 <= self.pixels <= _MOST_PIXELS, message, help
        corners = (*self.lower[: self.rank - 2], *self.upper[: self.rank - 2])
        bound = _CORNERS_END.get(self.rank, 0)
        beyond = not all(-bound <= offset < bound for offset in corners)
        message = f"corners {corners[::-1]}, must be {-bound} to {bound - 1} for rank {self.rank}"
        yield beyond, message, "use a tensor of lower rank for larger offsets"
        spatial = range(self.rank - 2)
        empty = any(self.extents[axis + 1] + self.upper[axis] <= self.lower[axis] for axis in spatial)
        message = "corners leave no pixel: lower must be less than extent + upper"
        yield empty, message, "choose corners with at least one pixel between them"

    def _row_rules(self) -> Iterator[tuple[bool, str, str]]:
        """Yield validity rules for contiguous runs in shared memory: innermost box extent, or channels of a pixel."""
        count, packing = (self.channels if self.columns else self.box[0]), self.packing
        inner = count * self.itemsize if packing is None else packing.bytes(count) * packing.room // packing.dense
        message = f"{inner}-byte box rows, must be a multiple of 16"
        yield inner % 16 != 0, message, "make the innermost box extent a multiple of 16 bytes"
        if self.interleave:
            needs = self.interleave == INTERLEAVES.index("32B") and self.swizzle_name != "32B"
            yield needs, f"swizzle {self.swizzle_name} with interleave 32B, must be 32B", "use swizzle 32B"
            # The manual does not define the shared memory layout of a box with several interleave slices.
            one = inner == self.slice_bytes
            yield (
                not one,
                f"boxes with {inner} bytes of channels are not simulated: several interleave slices",
                f"copy one interleave slice per instruction: {self.slice_bytes} bytes of channels",
            )
            return
        span = _SWIZZLE_BYTES[self.swizzle]
        along = f"{inner}-byte box rows with swizzle {self.swizzle_name}"
        yield inner > span > 0, f"{along}, must be at most {span}", "split the box along the innermost dimension"
        # The manual does not define the layout of box rows narrower than the swizzle.
        yield (
            inner < span,
            f"{along} are not simulated",
            f"use a box of {span} bytes, or a narrower swizzle",
        )


def unpack(data: bytes) -> Record | None:
    """Return the fields of the tensor map in `data`; None if `data` is not a tensor map."""
    found = halves(data)
    if found is None:
        return None
    bits, own = found

    def one(name: str) -> int:
        return FIELDS[name, 0].read(bits)

    def each(name: str, count: int = RANKS) -> tuple[int, ...]:
        return tuple(FIELDS[name, ordinal].read(bits) for ordinal in range(count))

    code, rank, address = one("elemtype"), one("rank") + 1, one("global_address")
    element = ELEMENT_CODES.index(code) if code in ELEMENT_CODES else len(ELEMENTS)
    pitch = _itemsize(ELEMENTS[element]) if element < len(ELEMENTS) else 0
    return Record(
        rank=rank,
        element=element,
        swizzle=one("swizzle_mode"),
        atom=one("swizzle_atomicity"),
        interleave=one("interleave_layout"),
        fill=one("fill_mode"),
        columns=own.columns,
        address=address - (address >> 63 << 64),
        extents=each("global_dim"),
        strides=(pitch, *each("global_stride", RANKS - 1)),
        box=each("box_dim"),
        steps=each("element_stride"),
        lower=own.lower,
        upper=own.upper,
        channels=own.channels,
        pixels=own.pixels,
        promotion=own.promotion,
        invalid=tuple(invalid_fields(own, rank)),
    )


def _itemsize(element: str) -> int:
    return 1 if element in PACKINGS else int(dtype_of(element.partition(".")[0]).itemsize)


def encode(described: TensorMap, address: int) -> bytes:
    """Return the 128 bytes of the map of a tensor at `address`; raise LaunchError for a map that no driver encodes."""
    element = _AS_BITS.get(described.dtype, described.dtype)
    for word, known, what in (
        (element, ELEMENTS, "element type"),
        (described.swizzle, tuple(_SWIZZLE_NAMES), "swizzle"),
        (described.interleave, INTERLEAVES, "interleave"),
        (described.fill, FILLS, "fill"),
        (described.l2_promotion, L2_PROMOTIONS, "L2 promotion"),
    ):
        if word not in known:
            raise LaunchError(f"unknown {what} {word!r} of a tensor map", help=f"use one of {', '.join(known)}")
    if not 1 <= len(described.shape) <= RANKS:
        message = f"invalid tensor map: rank {len(described.shape)}, must be 1 to {RANKS}"
        raise LaunchError(message, help=_HELP_RANK)
    record = _record(described, element, address)
    fault = record.fault()
    if fault is not None:
        raise LaunchError(f"invalid tensor map: {fault[0]}", help=fault[1])
    return record.pack()


def _record(described: TensorMap, element: str, address: int) -> Record:
    columns = described.im2col
    swizzle, atom = _SWIZZLE_NAMES[described.swizzle]
    return Record(
        rank=len(described.shape),
        element=ELEMENTS.index(element),
        swizzle=swizzle,
        atom=atom,
        interleave=INTERLEAVES.index(described.interleave),
        fill=FILLS.index(described.fill),
        columns=columns is not None,
        address=address,
        extents=_padded(described.shape, 1),
        strides=_padded(described.strides, 0),
        box=_padded(described.box, 1),
        steps=_padded(described.element_strides, 1),
        lower=_padded(columns.lower if columns else (), 0, SPATIAL),
        upper=_padded(columns.upper if columns else (), 0, SPATIAL),
        channels=columns.channels if columns else 0,
        pixels=columns.pixels if columns else 0,
        promotion=L2_PROMOTIONS.index(described.l2_promotion),
    )


def _padded(values: tuple[int, ...], blank: int, count: int = RANKS) -> tuple[int, ...]:
    """Return values in reverse order (innermost first), padded to `count`."""
    return (*reversed(values), *[blank] * (count - len(values)))
