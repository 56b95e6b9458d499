"""Matrices out of the registers of warps, and back: the one place where fragments meet arrays.

Matrices are `[warps, products, rows, columns]`; a register is `[warps, 32]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.operation import Array

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment

Unpack: TypeAlias = Callable[[Sequence[Array]], Array]
Pack: TypeAlias = Callable[[Array], "tuple[Array, ...]"]

_WARP = 32


@cache
def unpacking(fragment: Fragment, *, transposed: bool = False) -> Unpack:
    """Return how registers of raw bits become the elements of a matrix, or those of its transpose.

    Elements come as the unsigned type of their width; those narrower than a byte as bytes.
    """
    index = _index(fragment)
    index = index.swapaxes(1, 2) if transposed else index
    shape, bits, packed = index.shape, fragment.bits, fragment.packed
    words = _whole_words(index.reshape(-1), packed)
    if words is not None:
        return lambda registers: split(_joined(registers).take(words, axis=1), bits).reshape(-1, *shape)
    flat = index.reshape(-1)
    return lambda registers: split(_joined(registers), bits).take(flat, axis=1).reshape(-1, *shape)


@cache
def packing(fragment: Fragment) -> Pack:
    """Return how a matrix of elements, each a byte wide or wider, becomes registers."""
    count = fragment.registers
    flat = _elements(fragment).reshape(count, -1)
    width = np.dtype(f"<u{fragment.width // 8}")
    whole = fragment.packed == 1

    def pack(matrix: Array) -> tuple[Array, ...]:
        elements = matrix.reshape(matrix.shape[0], -1)
        taken = (elements.take(index, axis=1) for index in flat)
        return tuple(taken) if whole else tuple(each.view(width) for each in taken)

    return pack


def split(words: Array, bits: int) -> Array:
    """Return the elements of `bits` bits in each row of `words`, from the low bits up."""
    if bits >= 8:
        return words.view(np.dtype(f"<u{bits // 8}"))
    octets = words.view(np.uint8)
    if bits == 1:
        return np.unpackbits(octets, axis=1, bitorder="little")
    return np.stack((octets & 15, octets >> 4), axis=-1).reshape(len(octets), -1)


def _joined(registers: Sequence[Array]) -> Array:
    return registers[0] if len(registers) == 1 else np.concatenate(registers, axis=1)


@cache
def _index(fragment: Fragment) -> Array:
    """Return for each element of the matrix where it lies: `(register * 32 + lane) * packed + position`."""
    elements = _elements(fragment).reshape(-1)
    index = np.empty(fragment.products * fragment.rows * fragment.columns, np.int64)
    index[elements[::-1]] = np.arange(len(elements))[::-1]  # of several places the first is read
    return index.reshape(fragment.products, fragment.rows, fragment.columns)


@cache
def _elements(fragment: Fragment) -> Array:
    """Return for each place, `[registers, 32, packed]`, the number of its element in the matrix."""
    places = np.empty((fragment.registers, _WARP, fragment.packed), np.int64)
    for lane in range(_WARP):
        for index in range(fragment.count):
            register, position = divmod(index, fragment.packed)
            row = fragment.product(lane, index) * fragment.rows + fragment.row(lane, index)
            places[register, lane, position] = row * fragment.columns + fragment.column(lane, index)
    return places


def _whole_words(index: Array, packed: int) -> Array | None:
    """Return the index of words, if the elements of each word stay side by side; it is shorter by `packed`."""
    rows = index.reshape(-1, packed)
    if (rows != rows[:, :1] + np.arange(packed)).any() or (rows[:, 0] % packed).any():
        return None
    return rows[:, 0] // packed
