"""TMA, addresses and descriptors agree on the location of every element of a shared tile.

The descriptor's layout is the manual's table of canonical layouts ("Strides", "Canonical Layouts"), repeated here as
CuTe shapes and strides; TMA's layout is that of one box, row by row, swizzled.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx_dsl import ptx, smem
from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import SharedMemoryError, SpecError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.allocations import SharedAddress
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b1, bf16, e4m3, f16, s8, tf32

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

SWIZZLED_BITS = {None: 0, "32B": 1, "64B": 2, "128B": 3}
CODES = {None: 0, "128B": 1, "64B": 2, "32B": 3}


def swizzled(address: int, swizzle: str | None) -> int:
    """Return Swizzle<bits, 4, 3> of an address: bits 7… are XORed into bits 4…."""
    mask = (1 << SWIZZLED_BITS[swizzle]) - 1
    return address ^ (address >> 7 & mask) << 4


def canonical(tile: SharedTile, mn: int, k: int) -> int:
    """Return the byte offset of element (mn, k) from the start of an MMA operand, before the swizzle."""
    unit = 128 // tile.dtype.bits
    chunks = {None: 1, "32B": 2, "64B": 4, "128B": 8}[tile.swizzle]
    leading, stride = (offset * 8 // tile.dtype.bits for offset in (tile.leading_byte_offset, tile.stride_byte_offset))
    if tile.major == "K":
        along_k = unit if tile.swizzle else leading
        place = mn % 8 * chunks * unit + mn // 8 * stride + k % unit + k // unit * along_k
    else:
        inner = mn % unit + mn // unit % chunks * unit
        pattern = mn // unit // chunks
        strides = (leading, stride) if tile.swizzle else (stride, leading)
        place = inner + pattern * strides[0] + k % 8 * chunks * unit + k // 8 * strides[1]
    return place * tile.dtype.bits // 8


def brought(tile: SharedTile, mn: int, k: int) -> int:
    """Return the offset at which TMA writes element (mn, k): consecutive boxes, each row by row, swizzled."""
    row, column = (mn, k) if tile.major == "K" else (k, mn)
    panel, inside = divmod(column, tile.box_columns)
    place = panel * tile.box_bytes + row * tile.box_row_bytes + inside * tile.dtype.bits // 8
    return swizzled(place, tile.swizzle)


@st.composite
def tiles(draw: st.DrawFn) -> SharedTile:
    dtype: PtxType = draw(st.sampled_from([bf16, f16, tf32, e4m3, s8, b1]))
    major = draw(st.sampled_from(["K", "MN"] if dtype.bits in (8, 16) else ["K"]))
    swizzle = draw(st.sampled_from([None, "32B", "64B", "128B"]))
    width = int(swizzle[:-1]) if swizzle else 16
    panels = draw(st.integers(1, 3)) * (2 if swizzle is None and major == "K" else 1)
    columns = panels * width * 8 // dtype.bits
    rows = draw(st.integers(1, 6)) * (256 // dtype.bits if major == "MN" else 8)
    return SharedTile(dtype, (rows, columns), major=major, swizzle=swizzle, stages=draw(st.integers(1, 3)))


@settings(deadline=None)
@given(tiles(), st.data())
@pytest.mark.long
def test_a_descriptor_reads_what_tma_brought(tile: SharedTile, data: st.DataObject) -> None:
    elements = 8 // min(8, tile.dtype.bits)
    k = data.draw(st.integers(0, tile.k // tile.k_step - 1)) * tile.k_step
    start = tile.offset(k=k)
    for mn, inner in product(range(tile.mn), range(0, tile.k_step, elements)):
        assert swizzled(start + canonical(tile, mn, inner), tile.swizzle) == brought(tile, mn, k + inner)


@settings(deadline=None)
@given(tiles(), st.data())
def test_a_product_may_begin_at_rows_further_down(tile: SharedTile, data: st.DataObject) -> None:
    step = 8 if tile.major == "K" else tile.box_columns
    mn = data.draw(st.integers(0, tile.mn // step - 1)) * step
    start = tile.offset(mn=mn)
    for each in range(tile.mn - mn):
        assert swizzled(start + canonical(tile, each, 0), tile.swizzle) == brought(tile, mn + each, 0)


@given(tiles())
def test_the_sizes_agree(tile: SharedTile) -> None:
    box = tile.tma_box
    assert tile.dtype is b1 or tile.tma_tile("R", "C").resolve_box({"R": 4096, "C": 4096}) == box
    assert tile.dtype is b1 or tile.tma_tile("G", "R", "C").tma_box == (1, *box)
    assert box == (tile.shape[0], tile.box_columns)
    assert box[0] * box[1] * tile.dtype.bits // 8 == tile.box_bytes
    assert tile.bytes == tile.stages * tile.boxes * tile.box_bytes
    assert tile.tma_layout.swizzle == tile.swizzle
    assert tile.swizzle_code == CODES[tile.swizzle]
    assert tile.stage_bytes % tile.alignment == 0 or tile.swizzle is None


@pytest.mark.parametrize(
    "tile",
    [
        SharedTile(bf16, (64, 64)),
        SharedTile(bf16, (64, 128), stages=2),
        SharedTile(bf16, (32, 64), major="MN", swizzle="32B", stages=3),
        SharedTile(tf32, (16, 16), swizzle=None),
    ],
    ids=repr,
)
def test_an_element_is_addressed_where_tma_puts_it(tile: SharedTile) -> None:
    places: dict[tuple[int, int], int] = {}

    def body() -> None:
        held = smem.tile(tile)
        assert held.region.bytes == tile.bytes
        assert held.region.alignment == tile.alignment
        stage = (tile.stages - 1,) if tile.stages > 1 else ()
        for row, column in product(range(tile.shape[0]), range(0, tile.shape[1], 3)):
            panel, inside = divmod(column, tile.box_columns)
            place = held.address(*stage, *((panel,) if tile.boxes > 1 else ()), row, inside)
            assert isinstance(place, SharedAddress)
            places[row, column] = place.byte_offset - (tile.stages - 1) * tile.stage_bytes
        ptx.ret()

    traced(body)
    for (row, column), place in places.items():
        mn, k = (row, column) if tile.major == "K" else (column, row)
        assert place == brought(tile, mn, k)


def traced(body: object) -> str:
    def k() -> None:
        body()  # type: ignore[operator]  # a function of the test

    return kernel(k).ptx()


PICTURE = """\
bf16 64 (MN) x 32 (K), swizzle 64B
  byte     0   16   32   48
  row 0    0    1    2    3
  row 1    0    1    2    3
  row 2    1    0    3    2
  row 3    1    0    3    2
  row 4    2    3    0    1
  row 5    2    3    0    1
  row 6    3    2    1    0
  row 7    3    2    1    0
  every 8 rows (512 bytes) the same; 1 TMA box of 64 x 64 bytes, 4096 bytes apart"""


def test_the_picture_shows_where_each_chunk_of_a_row_lies() -> None:
    tile = SharedTile(bf16, (64, 32))
    assert tile.picture() == PICTURE
    rows = [line.split()[2:] for line in tile.picture().splitlines() if line.startswith("  row")]
    for row, chunks in enumerate(rows):
        for place, chunk in enumerate(chunks):
            assert brought(tile, row, int(chunk) * 8) == row * 64 + place * 16


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: SharedTile(bf16, (64, 48), swizzle="128B"), "not a multiple of the 128 bytes of a TMA box row"),
        (lambda: SharedTile(bf16, (64, 20)), "not a multiple of the"),
        (lambda: SharedTile(bf16, (60, 64)), "60 rows are not a multiple of the 8 rows of a core matrix"),
        (lambda: SharedTile(bf16, (64, 8)), "K = 8 is not a multiple of 16"),
        (lambda: SharedTile(bf16, (8, 64), major="MN"), "K = 8 is not a multiple of 16"),
        (lambda: SharedTile(tf32, (64, 32), major="MN"), "types of 8 and 16 bits only"),
        (lambda: SharedTile(bf16, (512, 64)).tma_box, "a TMA box has at most 256 rows"),
        (lambda: SharedTile(b1, (64, 256)).tma_tile("M", "K"), "TMA has no element type b1"),
        (lambda: SharedTile(bf16, (64, 64)).tma_tile("M"), "the array needs at least two dimensions"),
        (lambda: SharedTile(bf16, (64, 64)).offset(k=8), "no MMA operand can start at mn=0, k=8"),
        (lambda: SharedTile(bf16, (64, 64)).offset(mn=4), "no MMA operand can start at mn=4, k=0"),
        (lambda: SharedTile(bf16, (64, 64)).offset(k=64), "outside the 64 x 64 tile"),
        (lambda: SharedTile(bf16, (64, 128), major="MN").offset(mn=32), "no MMA operand can start"),
    ],
)
def test_a_wrong_combination_is_an_error_with_the_rule_and_the_picture(make: object, rule: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()  # type: ignore[operator]  # a function of the table
    assert rule in str(caught.value)
    assert "  row 0 " in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SharedTile(bf16, (64,)),
        lambda: SharedTile(bf16, (2, 64, 64)),
        lambda: SharedTile(bf16, (64, 0)),
        lambda: SharedTile(bf16, (64, 64), major="M"),
        lambda: SharedTile(bf16, (64, 64), swizzle="256B"),
        lambda: SharedTile(bf16, (64, 64), stages=0),
    ],
)
def test_what_is_no_tile_is_refused(make: object) -> None:
    with pytest.raises(SpecError):
        make()  # type: ignore[operator]  # a function of the table


def test_an_alignment_that_would_shift_the_pattern_is_refused_with_the_picture() -> None:
    with pytest.raises(SharedMemoryError, match=r"must start at a multiple of 1024(.|\n)*row 7"):
        traced(lambda: smem.tile(SharedTile(bf16, (64, 64)), align=512))


# --- public names ---------------------------------------------------------------------------------------


def test_a_wgmma_tile_is_the_tile_with_the_widest_swizzle() -> None:
    def body() -> None:
        held = smem.wgmma_tile(bf16, (64, 64), major="K")
        assert held.gmma_layout == SharedTile(bf16, (64, 64))
        assert held.gmma_major == "K"
        assert held.swizzle == "128B"
        assert SharedTile(bf16, (64, 64)).tma_layout is Layout.TMA_128B
        ptx.ret()

    traced(body)
