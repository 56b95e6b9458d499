"""Packing of elements in memory: compared with the manual's shapes and with NumPy's packing of bits."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_arch_blackwell.layouts.packing import (
    CONTAINERS,
    PADDED,
    chunk_addresses,
    in_shared_memory,
    in_tensor_memory,
    lanes_of_a,
    of_sums,
)

# MMA kind, element type, and K of a dense MMA: K elements of an operand row fill 32 bytes (48 for K = 96).
SHARED = [
    ("f16", "bf16", 16),
    ("tf32", "tf32", 8),
    ("i8", "s8", 32),
    *[(kind, element, 32) for kind in ("f8f6f4", "mxf8f6f4") for element in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")],
    ("mxf4", "e2m1", 64),
    ("mxf4nvf4", "e2m1", 64),
]
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}


@pytest.mark.parametrize(("kind", "element", "k"), SHARED)
def test_a_row_of_a_product_takes_32_bytes(kind: str, element: str, k: int) -> None:
    shared, tensor = in_shared_memory(kind, element), in_tensor_memory(kind, element)
    assert shared.bits == tensor.bits == BITS[element]
    assert shared.columns(k) == tensor.columns(k) == 8
    for packing in (shared, tensor):
        taken = [packing.bit(index) + bit for index in range(k) for bit in range(packing.bits)]
        assert len(set(taken)) == len(taken)
        assert max(taken) < 256


def test_elements_without_gaps_follow_each_other() -> None:
    assert [in_tensor_memory("f16", "f16").cell(k) for k in range(4)] == [(0, 0), (0, 16), (1, 0), (1, 16)]
    assert [in_tensor_memory("tf32", "tf32").cell(k) for k in range(2)] == [(0, 0), (1, 0)]
    assert [in_tensor_memory("i8", "u8").cell(k) for k in (1, 3, 4)] == [(0, 8), (0, 24), (1, 0)]
    assert [in_tensor_memory("mxf4", "e2m1").cell(k) for k in (1, 7, 8)] == [(0, 4), (0, 28), (1, 0)]
    assert in_shared_memory("mxf4nvf4", "e2m1") == in_tensor_memory("mxf4nvf4", "e2m1")


@pytest.mark.parametrize(("element", "shift"), [("e2m1", 2), ("e2m3", 0), ("e3m2", 0)])
def test_in_tensor_memory_small_elements_have_a_byte_each(element: str, shift: int) -> None:
    """Manual, for mma.sync of (mx)f8f6f4: e2m1 is in the central 4 bits of its byte, e3m2 and e2m3 in the lower 6."""
    packing = in_tensor_memory("mxf8f6f4", element)
    assert packing is CONTAINERS[BITS[element]]
    assert [packing.bit(k) for k in range(32)] == [8 * k + shift for k in range(32)]


@pytest.mark.parametrize("bits", [4, 6])
def test_in_shared_memory_they_are_packed_with_padding_behind_sixteen(bits: int) -> None:
    elements = np.random.default_rng(bits).integers(0, 1 << bits, 32)
    lowest_first = elements[:, None] >> np.arange(bits) & 1
    packed = np.packbits(lowest_first.astype(np.uint8).reshape(2, -1), axis=1, bitorder="little")
    padded = np.full((2, 16), 0xFF, np.uint8)
    padded[:, : packed.shape[1]] = packed
    row = int.from_bytes(padded.tobytes(), "little")
    assert [row >> PADDED[bits].bit(k) & (1 << bits) - 1 for k in range(32)] == elements.tolist()


def test_a_sum_fills_a_column() -> None:
    assert [of_sums("f16").cell(n) for n in range(3)] == [(0, 0), (1, 0), (2, 0)]
    assert of_sums("f16").bits == 16
    assert of_sums("f32").columns(24) == of_sums("f16").columns(24) == of_sums("s32").columns(24) == 24


def test_elements_that_a_kind_does_not_have_are_refused() -> None:
    for kind, element in [("mxf4", "e4m3"), ("f16", "tf32"), ("i8", "e4m3"), ("f64", "f64")]:
        with pytest.raises(ValueError, match=f"{kind} does not support"):
            in_shared_memory(kind, element)


def test_rows_of_a_lie_where_the_sums_of_their_products_do() -> None:
    """Layouts A to G: if two or four lane groups hold parts of a row of D, each lane group has a copy of A's row."""
    assert [lanes_of_a(row, m=128) for row in (0, 100)] == [(0,), (100,)]
    assert [lanes_of_a(row, m=256, group=2) for row in (0, 127)] == [(0,), (127,)]
    assert [lanes_of_a(row, m=64) for row in (0, 15, 16, 63)] == [(0,), (15,), (32,), (111,)]
    assert [lanes_of_a(row, m=128, group=2, sparse=True) for row in (17, 63)] == [(33,), (111,)]
    assert [lanes_of_a(row, m=128, group=2) for row in (0, 63)] == [(0, 64), (63, 127)]
    assert [lanes_of_a(row, m=64, weight_stationary=True) for row in (0, 63)] == [(0, 64), (63, 127)]
    assert lanes_of_a(31, m=32, weight_stationary=True) == (31, 63, 95, 127)
    assert lanes_of_a(127, m=128, weight_stationary=True) == (127,)
    with pytest.raises(IndexError, match="row 64 is out of range"):
        lanes_of_a(64, m=128, group=2)


def test_eight_products_of_48_bytes_read_three_rows_of_128() -> None:
    """As in CUTLASS, K = 96 MMAs begin at bytes 0, 48, 96 of a tile row, 16, 64, 112 of the next, then 32, 80."""
    rows = [0x8000, 0xC000, 0x4000]
    read = []
    for row, offset in [(0, 0), (0, 48), (0, 96), (1, 16), (1, 64), (1, 112), (2, 32), (2, 80)]:
        following = rows[row + 1] if offset + 48 > 128 else rows[row]
        read += list(chunk_addresses(rows[row] + offset, following))
    assert read == [row + 16 * chunk for row in rows for chunk in range(8)]
