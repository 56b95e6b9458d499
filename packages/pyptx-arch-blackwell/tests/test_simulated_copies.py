"""tcgen05.cp and shift write the manual's lanes and columns; tcgen05.commit arrives at each mbarrier in its mask."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_sim import run

from .mma_bench import Bench
from .mma_reference import Product
from .tensor_images import Layout, Tiles, codes_of, row_bytes
from .tensor_kernels import LANES, Issue, outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

pytestmark = pytest.mark.scaled(3)

# By shape of tcgen05.cp: source rows, bytes per source row, and the lanes to which each source row is copied.
COPIES = {
    "128x256b": (128, 32, lambda row: [row]),
    "4x256b": (4, 32, lambda row: [32 * row]),
    "128x128b": (128, 16, lambda row: [row]),
    "64x128b.warpx2::02_13": (64, 16, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (64, 16, lambda row: [row % 32 + 64 * (row // 32) + 32 * warp for warp in range(2)]),
    "32x128b.warpx4": (32, 16, lambda row: [row + 32 * warp for warp in range(4)]),
}
LAYOUTS = [Layout("K", 0), Layout("K", 0, gap=128), Layout("K", 32), Layout("K", 64, skip=32),
           Layout("K", 128, gap=1024), Layout("K", 128, skip=96)]  # fmt: skip
FORMATS = {"": None, ".b8x16.b4x16_p64": "e2m1", ".b8x16.b6x16_p32": "e3m2"}
SCHEDULES = [{}, {"seed": 3}, {"delay_async": True}]


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", COPIES)
def test_copies_put_rows_into_their_lanes(shape: str, form: str, blocks: int) -> None:
    """One kernel has a copy from each shared memory layout; each CTA of a pair copies its own data."""
    rng = np.random.default_rng(5)
    rows, width, lanes = COPIES[shape]
    memory = rng.integers(0, 1 << 32, (blocks, LANES, 64), np.uint32)
    issue, tiles, wanted = Issue(blocks), [Tiles() for _ in range(blocks)], memory.copy()
    element = FORMATS[form]
    for number, layout in enumerate(LAYOUTS):
        column = 8 * number + 4 * (width == 16 and number % 2)
        for block, tile in enumerate(tiles):
            if element is None:
                source = found = rng.integers(0, 256, (rows, width)).astype(np.uint8)
            else:
                codes = codes_of(rng, element, (rows, width))
                source = row_bytes(rng, codes, element, 8)
                found = codes << (2 if element == "e2m1" else 0)  # tcgen05.cp unpacks e2m1 to bits 2 to 5 of a byte
            descriptor = tile.put(source, layout)
            for row in range(rows):
                wanted[block, lanes(row), column : column + width // 4] = found[row].view(np.uint32)
        issue.emit(f"tcgen05.cp.cta_group::{blocks}.{shape}{form} {issue.at(column)}, {issue.descriptor(descriptor)};")
    shared = np.stack([tile.data for tile in tiles])
    for options in SCHEDULES if not form else [{}]:
        np.testing.assert_array_equal(outcome(issue, memory=memory, shared=shared, **options), wanted)


@pytest.mark.parametrize(("form", "element"), [(form, element) for form, element in FORMATS.items() if element])
def test_products_multiply_what_copies_decompress(form: str, element: str) -> None:
    """A is copied to tensor memory before the MMA of the same pipeline, without a wait between them."""
    bench = Bench()
    it = Product("f8f6f4", "f32", element, "e4m3", 128, 64)
    bench.add(it)
    constants = bench.issue.constants
    issue, held = Issue(), bench.memory
    first = 64  # first tensor memory column of operand A, whose rows tcgen05.shift moves
    stored = held[0, :, first : first + 8].copy()
    held[0, :, first : first + 8] = 0
    codes = stored.view(np.uint8) >> 2 & 15 if element == "e2m1" else stored.view(np.uint8) & 63
    tiles = Tiles(bench.shared[0])
    descriptor = tiles.put(row_bytes(bench.rng, codes, element, 8), Layout("K", 32))
    issue.setup, issue.constants = bench.issue.setup, constants
    source = issue.descriptor(descriptor)
    issue.emit(f"tcgen05.cp.cta_group::1.128x256b{form} {issue.at(first)}, {source};", *bench.issue.lines)
    for options in SCHEDULES:
        after = outcome(issue, memory=held, shared=tiles.data[None], **options)
        bench.expected[0].check(after)


@pytest.mark.parametrize("blocks", [1, 2])
def test_shifts_move_the_lanes_of_a_warp_down_by_one(blocks: int) -> None:
    memory = np.random.default_rng(6).integers(0, 1 << 32, (blocks, LANES, 64), np.uint32)
    issue, wanted = Issue(blocks), memory.copy()
    for lane, column in ((0, 0), (32, 8), (96, 24), (96, 24), (64, 17)):
        issue.emit(f"tcgen05.shift.cta_group::{blocks}.down {issue.at(column, lane)};")
        wanted[:, lane : lane + 31, column : column + 8] = wanted[:, lane + 1 : lane + 32, column : column + 8].copy()
    for options in SCHEDULES:
        np.testing.assert_array_equal(outcome(issue, memory=memory, **options), wanted)


@pytest.mark.parametrize(("m", "blocks", "kind", "element"), [(128, 1, "f16", "f16"), (256, 2, "i8", "s8")])
def test_a_product_can_shift_the_rows_of_a(m: int, blocks: int, kind: str, element: str) -> None:
    """With .ashift, each row of A is the next row, as after tcgen05.shift, except the last row of a lane quarter."""
    d = "s32" if kind == "i8" else "f32"
    bench = Bench(blocks)
    it = bench.add(Product(kind, d, element, element, m, 64, blocks, adds=False, words=".ashift.collector::a::discard"))
    row = np.arange(m)
    following = np.where(row % 32 == 31, row, row + 1)
    found = it.found(bench.run()).astype(np.float64)
    np.testing.assert_allclose(found, it.sums[following], atol=float(it.bound.max()))


COMMIT = """
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 masks)
{
.reg .b32 %thread, %block, %mask, %slot, %v;
.reg .b16 %half;
.reg .b64 %a, %out;
.reg .pred %leads, %done;
.shared .align 4 .b32 slot;
.shared .align 8 .b64 bar;
.shared .align 1024 .b8 data[4096];
mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x;
setp.eq.u32 %leads, %thread, 0;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ld.param.u64 %a, [masks]; mad.wide.u32 %a, %block, 8, %a;
ld.global.b32 %mask, [%a]; ld.global.b32 %v, [%a+4];
cvt.u16.u32 %half, %mask;
@%leads mbarrier.init.shared.b64 [bar], %v;
@%leads fence.mbarrier_init.release.cluster;
bar.sync 0;
ld.shared.b32 %slot, [slot];
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
@!%leads bra ISSUED;
tcgen05.shift.cta_group::1.down [%slot];
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %half;
ISSUED:
WAIT:
mbarrier.try_wait.parity.shared.b64 %done, [bar], 0;
@!%done bra WAIT;
ld.param.u64 %out, [out]; mad.wide.u32 %out, %block, 4, %out;
@%leads st.global.b32 [%out], 1;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %slot, 32;
ret;
}
"""


@pytest.mark.parametrize(("seed", "delay_async"), [*product((0, 1, 2), (False, True))])
@pytest.mark.parametrize("masks", [(0b1111,) * 4, (0b0010, 0b0100, 0b1000, 0b0001), (0b1111, 0b0001, 0b0010, 0b1100)])
def test_a_commit_arrives_at_the_barriers_of_all_blocks_that_it_names(
    masks: tuple[int, ...], seed: int, *, delay_async: bool
) -> None:
    """Each of four CTAs expects one arrival per mask that includes it: with fewer arrivals, its wait would hang."""
    arrivals = [sum(mask >> block & 1 for mask in masks) for block in range(4)]
    given, out = np.array(list(zip(masks, arrivals, strict=True)), np.uint32), np.zeros(4, np.uint32)
    result = run(
        COMMIT, grid=4, block=32, cluster=4, args=[out, given], checks="all", seed=seed, delay_async=delay_async
    )
    assert not [finding for finding in result.findings if finding.rule != "uninitialized-memory"]
    assert out.tolist() == [1] * 4
