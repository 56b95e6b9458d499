"""Where the elements of a matrix in shared memory lie, and reading many of them at once.

Sixteen bytes along the contiguous dimension always stay together: they are what is looked up, and what a swizzle moves.
Manual: "Shared Memory Matrix Layout", "Canonical Layouts".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.operation import Array

    IntArray = NDArray[np.int64]

CHUNK = 16
"""Bytes that lie together."""
_CORE = 8  # rows (or, of an MN-major matrix, places along K) of a core matrix
_ROW = 128  # bytes after which a swizzle's pattern goes on to its next row
_PERIOD = 1024  # bytes after which every pattern repeats


Major: TypeAlias = Literal["K", "MN"]
"""The dimension along which the elements of a matrix lie side by side."""


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """A matrix in shared memory as a descriptor tells of it; all numbers are bytes.

    `leading` and `stride` are the leading and the stride dimension byte offset. `swizzle` is the width of its atom:
    128, 64 or 32, or 16 without a swizzle. `base` is the row of the swizzle's pattern that counts as its first. `atom`
    is what a swizzle moves as one. `second`: of a K-major matrix, where the part of its rows begins that does not fit
    in the atoms of the first ones, an address of its own.
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
    """How much of a matrix is read: `mn` rows or columns and `k` along K, of elements of `bits` bits."""

    mn: int
    k: int
    bits: int
    major: Major


Located: TypeAlias = tuple[SharedMatrix, int]
"""A matrix, and where the shared memory of its block begins in the arena."""


@lru_cache(maxsize=512)
def places(matrix: SharedMatrix, extent: Extent) -> IntArray:
    """Return the address of each 16 bytes in a block's shared memory: `[mn, along K]`, or `[k, along M or N]`."""
    phase = matrix.start % _PERIOD
    pattern = matrix.swizzle, matrix.base, matrix.atom
    first = _places(matrix.leading, matrix.stride, pattern, phase, extent) + (matrix.start - phase)
    if matrix.second is None:
        return first
    inside = (matrix.start % _ROW + np.arange(first.shape[1]) * CHUNK) // _ROW == 0
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
    return linear ^ ((linear // _ROW - base) % (swizzle // atom)) * atom if swizzle > CHUNK else linear


def gather(arena: Arena, matrices: Sequence[Located], extent: Extent, dtype: np.dtype[np.generic]) -> Array:
    """Return the elements of some matrices, each in its block.

    `[matrices, mn, k]`, as elements of `dtype`.
    """
    index = offsets(matrices, extent) // CHUNK
    elements = arena.chunks(index).view(dtype).reshape(len(matrices), index.shape[1], -1)
    return elements if extent.major == "K" else elements.swapaxes(1, 2)


def offsets(matrices: Sequence[Located], extent: Extent) -> IntArray:
    """Return the offset in the arena of each 16 bytes of some matrices, `[matrices, …]`."""
    inside, which, blocks = _distinct(matrices)
    found: IntArray = _all_places(inside, extent)[which] + blocks[:, None, None]
    return found


def pieces(matrices: Sequence[Located], extent: Extent) -> tuple[IntArray, int]:
    """Return the offset in the arena of each piece of some matrices, `[matrices, pieces]`, and the bytes of a piece.

    Pieces are as wide as they can be: swizzles leave more together than the 16 bytes that they move.
    """
    inside, which, blocks = _distinct(matrices)
    found, size = _all_pieces(inside, extent)
    return found[which] + blocks[:, None], size


def _distinct(matrices: Sequence[Located]) -> tuple[tuple[SharedMatrix, ...], IntArray, IntArray]:
    """Return the different matrices, which of them each is, and where its block begins."""
    blocks = np.array([block for _, block in matrices], np.int64)
    one = matrices[0][0]
    if all(matrix is one for matrix, _ in matrices):  # which spares hashing them
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
