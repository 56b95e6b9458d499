"""TMA copies whose results are recorded on hardware: every swizzle, past the edges, and converting types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Swizzle: bytes per box row, and mask of the address bits, from bit 7 on, that are XORed into bits 4 to 6.
SWIZZLES = {"none": (64, 0), "32B": (32, 1), "64B": (64, 3), "128B": (128, 7)}
# By PTX element type: NumPy type of the same width. Copies of tf32 and of the flushing types convert the elements.
KINDS = {
    "u8": "u1", "u16": "u2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
    "f16": "u2", "bf16": "u2", "f32": "u4", "f64": "u8",
}  # fmt: skip
CONVERTING = ("tf32", "f32.ftz", "tf32.ftz")
# f32 patterns: subnormals, the smallest normal number, numbers whose last bits decide the rounding to tf32.
EDGES = (0x1, 0x7FFFFF, 0x80000001, 0x800000, 0x3F800FFF, 0x3F801000, 0x3F803000, 0)


@dataclass(frozen=True, slots=True)
class Copy:
    """A matrix copied box by box: type and options of its tensor map; `name` names the result in the golden file."""

    name: str
    kind: str
    array: np.ndarray
    box: tuple[int, int]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def grid(self) -> tuple[int, int]:
        """Number of boxes along a row and along a column: the grid has one CTA per box."""
        (rows, columns), (height, width) = self.array.shape, self.box
        return -(-columns // width), -(-rows // height)

    def empty(self) -> np.ndarray:
        """Return an uninitialized output array for the bytes of each box."""
        across, down = self.grid
        return np.full((across * down, self.box[0] * self.box[1] * self.array.itemsize), 0xEE, np.uint8)


def noise(shape: tuple[int, ...], kind: str, seed: int = 0) -> np.ndarray:
    """Return a matrix of random bits, finite as floats."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 128, size=(*shape, np.dtype(kind).itemsize), dtype=np.uint8)
    raw[..., -1] &= 0x3F  # clears an exponent bit, so that every number is finite
    return raw.view(kind)[..., 0]


def specials() -> np.ndarray:
    """Return f32 subnormals of every magnitude, infinities and NaNs, with both signs."""
    subnormal = np.array([(1 << bits) + low for bits in range(23) for low in (0, 1 << max(bits - 1, 0))], np.uint32)
    endless = np.array([0x7F800000, 0x7F800001, 0x7F801000, 0x7FC00000, 0x7FFFFFFF, 0x7F7FFFFF], np.uint32)
    some = np.concatenate([subnormal, endless])
    return np.resize(np.concatenate([some, some | np.uint32(1 << 31)]), (32, 32))


def every_copy() -> Iterator[Copy]:
    """Yield the TMA copies whose results on hardware are recorded."""
    for swizzle, (row, _) in SWIZZLES.items():
        array = np.arange(64 * row // 4, dtype=np.uint32).reshape(64, row // 4)
        yield Copy(f"tensor_map.swizzle.{swizzle}", "u32", array, (32, row // 4), {"swizzle": swizzle})
    for kind in ("f32", "f16", "bf16"):
        for fill in ("zeros", "nan"):
            yield Copy(f"tensor_map.fill.{fill}.{kind}", kind, noise((20, 24), KINDS[kind]), (16, 16), {"fill": fill})
    for kind in CONVERTING:
        array = np.random.default_rng(3).standard_normal((32, 32)).astype(np.float32)
        array[0, : len(EDGES)] = np.array(EDGES, np.uint32).view(np.float32)
        yield Copy(f"tensor_map.convert.{kind}", kind, array, (32, 32))
        yield Copy(f"tensor_map.special.{kind}", kind, specials(), (32, 32))


COPIES = {each.name: each for each in every_copy()}
