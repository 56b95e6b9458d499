"""Tensor copies with gather4 and scatter4, im2col::w, a replaced global address, and CTA pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.plugins.rows import Im2col, TensorMap
from pyptx_sim import WithDescriptor, run
from pyptx_sim.errors import MissingSemantics

from .ptx_text import module
from .test_async_copy import each_schedule
from .test_tensor_copy import BEFORE, HEAD, LOAD, OUT, PARAMETERS, map_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim import Result

pytestmark = pytest.mark.hopper


def executed(body: str, *arguments: Any, parameters: str = PARAMETERS, version: str = "8.8", **options: Any) -> Result:
    text = module(body, parameters, BEFORE, "sm_100a").replace(".version 8.8", f".version {version}")
    return run(text, block=64, args=arguments, **{"grid": 1} | options)


def spelt(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def loaded(
    array: Any, described: TensorMap, corner: tuple[int, ...], size: int, mode: str, info: str = "", **options: Any
) -> Any:
    """Load a box by TMA and return the bytes of shared memory; coordinates are in the order of the instruction."""
    out = np.zeros(size, np.uint8)
    given = {"mode": mode, "offsets": info, "corner": spelt(corner)}
    body = HEAD + LOAD.format(size=size, rank=array.ndim, **given) + OUT.format(words=size // 4)
    result = executed(body, out, WithDescriptor(array, described), **options)
    assert [str(finding) for finding in result.findings] == []
    return out


# --- gather4 and scatter4 -----------------------------------------------------------------------


def rows_of(array: Any, column: int, rows: tuple[int, ...], width: int) -> Any:
    """Return the `width` elements that gather4 reads of each of four rows; zeros out of bounds."""
    found = np.zeros((4, width), array.dtype)
    for number, row in enumerate(rows):
        for place in range(width):
            if 0 <= row < array.shape[0] and 0 <= column + place < array.shape[1]:
                found[number, place] = array[row, column + place]
    return found


MATRIX = np.random.default_rng(0).standard_normal((20, 40)).astype(np.float32)


@each_schedule
@pytest.mark.parametrize(
    ("column", "rows"), [(0, (3, 3, 0, 19)), (4, (5, 1, 17, 2)), (-3, (0, -1, 20, 7)), (37, (4, 5, 6, 7))]
)
def test_four_rows_are_gathered(schedule: dict[str, Any], column: int, rows: tuple[int, ...]) -> None:
    found = loaded(MATRIX, map_of(MATRIX, (1, 8), "f32"), (column, *rows), 128, "tile::gather4", **schedule)
    assert found.tobytes() == rows_of(MATRIX, column, rows, 8).tobytes()


def test_gathered_rows_are_swizzled() -> None:
    array = np.arange(20 * 128, dtype=np.int64).astype(np.uint8).reshape(20, 128)
    found = loaded(array, map_of(array, (1, 128), "u8", swizzle="128B"), (0, 9, 2, 11, 4), 512, "tile::gather4")
    for line, row in enumerate((9, 2, 11, 4)):
        pieces = array[row].reshape(8, 16)
        assert found[128 * line : 128 * line + 128].tobytes() == pieces[np.arange(8) ^ line].tobytes()


SCATTER = """
shl.b32 %r6, %r0, 2;
add.u32 %r7, %r2, %r6;
cvt.rn.f32.u32 %f1, %r0;
st.shared.f32 [%r7], %f1;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd2, {CORNER}], [%r2];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""


@each_schedule
def test_four_rows_are_scattered_inside_the_bounds(schedule: dict[str, Any]) -> None:
    array = np.full((12, 20), -1, np.float32)
    body = HEAD + SCATTER.replace("CORNER", "8, 7, 0, 11, 12")
    result = executed(body, np.zeros(1, np.uint32), WithDescriptor(array, map_of(array, (1, 16), "f32")), **schedule)
    assert [str(finding) for finding in result.findings] == []
    expected = np.full((12, 20), -1, np.float32)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    for number, row in enumerate((7, 0, 11)):  # destination rows inside the tensor; the fourth row is out of bounds
        expected[row, 8:20] = values[number, :12]
    assert (array == expected).all()


def test_rows_are_of_maps_for_one_row() -> None:
    body = HEAD + LOAD.format(size=128, rank=2, mode="tile::gather4", offsets="", corner="0, 1, 2, 3, 4")
    result = executed(body, np.zeros(1, np.uint32), WithDescriptor(MATRIX, map_of(MATRIX, (4, 8), "f32")))
    assert "tensor-map" in {finding.rule for finding in result.findings}
    assert "boxes of 4 rows" in str(result.findings[0])


# --- im2col::w ----------------------------------------------------------------------------------

IMAGES = {
    3: np.random.default_rng(1).standard_normal((6, 9, 8)).astype(np.float32),
    4: np.random.default_rng(2).standard_normal((16, 7, 9, 8)).astype(np.float32),
    5: np.random.default_rng(3).standard_normal((16, 3, 4, 9, 8)).astype(np.float32),
}


def pixels(array: Any, described: TensorMap, base: tuple[int, ...], count: int, shift: int) -> Iterator[Any]:
    """Yield the channels of each pixel along the width; past the bounding box, continue in the next image."""
    columns = described.im2col
    assert columns is not None
    low, high = columns.lower[-1] + shift, array.shape[-2] - 1 + columns.upper[-1] + shift
    image, *between, width, channel = base
    width += shift
    for _ in range(count):
        here = np.zeros(columns.channels, array.dtype)
        where = (image, *between, width)
        for number in range(columns.channels):
            at = (*where, channel + number)
            if all(0 <= index < extent for index, extent in zip(at, array.shape, strict=True)):
                here[number] = array[at]
        yield here
        width += described.element_strides[-2]
        if width > high:
            image, width = image + 1, low


@pytest.mark.parametrize("mode", ["im2col::w", "im2col::w::128"])
@pytest.mark.parametrize("rank", IMAGES)
@pytest.mark.parametrize(
    ("lower", "upper", "start", "shift", "step"), [(0, 0, 2, 0, 1), (-1, -1, -1, 1, 2), (1, -2, 0, 3, 1)]
)
def test_pixels_are_loaded_row_by_row(
    mode: str, rank: int, lower: int, upper: int, start: int, shift: int, step: int
) -> None:
    array = IMAGES[rank]
    between = (0,) * (rank - 3)
    window = Im2col((*between, lower), (*between, upper), 4, 40)
    steps = (1, *(1,) * (rank - 3), step, 1)
    described = map_of(array, (), "f32", im2col=window, steps=steps)
    base = (1, *(2,) * (rank - 3), start, 4)
    count = 128 if mode.endswith("128") else 40
    size = count * 16
    found = loaded(array, described, base[::-1], size, mode, f", {{0, {shift}}}")
    expected = np.stack(list(pixels(array, described, base, count, shift)))
    assert np.abs(expected).max() > 0
    assert found.tobytes() == expected.tobytes()


def test_a_halo_of_pixels_is_not_simulated() -> None:
    described = map_of(IMAGES[3], (), "f32", im2col=Im2col((0,), (0,), 4, 40))
    with pytest.raises(MissingSemantics, match="halo"):
        loaded(IMAGES[3], described, (0, 0, 0), 640, "im2col::w", ", {2, 0}")


def test_pixels_begin_no_further_than_the_bounding_box() -> None:
    array = IMAGES[3]
    described = map_of(array, (), "f32", im2col=Im2col((0,), (-2,), 4, 40))
    body = HEAD + LOAD.format(size=640, rank=3, mode="im2col::w", offsets=", {0, 0}", corner="0, 7, 0")
    result = executed(body, np.zeros(1, np.uint32), WithDescriptor(array, described))
    assert "past the end of the bounding box" in str(result.findings[0])


# --- replaced global address --------------------------------------------------------------------


def test_an_address_may_stand_in_place_of_the_maps() -> None:
    first, second = MATRIX, MATRIX + 100
    out = np.zeros(128, np.uint8)
    load = LOAD.format(size=128, rank=2, mode="tile", offsets="", corner="0, 3")
    load = load.replace("complete_tx::bytes\n", "complete_tx::bytes.override::global_address\n")
    body = HEAD + "ld.param.u64 %rd7, [other];\n" + load.replace("[%rd2, {", "[%rd2, %rd7, {")
    result = executed(
        body + OUT.format(words=32),
        *(out, WithDescriptor(first, map_of(first, (4, 8), "f32")), second),
        parameters=f"{PARAMETERS}, .param .u64 other",
        version="9.4",
    )
    assert [str(finding) for finding in result.findings] == []
    assert out.tobytes() == second[3:7, :8].tobytes()


# --- CTA pairs ----------------------------------------------------------------------------------

ONE = """
@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytesGROUP
    [%r14], [%rd2, {0, %r15}], [%r12];
"""
# Each CTA loads a box and signals the mbarrier of the even CTA of its pair. The even CTA waits for both boxes.
# Then each CTA stores its box.
PAIR = """
mov.b64 %rd2, m;
cvta.param.u64 %rd2, %rd2;
mov.u32 %r2, s;
mov.u32 %r9, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive;
barrier.cluster.wait;
mov.u32 %r10, bar;
and.b32 %r11, %r9, 14;
mapa.shared::cluster.u32 %r12, %r10, %r11;
mov.u32 %r13, s;
mapa.shared::cluster.u32 %r14, %r13, %r9;
shl.b32 %r15, %r9, 2;
setp.eq.u32 %p2, %r9, %r11;
and.pred %p3, %p0, %p2;
@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [bar], BYTES;
LOAD
@!%p2 bra MEET;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
MEET:
barrier.cluster.arrive;
barrier.cluster.wait;
shl.b32 %r6, %r0, 2;
add.u32 %r7, %r2, %r6;
setp.lt.u32 %p4, %r0, 32;
@%p4 ld.shared.u32 %r8, [%r7];
mad.lo.u32 %r16, %r9, 32, %r0;
mad.wide.u32 %rd5, %r16, 4, %rd0;
@%p4 st.global.u32 [%rd5], %r8;
"""


def pair(load: str, size: str, group: str = "") -> str:
    return PAIR.replace("LOAD", load).replace("BYTES", size).replace("GROUP", group)


@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
@each_schedule
def test_the_even_block_of_a_pair_hears_of_both(schedule: dict[str, Any], space: str) -> None:
    """`.shared::cta` applies to the address of the box; the mbarrier may still be in the peer CTA."""
    out = np.zeros((4, 4, 8), np.float32)
    body = pair(ONE.replace("shared::cluster", space), "256", ".cta_group::2")
    described = WithDescriptor(MATRIX, map_of(MATRIX, (4, 8), "f32"))
    result = executed(body, out, described, grid=4, cluster=4, **schedule)
    assert [str(finding) for finding in result.findings] == []
    assert (out == MATRIX[:16, :8].reshape(4, 4, 8)).all()


@pytest.mark.parametrize("group", ["", ".cta_group::1"])
def test_without_a_pair_the_mbarrier_lies_where_the_box_does(group: str) -> None:
    out = np.zeros((2, 4, 8), np.float32)
    body = pair(ONE, "256", group)
    result = executed(body, out, WithDescriptor(MATRIX, map_of(MATRIX, (4, 8), "f32")), grid=2, cluster=2)
    assert {finding.rule for finding in result.findings} == {"mbarrier-wrong-cta"}


def test_another_pair_is_not_told() -> None:
    out = np.zeros((4, 4, 8), np.float32)
    body = pair(ONE, "512", ".cta_group::2").replace("and.b32 %r11, %r9, 14", "mov.u32 %r11, 0")
    result = executed(body, out, WithDescriptor(MATRIX, map_of(MATRIX, (4, 8), "f32")), grid=4, cluster=4)
    assert "mbarrier-wrong-cta" in {finding.rule for finding in result.findings}


# CTA 0 multicasts one box to all CTAs; in each pair, the mbarrier of the even CTA is signaled for both CTAs.
ALL = """
setp.eq.u32 %p5, %r9, 0;
and.pred %p5, %p5, %p0;
mov.b16 %h1, 15;
@%p5 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2
    [%r14], [%rd2, {0, %r15}], [%r12], %h1;
"""


@each_schedule
def test_a_multicast_tells_the_even_block_of_each_pair(schedule: dict[str, Any]) -> None:
    out = np.zeros((4, 4, 8), np.float32)
    described = WithDescriptor(MATRIX, map_of(MATRIX, (4, 8), "f32"))
    result = executed(pair(ALL, "256"), out, described, grid=4, cluster=4, **schedule)
    assert [str(finding) for finding in result.findings] == []
    assert (out == MATRIX[:4, :8]).all()
