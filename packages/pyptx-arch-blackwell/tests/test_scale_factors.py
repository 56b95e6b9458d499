"""Scale factor layouts, compared with CuTe's layouts, the blocks that cuBLAS documents, and the manual."""

from __future__ import annotations

from itertools import product

import pytest

from pyptx_arch_blackwell.layouts.scale_factors import ScaleFactors, factors_of_row, scale_factors

# In CuTe's "virtual" tensor memory address, the lane varies fastest, then the byte in the lane's 32-bit columns.
LANES = 128
# Block-scaled MMAs of the manual's table: kind, scale vector size, K, scale factors per row.
PRODUCTS = [
    ("mxf8f6f4", "scale_vec::1X", 32, 1),
    ("mxf8f6f4", "block32", 64, 1),
    ("mxf8f6f4", "", 32, 1),
    ("mxf4", "", 64, 2),
    ("mxf4", "scale_vec::2X", 128, 2),
    ("mxf4", "block32", 96, 3),
    ("mxf4nvf4", "scale_vec::2X", 64, 2),
    ("mxf4nvf4", "scale_vec::4X", 64, 4),
    ("mxf4nvf4", "block16", 128, 4),
    ("mxf4nvf4", "block32", 96, 3),
    ("mxf4nvf4", "block16", 96, 6),
]
STARTS = {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}
SHAPES = [(128, 1), (256, 2), (128, 2)]
EVERY = [
    (kind, vector, k, count, m, group, start)
    for (kind, vector, k, count), (m, group) in product(PRODUCTS, SHAPES)
    if k != 96 or (m, group) != (128, 2)
    for start in STARTS[count]
]
each = pytest.mark.parametrize(("kind", "vector", "k", "count", "m", "group", "start"), EVERY)
Modes = list[tuple[int, int]]


def evaluate(modes: Modes, number: int) -> int:
    """Return the offset of an index in a CuTe layout (extents and strides)."""
    total = 0
    for extent, stride in modes:
        number, digit = divmod(number, extent)
        total += digit * stride
    assert number == 0
    return total


def addresses(modes: Modes, row: int, copies: Modes, chunk: int, groups: int) -> set[tuple[int, int, int]]:
    """Return the lanes, column and byte of a scale factor: along K, the byte varies first, then the column group."""
    number = evaluate(modes, row) + evaluate([(4, LANES), (8, groups * 4 * LANES)], chunk)
    found = set()
    for copy in range(copies[0][0]):
        byte, lane = divmod(number + evaluate(copies, copy), LANES)
        found.add((lane, byte // 4, byte % 4))
    return found


def held(factors: ScaleFactors, row: int, chunk: int) -> set[tuple[int, int, int]]:
    place = factors.place(row, chunk)
    return {(lane, place.column, place.byte) for lane in place.lanes}


@each
def test_factors_of_a_lie_as_the_layout_algebra_says(
    kind: str, vector: str, k: int, count: int, m: int, group: int, start: int
) -> None:
    factors = scale_factors("a", kind, vector, m=m, n=64, k=k, group=group, identifier=start)
    rows = m // group
    assert (factors.rows, factors.chunks) == (rows, count)
    for row, chunk in product(range(rows), range(count)):
        modes = [(32, 1), (rows // 32, 4 * LANES)]
        # Several MMAs compute one K block: the scale factors of an MMA start where those of the previous MMA end.
        assert held(factors, row, chunk) == addresses(modes, row, [(4, 32)], start + chunk, 4)


@each
@pytest.mark.parametrize("n", [16, 48, 128, 144, 192, 256])
def test_factors_of_b_lie_as_the_layout_algebra_says(
    kind: str, vector: str, k: int, count: int, m: int, group: int, start: int, n: int
) -> None:
    factors = scale_factors("b", kind, vector, m=m, n=n, k=k, group=group, identifier=start)
    groups = 8 if n > 128 else 4
    for row, chunk in product(range(n), range(count)):
        if (m, group) == (128, 2):  # manual's layout B: the second half of D's columns is in lanes 64-127
            inside, copies, base = row % (n // 2), [(2, 32)], row // (n // 2) * 64
        else:
            inside, copies, base = row, [(4, 32)], 0
        modes = [(32, 1), (8, 4 * LANES)]
        expected = addresses(modes, inside, copies, start + chunk, groups)
        assert held(factors, row, chunk) == {(lane + base, column, byte) for lane, column, byte in expected}


def test_a_block_of_512_bytes_is_copied_as_cublas_lays_it_out() -> None:
    # cuBLAS: scale factor j of row i is byte (i % 32) * 16 + i // 32 * 4 + j. tcgen05.cp.32x128b copies all 512 bytes.
    factors = scale_factors("a", "mxf4nvf4", "scale_vec::4X", m=128, n=8, k=64)
    for row, chunk in product(range(128), range(4)):
        lane, byte = divmod(row % 32 * 16 + row // 32 * 4 + chunk, 16)
        assert held(factors, row, chunk) == {(lane + 32 * quarter, byte // 4, byte % 4) for quarter in range(4)}


@each
@pytest.mark.parametrize("operand", ["a", "b"])
def test_no_two_factors_share_a_byte_and_the_columns_read_are_theirs(
    kind: str, vector: str, k: int, count: int, m: int, group: int, start: int, operand: str
) -> None:
    for n in (8 * group, 120 * group, 256):
        factors = scale_factors(operand, kind, vector, m=m, n=n, k=k, group=group, identifier=start)  # type: ignore[arg-type]  # "a" or "b"
        places = [held(factors, row, chunk) for row, chunk in product(range(factors.rows), range(count))]
        assert len(set().union(*places)) == sum(map(len, places))
        assert tuple(sorted({column for cells in places for _, column, _ in cells})) == factors.columns
        for row, quarter in product(range(factors.rows), range(4)):
            lanes = factors.place(row, 0).lanes
            assert (row in factors.rows_of(quarter)) == any(lane // 32 == quarter for lane in lanes)


def test_six_factors_run_into_the_next_group_of_columns() -> None:
    """CUTLASS: 24 scale factors of K = 384, 4 MMAs of K = 96; MMA 2 begins at byte 2 of the second column group."""
    first, second = (
        scale_factors("a", "mxf4nvf4", "block16", m=128, n=256, k=96, identifier=start) for start in (0, 2)
    )
    assert first.columns == second.columns == (0, 1, 2, 3, 4, 5, 6, 7)
    assert [first.place(0, chunk)[1:] for chunk in range(6)] == [(0, 0), (0, 1), (0, 2), (0, 3), (4, 0), (4, 1)]
    assert [second.place(32, chunk)[1:] for chunk in range(6)] == [(1, 2), (1, 3), (5, 0), (5, 1), (5, 2), (5, 3)]
    of_b = scale_factors("b", "mxf4nvf4", "block16", m=128, n=256, k=96)
    assert [of_b.place(255, chunk)[1:] for chunk in range(6)] == [(7, 0), (7, 1), (7, 2), (7, 3), (15, 0), (15, 1)]


def test_a_factor_scales_what_the_table_says() -> None:
    assert [factors_of_row(kind, vector, k) for kind, vector, k, _ in PRODUCTS] == [count for *_, count in PRODUCTS]


@pytest.mark.parametrize(
    ("kind", "vector", "k"),
    [
        ("f16", "", 16),
        ("mxf8f6f4", "scale_vec::2X", 32),
        ("mxf8f6f4", "block16", 32),
        ("mxf4", "block16", 96),
        ("mxf4", "scale_vec::4X", 64),
        ("mxf4nvf4", "", 64),
        ("mxf4nvf4", "", 96),
        ("mxf4nvf4", "scale_vec::4X", 96),
        ("mxf4", "", 32),
    ],
)
def test_vectors_that_no_product_has_are_refused(kind: str, vector: str, k: int) -> None:
    with pytest.raises(ValueError, match=f"K = {k}"):
        factors_of_row(kind, vector, k)


def test_wrong_shapes_starts_and_places_are_refused() -> None:
    with pytest.raises(ValueError, match="M = 64"):
        scale_factors("a", "mxf4", "", m=64, n=8, k=64)
    with pytest.raises(ValueError, match="M = 128, K = 96 in 2"):
        scale_factors("a", "mxf4", "", m=128, n=16, k=96, group=2)
    with pytest.raises(ValueError, match="start at byte 0 or 2"):
        scale_factors("b", "mxf4", "", m=128, n=8, k=64, identifier=1)
    with pytest.raises(IndexError, match="row 8"):
        scale_factors("b", "mxf4", "", m=128, n=8, k=64).place(8, 0)
