"""Lane and column of each register of `tcgen05.ld` match CuTe's layouts, given as extents and strides in bits."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from pyptx_arch_blackwell.layouts.moves import SHAPES, column, lane, register_fragment
from pyptx_arch_blackwell.table.tensor_memory import REPEATS
from pyptx_arch_blackwell.table.tensor_memory import SHAPES as FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

Modes = list[tuple[int, int]]

# CuTe layouts of tcgen05.ld shapes for n repetitions: modes of threads, and of the bits in a thread's registers, to bit
# offsets in the matrix, whose lanes are concatenated. A mode is (extent, stride); the first mode varies fastest.
MODES: dict[str, Callable[[int], tuple[Modes, Modes]]] = {
    "32x32b": lambda n: ([(32, 32 * n)], [(32 * n, 1)]),
    "16x64b": lambda n: ([(2, 512 * n), (2, 32), (8, 64 * n)], [(32, 1), (n, 64)]),
    "16x128b": lambda n: ([(4, 32), (8, 128 * n)], [(32, 1), (2, 1024 * n), (n, 128)]),
    "16x256b": lambda n: ([(4, 64), (8, 256 * n)], [(64, 1), (2, 2048 * n), (n, 256)]),
    "16x32bx2": lambda n: ([(16, 64 * n), (2, 32 * n)], [(32 * n, 1)]),
}
LANES = {"32x32b": 32}
EVERY = [(shape, repeats) for shape, count in FORMS for repeats in (int(name[1:]) for name in REPEATS)
         if count * repeats <= 128]  # fmt: skip
each = pytest.mark.parametrize(("shape", "repeats"), EVERY)


def evaluate(modes: Modes, number: int) -> int:
    """Return the offset of an index in a CuTe layout."""
    total = 0
    for extent, stride in modes:
        number, digit = divmod(number, extent)
        total += digit * stride
    assert number == 0
    return total


def cell(shape: str, repeats: int, thread: int, bit: int) -> tuple[int, int]:
    """Return the tensor memory lane of register bit `bit` of a thread, and the bit offset within the lane."""
    threads, values = MODES[shape](repeats)
    wide = 32 * repeats * SHAPES[shape].columns * SHAPES[shape].accesses
    return divmod(evaluate(threads, thread) + evaluate(values, bit), wide)


@each
def test_registers_lie_as_the_layout_algebra_says(shape: str, repeats: int) -> None:
    split = repeats + 3
    for thread, register in product(range(32), range(SHAPES[shape].count * repeats)):
        row, bit = cell(shape, repeats, thread, 32 * register)
        if shape == "16x32bx2":  # in CuTe's layout, the second access's columns directly follow the first's
            second, bit = divmod(bit, 32 * repeats)
            bit += 32 * split * second
        assert (lane(shape, thread, register), 32 * column(shape, thread, register, split)) == (row, bit)


@each
def test_packed_registers_hold_two_neighboring_columns(shape: str, repeats: int) -> None:
    # CuTe numbers only the 16-bit halves that .pack::16b and .unpack::16b move: half i of a lane is the lower half of
    # column i.
    held = register_fragment(shape, repeats, packed=True)
    assert (held.bits, held.packed, held.columns) == (16, 2, 2 * SHAPES[shape].columns * repeats)
    for thread, index in product(range(32), range(held.count)):
        row, bit = cell(shape, repeats, thread, 16 * index)
        second, half = divmod(bit // 16, held.columns)
        place = held.row(thread, index), held.column(thread, index), held.product(thread, index)
        assert place == (row, half, second)
        assert column(shape, thread, index // 2, packed=True) == half - index % 2 + 0 * second


@each
@pytest.mark.parametrize("packed", [False, True])
def test_every_cell_is_held_once(shape: str, repeats: int, *, packed: bool) -> None:
    held = register_fragment(shape, repeats, packed=packed)
    places = [
        (held.row(thread, index), held.column(thread, index), held.product(thread, index))
        for thread, index in product(range(32), range(held.count))
    ]
    every = product(range(LANES.get(shape, 16)), range(held.columns), range(held.products))
    assert sorted(places) == list(every)
    assert held.registers == SHAPES[shape].count * repeats


def test_sixteen_lanes_of_256_bits_lie_as_sums_of_mma() -> None:
    # Accumulator in the manual's "Matrix Fragments for mma.m16n8k16": row g or g + 8, columns 2t and 2t + 1.
    for thread, register in product(range(32), range(4)):
        assert lane("16x256b", thread, register) == thread // 4 + 8 * (register // 2)
        assert column("16x256b", thread, register) == thread % 4 * 2 + register % 2


def test_what_the_instructions_do_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid shape 64x32b"):
        register_fragment("64x32b", 1)
    with pytest.raises(ValueError, match="invalid repetition count 64 of 16x256b: use 1, 2, 4 to 32"):
        register_fragment("16x256b", 64)
    with pytest.raises(ValueError, match="invalid repetition count 3"):
        register_fragment("32x32b", 3)
    with pytest.raises(IndexError):
        lane("32x32b", 0, 128)
