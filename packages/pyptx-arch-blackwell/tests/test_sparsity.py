"""Locations of the metadata of a sparse A, compared with CuTe's layouts, and decoding of its codes."""

from __future__ import annotations

from itertools import product

import pytest

from pyptx_arch_blackwell.layouts.sparsity import CODES, Metadata, metadata, positions, sparsity_of

Modes = list[tuple[int, int]]

# K of an MMA with sparse A, and elements of A per metadata code.
DEPTHS = {"tf32": 16, "f16": 32, "f8f6f4": 64, "mxf8f6f4": 64, "i8": 64, "mxf4": 128, "mxf4nvf4": 128}
CHUNKS = {kind: 2 if kind == "tf32" else 8 if kind.startswith("mxf4") else 4 for kind in DEPTHS}
# CuTe's layouts of sparsity metadata in 128 lanes: modes of the rows of A, and of the elements in a row of A.
# In these layouts, consecutive bits of a lane are 128 apart.
ROWS: dict[str, Modes] = {"tf32": [(8, 1), (2, 1024), (8, 16)], "f16": [(8, 1), (2, 2048), (8, 16)]}
ALONG: dict[str, Modes] = {"tf32": [(8, 128), (2, 8)], "f16": [(16, 128), (2, 8)]}
WHOLE: tuple[Modes, Modes] = [(128, 1)], [(128, 128)]


def evaluate(modes: Modes, number: int) -> int:
    """Return the offset of an index in a CuTe layout (extents and strides)."""
    total = 0
    for extent, stride in modes:
        number, digit = divmod(number, extent)
        total += digit * stride
    assert number == 0
    return total


def by_algebra(kind: str, row: int, chunk: int) -> tuple[int, int]:
    """Return the lane and the first bit of a metadata code, for an MMA that uses all lanes."""
    rows, along = (ROWS.get(kind, WHOLE[0]), ALONG.get(kind, WHOLE[1]))
    step, lane = divmod(evaluate(rows, row) + evaluate(along, chunk * CHUNKS[kind]), 128)
    return lane, step * 4 // CHUNKS[kind]  # a 4-bit metadata code for 8 elements has half a bit per element


def held(codes: Metadata, row: int, chunk: int) -> tuple[tuple[int, ...], int]:
    place = codes.place(row, chunk)
    assert place.column in codes.columns
    return place.lanes, 32 * place.column + place.shift


@pytest.mark.parametrize("kind", DEPTHS)
@pytest.mark.parametrize(("m", "group"), [(128, 1), (256, 2)])
def test_codes_lie_as_the_layout_algebra_says(kind: str, m: int, group: int) -> None:
    codes = metadata(kind, m=m, group=group)
    assert (codes.rows, codes.chunks) == (128, DEPTHS[kind] // CHUNKS[kind])
    for row, chunk in product(range(128), range(codes.chunks)):
        lane, bit = by_algebra(kind, row, chunk)
        assert held(codes, row, chunk) == ((lane,), bit)


@pytest.mark.parametrize("kind", ["tf32", "f16", "f8f6f4", "i8"])
def test_with_half_the_lanes_a_band_of_rows_lies_in_the_half_of_each_warp(kind: str) -> None:
    # Layouts C and F: row i of D is in lane i // 16 * 32 + i % 16.
    for codes in (metadata(kind, m=64), metadata(kind, m=128, group=2)):
        for row, chunk in product(range(64), range(codes.chunks)):
            lane, bit = by_algebra(kind, row, chunk)
            assert held(codes, row, chunk) == ((lane // 16 * 32 + lane % 16,), bit)


@pytest.mark.parametrize("kind", ["tf32", "f16", "f8f6f4", "i8"])
@pytest.mark.parametrize(("m", "copies"), [(32, 4), (64, 2), (128, 1)])
def test_weight_stationary_products_have_a_copy_for_each_share_of_the_columns(kind: str, m: int, copies: int) -> None:
    codes = metadata(kind, m=m, weight_stationary=True)
    for row, chunk in product(range(m), range(codes.chunks)):
        lane, bit = by_algebra(kind, row, chunk)
        assert held(codes, row, chunk) == (tuple(lane + m * copy for copy in range(copies)), bit)


@pytest.mark.parametrize("kind", DEPTHS)
def test_codes_fill_their_columns(kind: str) -> None:
    codes = metadata(kind, m=128)
    bits = [
        (lane, place.column, place.shift + bit)
        for row, chunk in product(range(128), range(codes.chunks))
        for place in [codes.place(row, chunk)]
        for lane, bit in product(place.lanes, range(4))
    ]
    assert sorted(bits) == list(product(range(128), codes.columns, range(32)))


def test_the_selector_names_the_column() -> None:
    for kind, selector in product(("tf32", "f16"), range(4)):
        codes = metadata(kind, m=128, selector=selector)
        assert codes.columns == (selector,)
        assert codes.place(24, 7) == ((24,), selector, 28)
        assert codes.place(16, 3) == ((16,), selector, 12)
    with pytest.raises(ValueError, match="must be 0 to 0, got 1"):
        metadata("i8", m=128, selector=1)
    with pytest.raises(ValueError, match="must be 0 to 3, got 4"):
        metadata("f16", m=128, selector=4)


def test_codes_say_where_elements_stand() -> None:
    """The manual's codes: two of four elements; one of two for tf32, as 16-bit halves; pairs in chunks of eight."""
    listed = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b0110: (2, 1),
              0b1110: (2, 3)}  # fmt: skip
    assert {code: positions("f16", code) for code in CODES["f16"]} == listed
    assert {code: positions("i8", code) for code in CODES["i8"]} == listed
    assert {code: positions("tf32", code) for code in CODES["tf32"]} == {0b0100: (0,), 0b1110: (1,)}
    pairs = {code: (2 * a, 2 * a + 1, 2 * b, 2 * b + 1) for code, (a, b) in listed.items()}
    assert {code: positions("mxf4", code) for code in CODES["mxf4"]} == pairs
    for kind in DEPTHS:
        assert sparsity_of(kind).chunk == CHUNKS[kind]
        assert all(len(set(positions(kind, code))) == CHUNKS[kind] // 2 for code in CODES[kind])
    with pytest.raises(ValueError, match="0b0000"):
        positions("f16", 0)
    with pytest.raises(ValueError, match="0b1000"):
        positions("tf32", 0b1000)


def test_products_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="kind::f64"):
        metadata("f64", m=64)
    for kind, m, group, stationary in [
        ("f16", 32, 1, False),
        ("f16", 64, 2, False),
        ("mxf4", 64, 1, False),
        ("mxf8f6f4", 128, 2, False),
        ("mxf4", 128, 1, True),
        ("f16", 128, 2, True),
    ]:
        with pytest.raises(ValueError, match=f"M = {m} in {group}"):
            metadata(kind, m=m, group=group, weight_stationary=stationary)
    with pytest.raises(IndexError, match="chunk 8"):
        metadata("f16", m=64).place(0, 8)
