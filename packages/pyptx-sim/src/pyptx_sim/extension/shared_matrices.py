"""Addresses of the elements of a matrix in shared memory, and batched reads of matrices.

Sixteen bytes along the contiguous dimension are always contiguous: they are the unit of addressing and of swizzling.
Manual: "Shared Memory Matrix Layout", "Canonical Layouts".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.operation import Array

    IntArray = NDArray[np.int64]

CHUNK = 16
"""Number of bytes along the contiguous dimension that a swizzle never separates."""
_CORE = 8  # number of rows of a core matrix (positions along K if it is MN-major)
ROW_BYTES: Final = 128
"""Number of bytes after which a swizzle pattern advances to its next row."""
_PERIOD = 1024  # bytes after which every swizzle pattern repeats


Major: TypeAlias = Literal["K", "MN"]
"""Dimension along which the elements of a matrix are contiguous."""


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """Matrix in shared memory as specified by a matrix descriptor; addresses and sizes are in bytes.

    `leading` and `stride` are the leading and the stride dimension byte offset. `swizzle` is the width of its atom:
    128, 64 or 32, or 16 without a swizzle. `base` is the index of the 128-byte row at which the swizzle pattern starts.
    `atom` is the number of bytes that a swizzle moves together. `second`, for a K-major matrix, is the address of the
    part of each row that exceeds the first 128 bytes.

    Manual: "Strides", "Matrix Descriptor Format"; "Leading dimension stride: … absolute address".
    """

    start: int
    leading: int
    stride: int
    swizzle: int
    base: int = 0
    atom: int = CHUNK
    second: int | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """Part of a matrix that an MMA reads: `mn` elements along M or N and `k` elements along K, of `bits` bits each."""

    mn: int
    k: int
    bits: int
    major: Major


Located: TypeAlias = tuple[SharedMatrix, int]
"""A matrix, and the offset of its CTA's shared memory in the arena (shared memory of all CTAs that run together)."""


@lru_cache(maxsize=512)
def places(matrix: SharedMatrix, extent: Extent) -> IntArray:
    """Return the shared memory address of each 16 bytes: `[mn, 16 bytes along K]`, or `[k, 16 bytes along M or N]`."""
    phase = matrix.start % _PERIOD
    pattern = matrix.swizzle, matrix.base, matrix.atom
    first = _places(matrix.leading, matrix.stride, pattern, phase, extent) + (matrix.start - phase)
    if matrix.second is None:
        return first
    inside = (matrix.start % ROW_BYTES + np.arange(first.shape[1]) * CHUNK) // ROW_BYTES == 0
    begin, fits = matrix.second % _PERIOD, int(np.count_nonzero(inside))
    rest = replace(extent, k=(first.shape[1] - fits) * CHUNK * 8 // extent.bits)
    behind = _places(matrix.leading, matrix.stride, pattern, begin, rest) + (matrix.second - begin)
    return np.concatenate([first[:, :fits], behind], axis=1)


@lru_cache(maxsize=256)
def _places(leading: int, stride: int, pattern: tuple[int, int, int], phase: int, extent: Extent) -> IntArray:
    swizzle, base, atom = pattern
    slow, fast = (extent.mn, extent.k) if extent.major == "K" else (extent.k, extent.mn)
    across = np.arange(slow, dtype=np.int64)[:, None]
    along = np.arange(-(-fast * extent.bits // (8 * CHUNK)), dtype=np.int64)
    rows = _CORE if extent.major == "K" or atom == CHUNK else _CORE * CHUNK // atom
    inside = across % rows * swizzle
    core = across // rows
    width = swizzle // CHUNK
    if extent.major == "K":
        step = CHUNK if swizzle > CHUNK else leading
        linear = phase + inside + core * stride + along * step
    elif swizzle > CHUNK:
        linear = phase + inside + core * stride + along % width * CHUNK + along // width * leading
    else:
        linear = phase + inside + core * leading + along * stride
    return linear ^ ((linear // ROW_BYTES - base) % (swizzle // atom)) * atom if swizzle > CHUNK else linear


def gather(arena: Arena, matrices: Sequence[Located], extent: Extent, dtype: np.dtype[np.generic]) -> Array:
    """Read matrices, each in the shared memory of its CTA: return their elements, `[matrices, mn, k]`."""
    index = offsets(matrices, extent) // CHUNK
    elements = arena.chunks(index).view(dtype).reshape(len(matrices), index.shape[1], -1)
    return elements if extent.major == "K" else elements.swapaxes(1, 2)


def offsets(matrices: Sequence[Located], extent: Extent) -> IntArray:
    """Return the offset of each 16 bytes of matrices in the arena, the shared memory of all CTAs that run together.

    The axes are `[matrices, …]`, then the axes of `places`.
    """
    inside, which, blocks = _distinct(matrices)
    found: IntArray = _all_places(inside, extent)[which] + blocks[:, None, None]
    return found


def pieces(matrices: Sequence[Located], extent: Extent) -> tuple[IntArray, int]:
    """Return the offsets of the contiguous pieces of matrices, `[matrices, pieces]`, and the bytes per piece.

    Offsets are in the arena, the shared memory of all CTAs that run together. Pieces are as large as possible: a
    swizzle may keep more than 16 bytes contiguous.
    """
    inside, which, blocks = _distinct(matrices)
    found, size = _all_pieces(inside, extent)
    return found[which] + blocks[:, None], size


def _distinct(matrices: Sequence[Located]) -> tuple[tuple[SharedMatrix, ...], IntArray, IntArray]:
    """Return the distinct matrices and, per given matrix, its index among these and its CTA's shared memory offset."""
    blocks = np.array([block for _, block in matrices], np.int64)
    one = matrices[0][0]
    if all(matrix is one for matrix, _ in matrices):  # all CTAs have one matrix object: no hashing
        return (one,), np.zeros(len(matrices), np.int64), blocks
    numbers: dict[SharedMatrix, int] = {}
    which = [numbers.setdefault(matrix, len(numbers)) for matrix, _ in matrices]
    return tuple(numbers), np.array(which), blocks


@lru_cache(maxsize=512)
def _all_places(matrices: tuple[SharedMatrix, ...], extent: Extent) -> IntArray:
    return np.stack([places(matrix, extent) for matrix in matrices])


@lru_cache(maxsize=512)
def _all_pieces(matrices: tuple[SharedMatrix, ...], extent: Extent) -> tuple[IntArray, int]:
    found, size = np.sort(_all_places(matrices, extent).reshape(len(matrices), -1), axis=1), CHUNK
    while found.shape[1] % 2 == 0 and not (found[:, ::2] % (2 * size)).any():
        if (found[:, 1::2] - found[:, ::2] != size).any():
            break
        found, size = found[:, ::2], 2 * size
    return found, size
