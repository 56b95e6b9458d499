"""`tcgen05.cp`, compared with CuTe's layouts, its decompression, and the lanes moved by `tcgen05.shift`."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pyptx_arch_blackwell.layouts.copies import COPIES, FORMATS, SHIFT_COLUMNS, SHIFT_LANES, shifted_from
from pyptx_arch_blackwell.layouts.scale_factors import scale_factors
from pyptx_arch_blackwell.layouts.sparsity import metadata

Modes = list[tuple[int, int]]

LANE = 1 << 21  # distance in bits between adjacent lanes in CuTe's tensor memory addresses
# CuTe modes of tcgen05.cp shapes: rows, bits of a row, then multicast copies or a second group of rows, if any.
ALGEBRA: dict[tuple[str, str], Modes] = {
    ("128x256b", ""): [(128, LANE), (256, 1)],
    ("4x256b", ""): [(4, 32 * LANE), (256, 1)],
    ("128x128b", ""): [(128, LANE), (128, 1)],
    ("64x128b", "warpx2::02_13"): [(64, LANE), (128, 1), (2, 64 * LANE)],
    ("64x128b", "warpx2::01_23"): [(32, LANE), (128, 1), (2, 64 * LANE), (2, 32 * LANE)],
    ("32x128b", "warpx4"): [(32, LANE), (128, 1), (4, 32 * LANE)],
}


def by_algebra(name: tuple[str, str], row: int, chunk: int) -> set[tuple[int, int]]:
    """Return the destination lanes of a source row's chunk, each with the chunk's first bit in the lane."""
    (rows, lane), _, *further = ALGEBRA[name]
    band, inside = divmod(row, rows)
    first = inside * lane + 128 * chunk + (band * further[0][1] if band else 0)
    copies = further[-1] if name[1] else (1, 0)
    return {divmod(first + copy * copies[1], LANE) for copy in range(copies[0])}


@pytest.mark.parametrize("name", COPIES)
def test_chunks_go_where_the_layout_algebra_says(name: tuple[str, str]) -> None:
    copy = COPIES[name]
    lanes, bits = name[0].removesuffix("b").split("x")
    assert (copy.rows, copy.chunks, copy.columns) == (int(lanes), int(bits) // 128, int(bits) // 32)
    cells = []
    for row, chunk in product(range(copy.rows), range(copy.chunks)):
        columns = copy.chunk_columns(chunk)
        assert {(lane, 32 * columns[0]) for lane in copy.lanes(row)} == by_algebra(name, row, chunk)
        cells += list(product(copy.lanes(row), columns))
    assert len(set(cells)) == len(cells) == copy.rows * copy.columns * len(copy.copies)
    for wrong in (copy.rows, -1):
        with pytest.raises(IndexError, match="row"):
            copy.lanes(wrong)
    with pytest.raises(IndexError, match="chunk"):
        copy.chunk_columns(copy.chunks)


def test_pairs_of_warps_receive_halves() -> None:
    """Manual: with 02_13 warps 0 and 2 form a pair, with 01_23 warps 0 and 1; each pair receives half of the rows."""
    for words, pairs in (("warpx2::02_13", ((0, 2), (1, 3))), ("warpx2::01_23", ((0, 1), (2, 3)))):
        copy = COPIES["64x128b", words]
        for row in range(64):
            assert tuple(lane // 32 for lane in copy.lanes(row)) == pairs[row // 32]
            assert {lane % 32 for lane in copy.lanes(row)} == {row % 32}


def test_copies_put_scale_factors_where_products_look_for_them() -> None:
    """In cuBLAS, scale factor j of row i is byte i % 32 * 16 + i // 32 * 4 + j; one 32x128b copy fills 4 columns."""
    copy = COPIES["32x128b", "warpx4"]
    factors = scale_factors("b", "mxf4nvf4", "block16", m=128, n=256, k=64)
    for i, j in product(range(256), range(4)):
        row, byte = divmod(i % 128 % 32 * 16 + i % 128 // 32 * 4 + j, 16)
        place = factors.place(i, j)
        assert place.lanes == copy.lanes(row)
        assert (place.column, place.byte) == (i // 128 * 4 + copy.chunk_columns(0)[byte // 4], byte % 4)


def test_a_copy_for_pairs_of_warps_puts_factors_of_b_into_the_halves_of_layout_b() -> None:
    copy = COPIES["64x128b", "warpx2::01_23"]
    factors = scale_factors("b", "mxf8f6f4", "", m=128, n=256, k=32, group=2)
    for n in range(256):
        half, inside = divmod(n, 128)
        assert factors.place(n, 0).lanes == copy.lanes(half * 32 + inside % 32)
        assert factors.place(n, 0).column == copy.chunk_columns(0)[inside // 32]


def test_a_copy_brings_the_metadata_of_four_products() -> None:
    """CUTLASS stores f16 metadata of 128 rows by K = 128 with the 16 bytes of a lane contiguous."""
    copy = COPIES["128x128b", ""]
    for product_, row, chunk in product(range(4), range(128), range(8)):
        # One metadata bit per element: 16 rows of A fill 16 source rows of 128 bits. Source row g holds the first 16 of
        # 32 elements of rows g and g + 8 of A, source row g + 8 the last 16.
        bit = row % 8 * 128 + row // 8 % 2 * 16 + row // 16 * 2048
        bit += chunk % 4 * 4 + chunk // 4 * 1024 + product_ * 32
        source, inside = divmod(bit, 128)
        place = metadata("f16", m=128, selector=product_).place(row, chunk)
        assert place.lanes == copy.lanes(source)
        assert (place.column, place.shift) == (copy.chunk_columns(0)[inside // 32], inside % 32)


@pytest.mark.parametrize(("name", "bits", "shift"), [("b4x16_p64", 4, 2), ("b6x16_p32", 6, 0)])
def test_elements_are_taken_out_of_what_is_packed(name: str, bits: int, shift: int) -> None:
    rng = np.random.default_rng(3)
    elements = rng.integers(0, 1 << bits, 16)
    packed = sum(int(element) << bits * index for index, element in enumerate(elements))
    padding = rng.bytes(16 - 2 * bits)
    chunk = packed.to_bytes(2 * bits, "little") + padding
    assert list(FORMATS[name].decompressed(chunk)) == [int(element) << shift for element in elements]


def test_a_shift_moves_all_lanes_but_the_last() -> None:
    # The implicit shape of tcgen05.shift is 31x256b. A tcgen05.cp.4x256b at lane 31 fills the lanes that a shift skips.
    assert (SHIFT_LANES, 32 * SHIFT_COLUMNS) == (31, 256)
    assert [shifted_from(lane) for lane in range(31)] == list(range(1, 32))
    assert [31 + COPIES["4x256b", ""].lanes(row)[0] for row in range(4)] == [31, 63, 95, 127]
    with pytest.raises(IndexError, match="lane 31"):
        shifted_from(31)
