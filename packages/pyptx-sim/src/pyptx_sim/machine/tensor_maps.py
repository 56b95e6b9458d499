"""Tensor maps: what a TMA descriptor says, and which elements a box of it names.

A map lies in memory as 128 bytes of our own layout: the driver's is opaque, and programs may only copy it or change it
with `tensormap.replace`. Manual: "Tensors", "Swizzling Modes"; CUDA driver API: "Tensor Map Object Management".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from pyptx_sim.errors import LaunchError
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import TensorMap
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.types import DType

SIZE = 128
ALIGNMENT = 64
_MAGIC = b"TMAP"
_RANKS = 5
# Magic, rank, element type, swizzle, fill; address; extents, strides, box and element strides, the innermost first.
_LAYOUT = struct.Struct(f"<4s4BQ{_RANKS}I{_RANKS}Q{_RANKS}H{_RANKS}B")

TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "tf32", "s8", "s16", "b8", "b16", "b32",
         "b64", "e4m3", "e5m2")  # fmt: skip
# Of each swizzle, the groups of address bits that change: (how many, from which bit, by the bits from which on).
SWIZZLES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "none": (),
    "32B": ((1, 4, 7),),
    "64B": ((2, 4, 7),),
    "128B": ((3, 4, 7),),
    "128B_atom_32B": ((2, 5, 7),),
    "128B_atom_32B_flip_8B": ((2, 5, 7), (1, 3, 7)),
    "128B_atom_64B": ((1, 6, 7),),
}
_SWIZZLE_NAMES = tuple(SWIZZLES)
_FILLS = ("zeros", "nan")
_NANS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}


def encode(described: TensorMap, address: int) -> bytes:
    """Return the bytes of a map of a tensor at `address`; LaunchError for one that no driver encodes."""
    _check(described)

    def padded(values: tuple[int, ...], blank: int) -> tuple[int, ...]:
        return (*reversed(values), *[blank] * (_RANKS - len(values)))

    head = (len(described.shape), TYPES.index(described.dtype))
    modes = (_SWIZZLE_NAMES.index(described.swizzle), _FILLS.index(described.fill))
    numbers = (
        *padded(described.shape, 1),
        *padded(described.strides, 0),
        *padded(described.box, 1),
        *padded(described.element_strides, 1),
    )
    return _LAYOUT.pack(_MAGIC, *head, *modes, address, *numbers).ljust(SIZE, b"\0")


def _check(described: TensorMap) -> None:
    inner = described.box[-1] * dtype_of(described.dtype).itemsize
    span = int(described.swizzle.partition("B")[0]) if described.swizzle != "none" else inner
    for wrong, message, hint in (
        (described.dtype not in TYPES, f"elements of .{described.dtype}", "use a type that tensor maps have"),
        (described.interleave != "none", f"interleave {described.interleave}", "the simulator has none"),
        (described.swizzle not in SWIZZLES, f"swizzle {described.swizzle}", f"one of {', '.join(SWIZZLES)}"),
        (not 1 <= len(described.shape) <= _RANKS, f"rank {len(described.shape)}", "it must be from 1 to 5"),
        (not all(1 <= extent <= 256 for extent in described.box), f"box {described.box}", "at most 256 each"),
        (inner % 16 != 0, f"{inner} bytes along the innermost box", "it must be a multiple of 16"),
        (inner > span, f"{inner} bytes along a box with swizzle {described.swizzle}", f"at most {span} fit"),
        (any(step % 16 for step in described.strides[:-1]), f"strides {described.strides}", "multiples of 16 bytes"),
    ):
        if wrong:
            raise LaunchError(f"no tensor map has {message}", hint=hint)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A map read back; every tuple has the innermost dimension first."""

    dtype: DType
    swizzle: str
    nan: int | None
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def rank(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.extents)

    @property
    def shape(self) -> tuple[int, ...]:
        """The elements of a box in shared memory, the innermost dimension first."""
        return tuple(-(-extent // step) for extent, step in zip(self.box, self.steps, strict=True))

    @property
    def bytes(self) -> int:
        """How many bytes a box has in shared memory, those out of bounds included."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def fill(self) -> Array:
        """What stands for elements out of bounds."""
        size = self.dtype.itemsize
        return np.frombuffer((self.nan or 0).to_bytes(size, "little"), self.dtype)

    def global_elements(self, corner: tuple[int, ...]) -> tuple[IntArray, Mask]:
        """Return the address of each element of the box at `corner`, innermost fastest, and which are in bounds."""
        address = np.full((1,) * self.rank, self.address, np.int64)
        inside = np.ones((1,) * self.rank, np.bool_)
        for axis in range(self.rank):
            place = corner[axis] + np.arange(self.shape[axis], dtype=np.int64) * self.steps[axis]
            form = (1,) * (self.rank - 1 - axis) + (-1,) + (1,) * axis
            address = address + (place * self.strides[axis]).reshape(form)
            inside = inside & ((place >= 0) & (place < self.extents[axis])).reshape(form)
        return address.reshape(-1), inside.reshape(-1)

    def shared_offsets(self, start: int) -> IntArray:
        """Return the address of each element of a box at `start` in a block's shared memory."""
        period = 1024  # every swizzle repeats within it
        return _swizzled(self.swizzle, self.bytes, self.dtype.itemsize, start % period) + (start - start % period)


@lru_cache(maxsize=256)
def _swizzled(swizzle: str, size: int, step: int, start: int) -> IntArray:
    offsets = np.arange(start, start + size, step, dtype=np.int64)
    moved = offsets
    for bits, low, high in SWIZZLES[swizzle]:
        moved = moved ^ (((offsets >> high) & ((1 << bits) - 1)) << low)
    moved.flags.writeable = False
    return moved


@lru_cache(maxsize=256)
def decode(data: bytes) -> Descriptor | None:
    """Return the map that lies in memory as `data`, or None if it is none."""
    fields = cast("tuple[bytes, *tuple[int, ...]]", _LAYOUT.unpack_from(data))
    if fields[0] != _MAGIC:
        return None
    rank, dtype, swizzle, fill, address, *numbers = fields[1:]
    extents, strides, box, steps = (tuple(numbers[start : start + rank]) for start in range(0, 4 * _RANKS, _RANKS))
    nan = _NANS.get(TYPES[dtype]) if _FILLS[fill] == "nan" else None
    bits = np.dtype(f"<u{dtype_of(TYPES[dtype]).itemsize}")
    return Descriptor(bits, _SWIZZLE_NAMES[swizzle], nan, address, extents, strides, box, steps)


def type_of(data: bytes) -> str:
    """Return the element type of a map in memory."""
    return TYPES[data[5]]
