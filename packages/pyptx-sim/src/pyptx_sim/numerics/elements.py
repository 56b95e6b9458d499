"""Conversion between fragments in the registers of warps or warpgroups and matrices in arrays.

Matrices are `[warps, products, rows, columns]` (several products: an MMA computes several small matrices); a register
is `[warps, 32]`, or `[warpgroups, 128]`.
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


@cache
def unpacking(fragment: Fragment, *, transposed: bool = False, count: int = 1) -> Unpack:
    """Return a function from a fragment's registers (raw bits) to the elements of its matrix, or of the transpose.

    Elements have the unsigned dtype of their width, at least one byte. With `count`, the function takes the registers
    of `count` matrices and returns the matrices stacked along the products axis.
    """
    index = _index(fragment)
    index = np.concatenate([index + number * index.size for number in range(count)]) if count > 1 else index
    index = index.swapaxes(1, 2) if transposed else index
    shape, bits, packed = index.shape, fragment.bits, fragment.packed
    words = _whole_words(index.reshape(-1), packed)
    if words is not None:
        return lambda registers: split(taken(_joined(registers), words), bits).reshape(-1, *shape)
    flat = index.reshape(-1)
    return lambda registers: taken(split(_joined(registers), bits), flat).reshape(-1, *shape)


@cache
def packing(fragment: Fragment, grid: tuple[int, int] = (1, 1)) -> Pack:
    """Return a function from a matrix, with elements of at least one byte, to its fragment's registers.

    With a `grid`, the matrix consists of `grid` (rows, columns) fragments; the function returns the registers of the
    fragments in row-major order, fragment by fragment.
    """
    count = fragment.registers * grid[0] * grid[1]
    flat = _elements_in(fragment, grid).reshape(count, -1)
    width = np.dtype(f"<u{fragment.width // 8}")
    if fragment.packed == 1:
        return lambda matrix: tuple([taken(matrix.reshape(len(matrix), -1), index) for index in flat])
    words = _whole_words(flat.reshape(-1), fragment.packed)
    places = flat if words is None else words.reshape(count, -1)

    def pack(matrix: Array) -> tuple[Array, ...]:
        elements = matrix.reshape(matrix.shape[0], -1)
        if words is not None:
            elements = elements.view(width)
        return tuple([taken(elements, index).view(width) for index in places])

    return pack


def taken(values: Array, columns: Array) -> Array:
    """Return `values[:, columns]` without a bounds check of `columns`, which would take as long as the copy."""
    return np.asarray(values.take(columns, axis=1, mode="clip"))


def split(words: Array, bits: int) -> Array:
    """Return the `bits`-wide elements packed in each row of `words`, from the low bits of each word up."""
    if bits >= 8:
        return words.view(np.dtype(f"<u{bits // 8}"))
    octets = words.view(np.uint8)
    if bits == 1:
        return np.unpackbits(octets, axis=1, bitorder="little")
    return np.stack((octets & 15, octets >> 4), axis=-1).reshape(len(octets), -1)


def _joined(registers: Sequence[Array]) -> Array:
    """Return the registers concatenated along axis 1 in C order; NumPy uses Fortran order for broadcast arrays."""
    return np.ascontiguousarray(registers[0] if len(registers) == 1 else np.concatenate(registers, axis=1))


@cache
def _index(fragment: Fragment) -> Array:
    """Return, for each matrix element, its index in the registers: `(register * lanes + lane) * packed + position`."""
    elements = elements_of(fragment).reshape(-1)
    index = np.empty(fragment.products * fragment.rows * fragment.columns, np.int64)
    # reversed: an element in several registers gets its first position
    index[elements[::-1]] = np.arange(len(elements))[::-1]
    return index.reshape(fragment.products, fragment.rows, fragment.columns)


@cache
def elements_of(fragment: Fragment) -> Array:
    """Return, per position `[registers, lanes, packed]` in the registers, the flat index of its matrix element."""
    row, column, product = (
        _along([step[axis] for step in fragment.lanes])[:, None] + _along([step[axis] for step in fragment.elements])
        for axis in range(3)
    )
    elements = (product * fragment.rows + row) * fragment.columns + column
    by_register = elements.reshape(len(elements), fragment.registers, fragment.packed)
    return np.ascontiguousarray(by_register.swapaxes(0, 1))


def _elements_in(fragment: Fragment, grid: tuple[int, int]) -> Array:
    """Return `elements_of` each fragment in a grid of fragments as flat indices in a matrix: `[rows, columns, …]`."""
    below, beside = grid
    rows, columns = np.divmod(elements_of(fragment), fragment.columns)
    row = np.arange(below)[:, None, None, None, None] * fragment.products * fragment.rows + rows
    column = np.arange(beside)[:, None, None, None] * fragment.columns + columns
    return np.asarray(row * (beside * fragment.columns) + column)


def _along(steps: Sequence[int]) -> Array:
    """Return, for each number below `2 ** len(steps)`, the sum of `steps[bit]` over the set bits of the number."""
    numbers = np.arange(1 << len(steps), dtype=np.int64)
    return np.asarray(sum((numbers >> bit & 1) * step for bit, step in enumerate(steps)) + np.zeros_like(numbers))


def _whole_words(index: Array, packed: int) -> Array | None:
    """Return element indices `index` as word indices if the `packed` elements of each word stay adjacent; else None."""
    rows = index.reshape(-1, packed)
    if (rows != rows[:, :1] + np.arange(packed)).any() or (rows[:, 0] % packed).any():
        return None
    return rows[:, 0] // packed
