"""A warp-specialized GEMM for Hopper, `C = A · Bᵀ` in bf16: CUDA C++ that was transpiled, and then cleaned by hand.

`corpus/sources/hopper_gemm.cu` is the source, `corpus/nvcc-13.0/hopper_gemm.sm_90a.ptx` the output of nvcc, and
`pyptx transpile --sugar --name gemm` wrote the first version of this file. It was then cleaned in steps. After each
step `pyptx diff` was empty:

- formatting and deviations from it were dropped: whitespace and comments do not affect the kernel;
- registers got descriptive names (`stage`, `phase`, `tile`), and values that are used once got none;
- sequences became functions named by their purpose (`following`, `descriptor`, `release`), where the transpiler had
  made some functions by their form;
- offsets in shared memory got the names that they have in the CUDA C++.

One producer warpgroup keeps a ring of three stages full by TMA; two consumer warpgroups multiply 64 x 256 each with
wgmma. A is M x K, B is N x K, both K-major; CTAs are persistent and compute tile after tile.

    python examples/transpiled/hopper_gemm.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

import pyptx
from pyptx import ptx, reg
from pyptx.types import b8, b32, b64, f32, pred, u32
from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor, run

if TYPE_CHECKING:
    from numpy.typing import NDArray

STAGES, THREADS = 3, 384
A, B, C = 0, 49152, 114688  # byte offsets in shared memory: stages of A and B, TMA boxes of C,
FULL, EMPTY = 212992, 213016  # and the mbarriers of the stages
PANEL = 8192  # bytes of a TMA box of 64 x 64 of C
DESCRIPTOR = 4611686293305360384  # 128-byte swizzle, eight rows are 1024 bytes

module = pyptx.module(version=(9, 0), target="sm_90a")
memory = module.var("shared", "_ZN6hopper6memoryE", b8, 0, align=1024, linking="extern")
wait = partial(ptx.mbarrier.wait, form="scoped_done", label="AGAIN", past_label="READY", done="done")
wgmma_m64n256k16 = ptx.inst.wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
stmatrix_x4 = ptx.inst.stmatrix.sync.aligned.m8n8.x4.shared.b16
load_tile = ptx.inst["cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"]
store_tile = ptx.inst["cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"]


def word() -> reg.Reg:
    """Return a new 32-bit register."""
    return reg.scalar(b32)


def test() -> reg.Reg:
    """Return a new predicate."""
    return reg.scalar(pred)


def less(a: reg.Reg, b: reg.Reg) -> reg.Reg:
    """Emit setp.lt.s32 into a new predicate."""
    answer = test()
    ptx.inst.setp.lt.s32(answer, a, b)
    return answer


def add(a: reg.Reg, b: reg.Reg | int) -> reg.Reg:
    """Return `a + b` in a new register."""
    return ptx.inst.add.s32(word(), a, b)


def shl(value: reg.Reg, places: int) -> reg.Reg:
    """Return `value << places`."""
    return ptx.inst.shl.b32(word(), value, places)


def masked(value: reg.Reg, mask: int) -> reg.Reg:
    """Return `value & mask`."""
    return ptx.inst.and_.b32(word(), value, mask)


def divided_up(value: reg.Reg, log2: int) -> reg.Reg:
    """Return a signed value divided by `2**log2`, rounded up."""
    more = add(value, 2**log2 - 1)
    bias = ptx.inst.shr.u32(word(), ptx.inst.shr.s32(word(), more, 31), 32 - log2)
    return ptx.inst.shr.s32(word(), add(more, bias), log2)


def descriptor(tile: reg.Reg, offset: int, mask: int) -> reg.Reg:
    """Return the matrix descriptor of the tile at address `tile` + `offset`."""
    units = ptx.inst.shr.u32(word(), masked(add(tile, offset), mask), 4)
    return ptx.inst.or_.b64(reg.scalar(b64), ptx.inst.cvt.u64.u32(reg.scalar(b64), units), DESCRIPTOR)


def multiply_stage(acc: list[reg.Reg], base: reg.Reg, rows: reg.Reg, stage: reg.Reg, *, adds: int) -> None:
    """Multiply 64 of K into `acc`, 16 at a time; if `adds` is 0, the first MMA overwrites `acc`."""
    a = add(add(base, shl(stage, 14)), rows)
    first = descriptor(a, A - PANEL, 261120)
    b = add(base, shl(stage, 15))
    wgmma_m64n256k16(acc, first, descriptor(b, B, 261120), adds, 1, 1, 0, 0)
    for k, mask in enumerate((262112, 262080, 262112), 1):
        tile = descriptor(a, A - PANEL + 32 * k, mask)
        wgmma_m64n256k16(acc, tile, descriptor(b, B + 32 * k, mask), 1, 1, 1, 0, 0)
    ptx.inst.wgmma.commit_group.sync.aligned()


def release(base: reg.Reg, stage: reg.Reg) -> None:
    """Arrive at the `EMPTY` mbarrier of a stage."""
    empty = add(add(base, shl(stage, 3)), EMPTY)
    ptx.inst.mbarrier.arrive.shared__cta.b64("_", ptx.addr(empty))


def following(stage: reg.Reg) -> tuple[reg.Reg, reg.Reg]:
    """Return the number of the next stage, and whether the ring wraps there."""
    number = add(stage, 1)
    return number, ptx.inst.setp.eq.s32(test(), number, STAGES)


def flip(phase: reg.Reg, wraps: reg.Reg) -> None:
    """Flip the parity of the phase if the ring wraps."""
    ptx.inst.xor.b32(phase, phase, ptx.inst.selp.u32(word(), 1, 0, wraps))


def tile_column(number: reg.Reg, band: reg.Reg, rows: reg.Reg) -> tuple[reg.Reg, ...]:
    """Return a tile's first column, its band's first tile row, and its number, tile column and height in the band."""
    which = ptx.inst.div.s32(word(), number, band)
    first = shl(which, 4)
    height = ptx.inst.min.s32(word(), ptx.inst.sub.s32(word(), rows, first), 16)
    inside = ptx.inst.sub.s32(word(), number, ptx.inst.mul.lo.s32(word(), which, band))
    column = ptx.inst.div.s32(word(), inside, height)
    return shl(column, 8), first, inside, column, height


def tile_row(first: reg.Reg, inside: reg.Reg, column: reg.Reg, height: reg.Reg) -> reg.Reg:
    """Return a tile's first row."""
    row = ptx.inst.sub.s32(word(), inside, ptx.inst.mul.lo.s32(word(), column, height))
    return shl(add(row, first), 7)


def pack(acc: list[reg.Reg], chunk: int) -> list[reg.Reg]:
    """Return eight accumulator elements from `8 * chunk` on as bf16, two to a register."""
    return [ptx.inst.cvt.rn.bf16x2.f32(word(), acc[8 * chunk + 2 * i + 1], acc[8 * chunk + 2 * i]) for i in range(4)]


def panel_place(tid: reg.Reg, thread: reg.Reg, group: reg.Reg, base: reg.Reg) -> tuple[reg.Reg, reg.Reg]:
    """Return the base of a warpgroup's TMA boxes, without `C`, and the swizzled address of the lane's 16 bytes."""
    swizzled = ptx.inst.xor.b32(word(), masked(shl(tid, 4), 112), masked(tid, 16))
    panels = add(base, shl(group, 15))
    beside = add(swizzled, panels)
    row = ptx.inst.bfi.b32(word(), ptx.inst.shr.u32(word(), thread, 5), masked(tid, 15), 4, 28)
    return panels, add(beside, shl(row, 7))


def stage_panels(acc: list[reg.Reg], tid: reg.Reg, thread: reg.Reg, group: reg.Reg, base: reg.Reg) -> reg.Reg:
    """Write the accumulator of 64 x 256 to the TMA boxes as bf16; return their base, without `C`."""
    packed = pack(acc, 0)
    panels, place = panel_place(tid, thread, group, base)
    for panel in range(4):
        for chunk in range(4):
            packed = packed if panel == chunk == 0 else pack(acc, 4 * panel + chunk)
            if chunk == 0:
                begin = add(place, C + PANEL * panel)
                stmatrix_x4(ptx.addr(begin), packed)
            else:
                stmatrix_x4(ptx.addr(ptx.inst.xor.b32(word(), begin, 32 * chunk)), packed)
    return panels


def store_panels(
    c_map: reg.Reg, panels: reg.Reg, group: reg.Reg, number: reg.Reg, band: reg.Reg, rows: reg.Reg
) -> None:
    """Store the TMA boxes of a warpgroup to their tile of C."""
    column, *place = tile_column(number, band, rows)
    beside = shl(group, 6)
    begins = {panel: add(panels, C + PANEL * panel) for panel in (3, 0, 2, 1)}
    row = add(add(tile_row(*place), beside), -64)
    for panel in range(4):
        at = column if panel == 0 else ptx.inst.or_.b32(word(), column, 64 * panel)
        store_tile(ptx.tensor_addr(c_map, [at, row]), ptx.addr(begins[panel]))
    ptx.inst.cp.async_.bulk.commit_group()


def produce(params: tuple[str, ...], shape: tuple[reg.Reg, ...], maps: tuple[reg.Reg, ...]) -> None:
    """Keep the ring full, for tile after tile."""
    rows, columns, steps, depth = shape
    number, stage, phase = word(), word(), word()
    ptx.inst.mov.u32(number, ptx.special.ctaid.x())
    tiles = ptx.inst.mul.lo.s32(word(), columns, rows)
    ptx.break_("done", pred=ptx.inst.setp.ge.s32(test(), number, tiles))
    band = shl(columns, 4)
    blocks = ptx.inst.mov.u32(word(), ptx.special.nctaid.x())
    ptx.inst.mov.u32(stage, 0)
    a_map, b_map = (ptx.inst.cvta.param.u64(reg.scalar(b64), each) for each in maps[:2])
    ptx.inst.mov.u32(phase, stage)
    with ptx.loop(pred=lambda: less(number, tiles)):
        with ptx.if_(~ptx.inst.setp.lt.s32(test(), depth, 1)):
            column, *place = tile_column(number, band, rows)
            row = tile_row(*place)
            k, step = word(), word()
            ptx.inst.mov.u32(step, ptx.inst.mov.u32(k, 0))
            with ptx.loop(pred=lambda: less(step, steps)):
                ptx.pragma("nounroll")
                offset = shl(stage, 3)
                base = ptx.inst.mov.u32(word(), memory)
                barriers = add(base, offset)
                empty = add(barriers, EMPTY)
                wait(empty, ptx.inst.xor.b32(word(), phase, 1))
                full = add(barriers, FULL)
                size = ptx.inst.mov.u32(word(), 49152)
                ptx.inst.mbarrier.arrive.expect_tx.shared__cta.b64("_", ptx.addr(full), size)
                a = add(base, shl(stage, 14))
                load_tile(ptx.addr(a), ptx.tensor_addr(a_map, [k, row]), ptx.addr(full))
                b = add(base, shl(stage, 15))
                b = add(b, B)
                load_tile(ptx.addr(b), ptx.tensor_addr(b_map, [k, column]), ptx.addr(full))
                after, wraps = following(stage)
                flip(phase, wraps)
                ptx.inst.selp.b32(stage, 0, after, wraps)
                ptx.inst.add.s32(k, k, 64)
                ptx.inst.add.s32(step, step, 1)
        ptx.inst.add.s32(number, number, blocks)


def consume(params: tuple[str, ...], shape: tuple[reg.Reg, ...], c_map: reg.Reg, tid: reg.Reg, group: reg.Reg) -> None:
    """Multiply the stages of the ring, and store tile after tile."""
    rows, columns, steps, _ = shape
    acc = list(reg.array(f32, 128))
    number, stage, after, phase = word(), word(), word(), word()
    tiles = ptx.inst.mul.lo.s32(word(), columns, rows)
    ptx.inst.mov.u32(number, ptx.special.ctaid.x())
    with ptx.if_(~ptx.inst.setp.ge.s32(test(), number, tiles)):
        band = shl(columns, 4)
        ptx.inst.mov.u32(phase, 0)
        to = ptx.inst.cvta.param.u64(reg.scalar(b64), c_map)
        ptx.inst.mov.u32(stage, phase)
        more = test()
        with ptx.loop(pred=more):
            depth = ptx.inst.ld.param.u32(word(), ptx.addr(params[5]))
            offset = shl(stage, 3)
            base = ptx.inst.mov.u32(word(), memory)
            wait(add(add(base, offset), FULL), phase)
            ptx.inst.wgmma.fence.sync.aligned()
            rows_of_group = masked(shl(tid, 6), -8192)
            multiply_stage(acc, base, rows_of_group, stage, adds=0)
            number_after, wraps = following(stage)
            ptx.inst.selp.b32(after, 0, number_after, wraps)
            flip(phase, wraps)
            with ptx.if_(~ptx.inst.setp.lt.s32(test(), depth, 65)):
                consume_rest(acc, (stage, after, phase), steps, tid)
            first = ptx.inst.setp.ne.s32(test(), masked(tid, 31), 0)
            ptx.inst.wgmma.wait_group.sync.aligned(0)
            with ptx.if_(~first):
                release(ptx.inst.mov.u32(word(), memory), stage)
            thread = masked(tid, 127)
            not_first = ptx.inst.setp.ne.s32(test(), thread, 0)
            with ptx.if_(~not_first):
                ptx.inst.cp.async_.bulk.wait_group.read(0)  # TMA has read the last tile
            base = ptx.inst.mov.u32(word(), memory)
            ptx.inst.bar.sync(group, 128)
            panels = stage_panels(acc, tid, thread, group, base)
            ptx.inst.fence.proxy.async_.shared__cta()
            ptx.inst.bar.sync(group, 128)
            with ptx.if_(~not_first):
                store_panels(to, panels, group, number, band, rows)
            ptx.inst.add.s32(number, number, ptx.inst.mov.u32(word(), ptx.special.nctaid.x()))
            ptx.inst.setp.lt.s32(more, number, tiles)
            ptx.inst.mov.u32(stage, after)
    thread = masked(tid, 127)
    ptx.break_("done", pred=ptx.inst.setp.ne.s32(test(), thread, 0))
    ptx.inst.cp.async_.bulk.wait_group(0)


def consume_rest(acc: list[reg.Reg], ring: tuple[reg.Reg, ...], steps: reg.Reg, tid: reg.Reg) -> None:
    """Multiply all stages of a tile but the first, with one wgmma group in flight."""
    stage, after, phase = ring
    step, before, more = word(), word(), test()
    ptx.inst.mov.u32(step, 1)
    ptx.inst.mov.u32(before, stage)
    with ptx.loop(pred=more):
        ptx.pragma("nounroll")
        ptx.inst.mov.u32(stage, after)
        rows = masked(shl(tid, 6), -8192)
        base = ptx.inst.mov.u32(word(), memory)
        not_first = ptx.inst.setp.ne.s32(test(), masked(tid, 31), 0)
        barriers = add(base, shl(stage, 3))
        wait(add(barriers, FULL), phase)
        ptx.inst.wgmma.fence.sync.aligned()
        multiply_stage(acc, base, rows, stage, adds=1)
        ptx.inst.wgmma.wait_group.sync.aligned(1)  # the MMAs of the previous stage
        with ptx.if_(~not_first):
            release(ptx.inst.mov.u32(word(), memory), before)
        ptx.inst.add.s32(step, step, 1)
        number_after, wraps = following(stage)
        ptx.inst.selp.b32(after, 0, number_after, wraps)
        flip(phase, wraps)
        ptx.inst.setp.lt.s32(more, step, steps)
        ptx.inst.mov.u32(before, stage)


def begin_barriers() -> None:
    """Initialize the mbarriers: `FULL` expects one arrival, `EMPTY` those of eight warps."""
    base, one, warps = word(), word(), word()
    ptx.inst.mov.u32(base, memory)
    for stage in range(STAGES):
        full = add(base, FULL + 8 * stage)
        if stage == 0:
            ptx.inst.mov.u32(one, 1)
        ptx.inst.mbarrier.init.shared__cta.b64(ptx.addr(full), one)
        empty = add(base, EMPTY + 8 * stage)
        if stage == 0:
            ptx.inst.mov.u32(warps, 8)
        ptx.inst.mbarrier.init.shared__cta.b64(ptx.addr(empty), warps)
    ptx.inst.fence.mbarrier_init.release.cluster()


TENSOR_MAP = module.param(..., b8, 128, align=64)


@module.entry(
    "_ZN6hopper4gemmILi3EEEvNS_9TensorMapES1_S1_iii",
    [TENSOR_MAP, TENSOR_MAP, TENSOR_MAP, u32, u32, u32],
    maxntid=(THREADS, 1, 1),
    minnctapersm=1,
    linking="visible",
)
def gemm(*params: str) -> None:
    """Multiply. Parameters: the tensor maps of A, B and C, and M, N and K."""
    maps = tuple([ptx.inst.mov.b64(reg.scalar(b64), each) for each in params[:3]])
    m, n, depth = (ptx.inst.ld.param.u32(word(), ptx.addr(each)) for each in params[3:])
    rows, columns, steps = divided_up(m, 7), divided_up(n, 8), divided_up(depth, 6)
    shape = rows, columns, steps, depth
    tid = ptx.inst.mov.u32(word(), ptx.special.tid.x())
    group = ptx.inst.shr.u32(word(), tid, 7)
    not_first = ptx.inst.setp.ne.s32(test(), tid, 0)
    with ptx.if_(~not_first):
        begin_barriers()
    ptx.inst.bar.sync(0)
    with ptx.block("done"):
        with ptx.if_(~ptx.inst.setp.eq.s32(test(), group, 0), label="producer"):
            ptx.inst.setmaxnreg.inc.sync.aligned.u32(240)
            consume(params, shape, maps[2], tid, group)
        with ptx.else_(end_label="done", end_uniform=True, define_end=False):
            ptx.inst.setmaxnreg.dec.sync.aligned.u32(24)
            ptx.break_("done", pred=not_first)
            produce(params, shape, maps)
    ptx.inst.ret()


def reference(a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return A · Bᵀ in float64."""
    return a.astype(np.float64) @ b.astype(np.float64).T


def tiled(array: NDArray[np.generic], rows: int) -> WithDescriptor:
    """Return an array with its tensor map: boxes of `rows` rows of 64, 128-byte swizzle."""
    return WithDescriptor(array, TensorMap("bf16", array.shape, array.strides, (rows, 64), (1, 1), swizzle="128B"))


def main() -> None:
    """Run it on the simulator, and print the largest error."""
    m, n, depth = 200, 304, 192
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, depth), (n, depth)))
    c = np.zeros((m, n), ml_dtypes.bfloat16)
    arguments = [tiled(a, 128), tiled(b, 256), tiled(c, 64), m, n, depth]
    run(module.module(), args=arguments, grid=2, block=THREADS, shared_bytes=EMPTY + 8 * STAGES, checks="all")
    error = np.abs(c.astype(np.float64) - reference(a, b)).max()
    print(f"{m} x {n}, from {depth}: largest error {error:.3g} of numbers up to {np.abs(reference(a, b)).max():.3g}")


if __name__ == "__main__":
    main()
