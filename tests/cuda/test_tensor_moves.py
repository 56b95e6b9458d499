"""tcgen05.ld and tcgen05.st from CUDA C++, in every shape, compared with CuTe layouts of tensor memory.

The strides are CuTe's: in bits, for tensor memory as a matrix whose lanes are contiguous.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pyptx_sim import run

from .compiler import ptx_of
from .tensor_moves import MOVED

Modes = list[tuple[int, int]]
COLUMNS = 96
# By shape of tcgen05.ld and tcgen05.st: registers and columns per repetition; lanes; CuTe extents and strides of
# threads and of register bits.
SHAPES: dict[str, tuple[int, int, int, Any]] = {
    "32x32b": (1, 1, 32, lambda n: ([(32, 32 * n)], [(32 * n, 1)])),
    "16x64b": (1, 2, 16, lambda n: ([(2, 512 * n), (2, 32), (8, 64 * n)], [(32, 1), (n, 64)])),
    "16x128b": (2, 4, 16, lambda n: ([(4, 32), (8, 128 * n)], [(32, 1), (2, 1024 * n), (n, 128)])),
    "16x256b": (4, 8, 16, lambda n: ([(4, 64), (8, 256 * n)], [(64, 1), (2, 2048 * n), (n, 256)])),
    "16x32bx2": (1, 2, 16, lambda n: ([(16, 64 * n), (2, 32 * n)], [(32 * n, 1)])),
}


def evaluate(modes: Modes, number: int) -> int:
    """Return the offset that a CuTe layout maps a coordinate to."""
    total = 0
    for extent, stride in modes:
        number, digit = divmod(number, extent)
        total += digit * stride
    return total


def places(shape: str, repeats: int, split: int, *, halves: bool) -> Any:
    """Return lane and column, relative to the tensor memory address, of each thread's registers (or 16-bit halves)."""
    registers, wide, _, modes = SHAPES[shape]
    threads, values = modes(repeats)
    unit = 16 if halves else 32
    found = []
    for thread, index in product(range(32), range(registers * repeats * 32 // unit)):
        lane, bit = divmod(evaluate(threads, thread) + evaluate(values, index * unit), 32 * wide * repeats)
        column = bit // unit
        if shape == "16x32bx2":
            second, column = divmod(column, repeats * 32 // unit)
            column += second * split
        found.append((lane, column))
    return np.array(found).reshape(32, -1, 2)


@pytest.mark.parametrize(("shape", "repeats"), [(shape, n) for shape in SHAPES for n in (1, 2, 4)])
@pytest.mark.parametrize("halves", [False, True])
def test_registers_are_moved_to_and_from_their_cells(shape: str, repeats: int, *, halves: bool) -> None:
    rng = np.random.default_rng(repeats)
    per_repeat, _, lanes, _ = SHAPES[shape]
    registers, column, lane, split = per_repeat * repeats, 8, 32 - lanes, 2 * repeats + 3
    macros = {"GROUP": 1, "REGISTERS": registers, "COLUMN": column, "LANE": lane,
              "LOAD": f"tcgen05_ld_{shape}{'_pack_16b' * halves}",
              "STORE": f"tcgen05_st_{shape}{'_unpack_16b' * halves}"}  # fmt: skip
    if shape == "16x32bx2":
        macros["SPLIT"] = split
    ptx = ptx_of(MOVED, *[f"-D{name}={value}" for name, value in macros.items()], arch="sm_100a")
    x = rng.integers(0, 2**32, (4, 32, COLUMNS), np.uint32)
    y, sent = np.zeros((4, 32, registers), np.uint32), rng.integers(0, 2**32, (4, 32, registers), np.uint32)
    z = np.zeros_like(x)
    result = run(ptx, grid=1, block=128, args=[x, y, sent, z])
    assert result.findings == ()

    at = places(shape, repeats, split, halves=halves)
    rows, columns = at[..., 0] + lane, at[..., 1] + column
    cells = x[:, rows, columns]
    changed = x.copy()
    if halves:
        assert (y == (cells[..., ::2] & 0xFFFF | cells[..., 1::2] << 16)).all()
        changed[:, rows[:, ::2], columns[:, ::2]] = sent & 0xFFFF
        changed[:, rows[:, 1::2], columns[:, 1::2]] = sent >> 16
    else:
        assert (y == cells).all()
        changed[:, rows, columns] = sent
    assert (z == changed).all()
