"""Kernels traced from `ptx.tcgen05` calls compute the manual's results on the simulator.

A kernel fills tensor memory and tiles through the calls, multiplies, and stores all of tensor memory. D is compared
with the model of `mma_bench`, and descriptors that the calls compute with the descriptors of `mma_reference`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import share

from pyptx_arch_blackwell.descriptors import InstructionDescriptor, ZeroColumnMask
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b32, from_name, u32

from .mma_bench import Bench
from .mma_reference import ROOMS, Mask, Product, Scales
from .tensor_images import Layout, Tiles
from .tensor_kernels import LANES

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

pytestmark = pytest.mark.scaled

CHUNK = 32  # number of tensor memory columns that a thread loads or stores at once
TILE_TYPES = {4: "e2m1", 8: "e4m3", 16: "bf16", 32: "tf32"}  # element type of a test's tile, by element width in bits

NARROW, WIDE, ACROSS = Layout("K", 32), Layout("K", 128), Layout("MN", 64)
CASES = [
    Product("f16", "f32", "bf16", "bf16", 128, 64, a_layout=WIDE, b_layout=WIDE),
    Product("f16", "f16", "f16", "f16", 64, 24, a_layout=NARROW, b_layout=WIDE, adds=False, negates=(True, False)),
    Product("f16", "f32", "f16", "bf16", 128, 128, a_layout=ACROSS, b_layout=ACROSS, hidden=4, divisor=3),
    Product("f16", "f32", "bf16", "bf16", 128, 64, b_layout=ACROSS, words=".ashift"),
    Product("tf32", "f32", "tf32", "tf32", 128, 32, b_layout=WIDE),
    Product("i8", "s32", "s8", "u8", 64, 48, a_layout=WIDE, b_layout=NARROW, saturates=True),
    Product("f8f6f4", "f32", "e2m3", "e5m2", 128, 136, a_layout=WIDE, b_layout=WIDE),
    Product("f16", "f32", "bf16", "bf16", 128, 64, a_layout=NARROW, b_layout=WIDE, sparse=True, selector=1),
    Product("f8f6f4", "f32", "e4m3", "e2m1", 64, 64, b_layout=WIDE, sparse=True),
    Product("f16", "f32", "f16", "f16", 32, 64, a_layout=NARROW, b_layout=NARROW, ws=True),
    Product("f16", "f32", "f16", "f16", 64, 128, b_layout=NARROW, ws=True,
            mask=Mask(ZeroColumnMask(skip_span=64, use_span=64, first_span=(1, 0, 0, 0)).bits, tuple(range(64)))),
    Product("tf32", "f32", "tf32", "tf32", 128, 64, b_layout=WIDE, ws=True, sparse=True, selector=2),
    Product("mxf8f6f4", "f32", "e5m2", "e3m2", 128, 64, a_layout=WIDE, b_layout=WIDE,
            scales=Scales("ue8m0", "", (2, 1))),
    Product("mxf4", "f32", "e2m1", "e2m1", 128, 32, a_layout=WIDE, b_layout=WIDE,
            scales=Scales("ue8m0", "block32", (0, 2))),
    Product("mxf4nvf4", "f32", "e2m1", "e2m1", 128, 160, b_layout=WIDE, scales=Scales("ue4m3", "block16")),
]  # fmt: skip


def descriptor_of(it: Product) -> InstructionDescriptor:
    """Return the `InstructionDescriptor` of a reference MMA."""
    major = {"a_major": "K" if it.a_layout is None else it.a_layout.major, "b_major": it.b_layout.major}
    scales: dict[str, Any] = {}
    if it.scales is not None:
        scales = {"scale": it.scales.element, "scale_a_id": it.scales.ids[0], "scale_b_id": it.scales.ids[1]}
    options = {"sparse": it.sparse, "selector": it.selector, "saturate": it.saturates}
    signs = {"negate_a": it.negates[0], "negate_b": it.negates[1]}
    return InstructionDescriptor(it.kind, it.d, it.a, it.b, it.m, it.n, **major, **signs, **options, **scales)


def tile_of(it: Product, layout: Layout, rows: int, k: int) -> SharedTile:
    """Return the `SharedTile` of an operand in the given layout."""
    bits = ROOMS[it.kind]
    across = layout.swizzle * 8 // bits
    shape = (rows, max(k, across)) if layout.major == "K" else (k, rows)
    return SharedTile(from_name(TILE_TYPES[bits]), shape, major=layout.major, swizzle=f"{layout.swizzle}B")


def kernel_of(it: Product, places: dict[str, int], words: list[int], columns: int) -> Kernel:
    """Return the kernel of one MMA; `places` are the first tensor memory columns of A, scale factors and metadata."""
    tiles = [
        None if it.a_layout is None else tile_of(it, it.a_layout, it.m, it.stored),
        tile_of(it, it.b_layout, it.n, it.k),
    ]
    sizes = [LANES * columns, *(16 if tile is None else tile.stage_bytes // 4 for tile in tiles)]

    def call(t: Any, a: Any, b: Any) -> None:
        function = getattr(ptx.tcgen05, f"mma{'_ws' * it.ws}{'_sp' * it.sparse}")
        given: dict[str, Any] = {"metadata": t[:, places["metadata"] :]} if it.sparse else {}
        if it.scales is not None:
            given |= {"scale_a": t[:, places["scale_a"] :], "scale_b": t[:, places["scale_b"] :]}
            given |= {"block": int(it.scales.size.removeprefix("block"))} if it.scales.size else {}
        given |= {"scale_input_d": it.divisor} if it.divisor else {}
        given |= {"disable_output_lanes": [reg.scalar(b32, init=word) for word in words]} if words else {}
        given |= {"zero_columns": ZeroColumnMask.decode(it.mask.bits)} if it.mask else {}
        given |= {"ashift": True} if it.words else {}
        a = t[:, places["a"] : places["a"] + it.stored * ROOMS[it.kind] // 32] if a is None else a
        function(t, a, b, idesc=descriptor_of(it), accumulate=it.adds, **given)

    def product(memory: Any, a: Any, b: Any, out: Any) -> None:
        tid, done = reg.from_(ptx.special.tid.x(), u32), smem.mbarrier(1)
        warp, pointers = tid >> 5, ptx.global_ptrs(memory, a, b, out)
        held = [None if tile is None else smem.tile(tile) for tile in tiles]
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(done[0], 1)
        for tile, size, pointer in zip(held, sizes[1:], pointers[1:], strict=False):
            for first in range(0, size if tile is not None else 0, LANES):
                word, base = reg.scalar(b32), reg.scalar(u32)
                ptx.inst.ld.global_.b32(word, ptx.addr(pointer + tid * 4, first * 4), pred=tid + first < size)
                ptx.inst.mov.u32(base, tile)
                ptx.inst.st.shared.b32(ptx.addr(base + tid * 4, first * 4), word, pred=tid + first < size)
        ptx.fence.proxy_async_shared_cta()
        with ptx.tmem.alloc(columns, when=warp == 0, relinquish=True) as t:
            mine, row = t.quarter(warp), tid * (4 * columns)
            for first in range(0, columns, CHUNK):
                values = reg.array(b32, CHUNK)
                for i in range(CHUNK):
                    ptx.inst.ld.global_.b32(values[i], ptx.addr(pointers[0] + row, 4 * (first + i)))
                ptx.tcgen05.st(mine[:, first : first + CHUNK], values, shape="32x32b")
            ptx.tcgen05.wait_st()
            ptx.tcgen05.fence_before_thread_sync()
            ptx.bar.sync(0)
            ptx.tcgen05.fence_after_thread_sync()
            with ptx.if_(tid == 0):
                call(t, *held)
                ptx.tcgen05.commit(done[0])
            ptx.mbarrier.wait(done[0], 0)
            ptx.tcgen05.fence_after_thread_sync()
            for first in range(0, columns, CHUNK):
                values = ptx.tcgen05.ld(None, mine[:, first : first + CHUNK], shape="32x32b")
                ptx.tcgen05.wait_ld()
                for i in range(CHUNK):
                    ptx.inst.st.global_.b32(ptx.addr(pointers[3] + row, 4 * (first + i)), values[i])
        ptx.ret()

    specs = tuple(Tile(size, u32) for size in sizes)
    return kernel(product, in_specs=specs, out_specs=(Tile(LANES * columns, u32),), grid=1, block=128, arch="sm_100a")


@pytest.mark.parametrize("case", share(CASES, 2), ids=str)
@pytest.mark.parametrize("options", [{"seed": 2}, {"delay_async": True}], ids=str)
@pytest.mark.long
def test_a_kernel_of_calls_multiplies(case: Product, options: dict[str, Any]) -> None:
    bench = Bench()
    it = bench.add(case)
    assert descriptor_of(case).bits == case.idesc
    places, words = operands_of(case, bench.issue.constants)
    columns = bench.memory.shape[-1]
    images = images_of(case, bench.tiles[0])
    built = kernel_of(case, places, words, columns)
    result = built.simulate(bench.memory.reshape(-1), *images, checks="all", **options)
    assert not result.findings, str(result.findings[0])
    after = np.asarray(result.outputs[0]).reshape(1, LANES, columns)
    if case.words:
        row = np.arange(case.m)
        shifted = it.sums - it.old
        wanted = shifted[np.where(row % 32 == 31, row, row + 1)] + it.old
        np.testing.assert_allclose(it.found(after), wanted, rtol=0, atol=float(it.bound.max()))
        return
    bench.check(after)


def operands_of(it: Product, constants: list[int]) -> tuple[dict[str, int], list[int]]:
    """Return the constants of the MMA in `mma_bench` by operand name, and the words of its disable-output-lane mask."""
    names = ["a", *["metadata"] * it.sparse, "b", "idesc", *[f"lanes{i}" for i in range(4) if it.hidden is not None]]
    names += ["scale_a", "scale_b"] if it.scales else []
    found = dict(zip(names, constants, strict=False))
    return found, [value for name, value in found.items() if name.startswith("lanes")]


def images_of(it: Product, tiles: Tiles) -> list[np.ndarray[Any, Any]]:
    """Return the tiles of A and B, contiguous in the shared memory image of `mma_bench`, as 32-bit words."""
    start, found = 0, []
    for layout, rows, k in ((it.a_layout, it.m, it.stored), (it.b_layout, it.n, it.k)):
        if layout is None:
            found.append(np.zeros(16, np.uint32))
            continue
        size = tile_of(it, layout, rows, k).stage_bytes
        data = np.zeros(size, np.uint8)
        held = tiles.data[start : start + size]
        data[: len(held)] = held
        found.append(data.view(np.uint32))
        start += -(-size // 1024) * 1024
    return found
