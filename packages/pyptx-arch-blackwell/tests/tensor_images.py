"""Model of matrices from the manual: element codes, rows as bytes, addresses in shared and tensor memory.

Does not use the package. Values are those of ml_dtypes, layouts are the manual's tables and CuTe's canonical layouts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["DTYPES", "Layout", "Tiles", "codes_of", "element_bits", "numbers", "place_of_sum", "row_bytes", "rows_of_a"]

DTYPES: Final = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e2m3": np.dtype(ml_dtypes.float6_e2m3fn),
    "e3m2": np.dtype(ml_dtypes.float6_e3m2fn),
    "e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "f32": np.dtype(np.float32),
    "s32": np.dtype(np.int32),
    "ue8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "ue4m3": np.dtype(ml_dtypes.float8_e4m3fn),
}
_NARROW: Final = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
_CHUNK: Final = 16
_TF32: Final = np.uint32(0xFFFFE000)


def element_bits(element: str) -> int:
    """Return the width of an element type in bits."""
    return _NARROW.get(element, 8 * DTYPES[element].itemsize)


def codes_of(rng: np.random.Generator, element: str, shape: tuple[int, ...], spread: int = 0) -> Array:
    """Return random elements as unsigned codes; floats are normal numbers scaled by 2^-`spread` to 2^`spread`."""
    dtype = DTYPES[element]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if dtype.kind in "iu":
        return rng.integers(0, 256, shape).astype(unsigned)
    drawn = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    most = float(ml_dtypes.finfo(dtype).max)
    found = np.clip(drawn, -most, most).astype(dtype).view(unsigned)
    return found & _TF32 if element == "tf32" else found


def numbers(codes: Array, element: str) -> Array:
    """Return the numbers that element bit patterns encode."""
    return codes.view(DTYPES[element]).astype(np.float64)


# --- packing --------------------------------------------------------------------------------------------------------


def row_bytes(rng: np.random.Generator, codes: Array, element: str, room: int, *, tensor: bool = False) -> Array:
    """Return rows of element codes as bytes, `room` bits per element; unused bits are random.

    4- and 6-bit elements with `room` 8: in tensor memory one element per byte; in shared memory 16 packed elements at
    the start of each 16 bytes.
    """
    width = element_bits(element)
    rows, count = codes.shape
    if width == room:
        if width == 4:
            return (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
        return np.ascontiguousarray(codes).view(np.uint8)
    assert room == 8
    if tensor:
        low = 2 if width == 4 else 0
        mask = ((1 << width) - 1) << low
        return (codes.astype(np.uint8) << low | rng.integers(0, 256, codes.shape) & ~mask & 0xFF).astype(np.uint8)
    bits = codes[..., None] >> np.arange(width).astype(codes.dtype) & 1
    packed = np.packbits(bits.reshape(rows, count // _CHUNK, -1), axis=-1, bitorder="little")
    found = rng.integers(0, 256, (rows, count // _CHUNK, _CHUNK)).astype(np.uint8)
    found[..., : 2 * width] = packed
    return found.reshape(rows, count)


# --- shared memory --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Layout of a matrix in shared memory; `swizzle` is 0, 32, 64 or 128 bytes, `atom` its atomicity in bytes.

    `gap` enlarges strides beyond the minimum. `skip` is the byte of the (wider) tile row at which the matrix begins.
    `base` is the first row of the matrix in the swizzle atom. With `split`, chunks past the end of the tile row are in
    a second tile, whose absolute address is the leading dimension field.
    """

    major: str = "K"
    swizzle: int = 0
    atom: int = 16
    gap: int = 0
    skip: int = 0
    base: int = 0
    split: bool = False

    def __str__(self) -> str:
        further = "".join(f"-{name}{value}" for name, value in (("atom", self.atom - 16), ("gap", self.gap),
                                                                ("skip", self.skip), ("base", self.base),
                                                                ("split", int(self.split))) if value)  # fmt: skip
        return f"{self.major}{self.swizzle}{further}"

    def strides(self, rows: int, chunks: int) -> tuple[int, int]:
        """Return the leading and the stride dimension byte offset of a matrix with `chunks` 16-byte chunks per row."""
        group = self._core * (self.swizzle or _CHUNK) + self.gap
        groups = group * -(-rows // self._core)
        if self.swizzle:
            return (_CHUNK if self.major == "K" else groups), group
        return groups if self.major == "K" else group * chunks, group

    @property
    def _core(self) -> int:
        return 4 if self.atom == 32 else 8

    def addresses(self, rows: int, chunks: int) -> Array:
        """Return the offset of each 16-byte chunk from the start of the tile, row by row; an MN-major row is one k.

        Manual: "Canonical Layouts", in 128-bit elements: K-major ((8,m),(1,2k)), MN-major ((w,m),(8,k)).
        """
        leading, stride = self.strides(rows, chunks)
        row, chunk = np.arange(rows)[:, None], np.arange(chunks)[None, :]
        width, core = self.swizzle or _CHUNK, self._core
        if self.major == "K":
            # The manual's K-major layout with swizzle is ((8,m),(T,2k)):((wT,SBO),(1,LBO)). Without swizzle, w = 1 and
            # the second stride is (1,T).
            linear = row % core * width + row // core * stride + chunk * (_CHUNK if self.swizzle else leading)
        elif self.swizzle:
            # The manual's MN-major layout with swizzle, ((T,w,m),(8,k)):((1,T,LBO),(wT,SBO)).
            across = width // _CHUNK
            linear = row % core * width + row // core * stride + chunk % across * _CHUNK + chunk // across * leading
        else:
            # The manual's MN-major layout without swizzle, ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)).
            linear = row % core * width + row // core * leading + chunk * stride
        linear = linear + self.skip
        if not self.swizzle:
            return linear
        bits, low = (2, 5) if self.atom == 32 else ({32: 1, 64: 2, 128: 3}[self.swizzle], 4)
        return linear ^ (linear >> 7 & (1 << bits) - 1) << low

    def mode(self) -> int:
        """Return the descriptor code of the swizzling mode."""
        return 1 if self.atom == 32 else {0: 0, 128: 2, 64: 4, 32: 6}[self.swizzle]


@dataclass
class Tiles:
    """Shared memory image of one CTA; `put` adds a matrix."""

    data: Array = field(default_factory=lambda: np.zeros(0, np.uint8))

    def put(self, matrix: Array, layout: Layout) -> int:
        """Append a matrix, given as byte rows along its major dimension, to the image; return the matrix descriptor."""
        rows, width = matrix.shape
        fits = (128 - layout.skip) // _CHUNK if layout.split else width // _CHUNK
        first = self._place(matrix[:, : fits * _CHUNK], layout)
        leading, stride = layout.strides(rows, width // _CHUNK)
        if layout.split:
            leading = self._place(matrix[:, fits * _CHUNK :], replace(layout, skip=0))
        fields = (first >> 4, leading >> 4 << 16, stride >> 4 << 32, 1 << 46, layout.base << 49, layout.split << 52,
                  layout.mode() << 61)  # fmt: skip
        return sum(fields)

    def _place(self, matrix: Array, layout: Layout) -> int:
        rows, width = matrix.shape
        where = layout.addresses(rows, width // _CHUNK)
        start = -(-len(self.data) // 1024) * 1024 + 128 * layout.base
        missing = start + int(where.max()) + _CHUNK - len(self.data)
        self.data = np.pad(self.data, (0, max(missing, 0)))
        self.data[start + where[..., None] + np.arange(_CHUNK)] = matrix.reshape(rows, -1, _CHUNK)
        return start + layout.skip


# --- tensor memory --------------------------------------------------------------------------------------------------


def place_of_sum(
    m: int, n: int, *, blocks: int = 1, sparse: bool = False, ws: bool = False
) -> tuple[Array, Array, Array]:
    """Return the CTA, the lane and the column of each element of D, `[m, n]`. Manual: layouts A to G."""
    row, column = np.indices((m, n))
    match (m, blocks, sparse, ws):
        case (256, 2, _, False):  # manual's layout A: each CTA of the pair holds half of D's rows, one per lane
            return row // 128, row % 128, column
        case (128, 2, False, False):  # manual's layout B: half of D's rows per CTA; the upper columns in lanes 64-127
            return row // 64, row % 64 + 64 * (column // (n // 2)), column % (n // 2)
        case (128, 2, True, False):  # manual's layout C: each CTA has half of D's rows, in 16 lanes per lane quarter
            return row // 64, row % 64 // 16 * 32 + row % 16, column
        case (128, 1, _, _):  # manual's layout D: one lane per row of D
            return 0 * row, row, column
        case (64, 1, _, True):  # manual's layout E: the second half of D's columns in lanes 64-127
            return 0 * row, row + 64 * (column // (n // 2)), column % (n // 2)
        case (64, 1, _, False):  # manual's layout F: D uses 16 lanes of each lane quarter
            return 0 * row, row // 16 * 32 + row % 16, column
        case (32, 1, _, True):  # manual's layout G: a quarter of D's columns per lane quarter
            return 0 * row, row + 32 * (column // (n // 4)), column % (n // 4)
    raise ValueError("no such layout")


def rows_of_a(m: int, *, blocks: int = 1, sparse: bool = False, ws: bool = False) -> Array:
    """Return the row of A in each lane of each CTA, `[blocks, 128]`: the row of D in this lane, or -1 for none."""
    block, lane, _ = place_of_sum(m, 8, blocks=blocks, sparse=sparse, ws=ws)
    found = np.full((blocks, 128), -1)
    found[block, lane] = np.arange(m)[:, None]
    return found
