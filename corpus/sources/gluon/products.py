# SPDX-License-Identifier: Apache-2.0
"""GEMM in Gluon, where layouts, barriers and copies are explicit."""

from __future__ import annotations

from cases import Case
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)


@gluon.jit
def warpgroups(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    LA: gl.constexpr,
    LB: gl.constexpr,
    LC: gl.constexpr,
    SUMS: gl.constexpr,
):
    """Hopper: a ring of pipeline stages, one MMA group in flight."""
    left = tma.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN], LB)
    out = tma.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN], LC)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    tiles_a = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], LA)
    tiles_b = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], LB)
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(full.index(i), (BM * BK + BK * BN) * 2)
        tma.async_load(left, [row, i * BK], full.index(i), tiles_a.index(i))
        tma.async_load(right, [i * BK, column], full.index(i), tiles_b.index(i))
    total = gl.zeros((BM, BN), gl.float32, layout=SUMS)
    for step in range(K // BK):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), step // STAGES & 1)
        token = warpgroup_mma(tiles_a.index(stage), tiles_b.index(stage), total, is_async=True)
        total = warpgroup_mma_wait(num_outstanding=0, deps=(token,))
        ahead = step + STAGES - 1
        if ahead < K // BK:
            slot = full.index(ahead % STAGES)
            mbarrier.expect(slot, (BM * BK + BK * BN) * 2)
            tma.async_load(left, [row, ahead * BK], slot, tiles_a.index(ahead % STAGES))
            tma.async_load(right, [ahead * BK, column], slot, tiles_b.index(ahead % STAGES))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(i))
    staged = gl.allocate_shared_memory(gl.float16, [BM, BN], LC)
    staged.store(total.to(gl.float16))
    fence_async_shared()
    tma.async_store(out, [row, column], staged)
    tma.store_wait(0)


@gluon.jit
def tensor_memory(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    LA: gl.constexpr,
    LB: gl.constexpr,
    LC: gl.constexpr,
    SUMS: gl.constexpr,
):
    """Blackwell: accumulators in tensor memory, one stage."""
    left = tma.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN], LB)
    out = tma.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN], LC)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    tile_a = gl.allocate_shared_memory(gl.float16, [BM, BK], LA)
    tile_b = gl.allocate_shared_memory(gl.float16, [BK, BN], LB)
    arrived, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(arrived, count=1)
    mbarrier.init(done, count=1)
    total = allocate_tensor_memory(gl.float32, [BM, BN], SUMS)
    phase, adds = 0, False
    for k in range(0, K, BK):
        mbarrier.expect(arrived, (BM * BK + BK * BN) * 2)
        tma.async_load(left, [row, k], arrived, tile_a)
        tma.async_load(right, [k, column], arrived, tile_b)
        mbarrier.wait(arrived, phase)
        tcgen05_mma(tile_a, tile_b, total, use_acc=adds)
        tcgen05_commit(done)
        mbarrier.wait(done, phase)
        phase, adds = phase ^ 1, True
    mbarrier.invalidate(arrived)
    mbarrier.invalidate(done)
    staged = gl.allocate_shared_memory(gl.float16, [BM, BN], LC)
    staged.store(total.load().to(gl.float16))
    fence_async_shared()
    tma.async_store(out, [row, column], staged)
    tma.store_wait(0)


@gluon.jit
def load(
    left, right, tile_a, tile_b, full, empty, row, column, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr
):
    step = 0
    for k in range(0, K, BK):
        mbarrier.wait(empty, step & 1 ^ 1)
        mbarrier.expect(full, (BM * BK + BK * BN) * 2)
        tma.async_load(left, [row, k], full, tile_a)
        tma.async_load(right, [k, column], full, tile_b)
        step += 1


@gluon.jit
def multiply(total, tile_a, tile_b, full, empty, done, K, BK: gl.constexpr):
    step, adds = 0, False
    for _k in range(0, K, BK):
        mbarrier.wait(full, step & 1)
        tcgen05_mma(tile_a, tile_b, total, use_acc=adds, mbarriers=[empty])
        step, adds = step + 1, True
    tcgen05_commit(done)


@gluon.jit
def finish(total, c, done, row, column, N, BM: gl.constexpr, BN: gl.constexpr, OUT: gl.constexpr):
    mbarrier.wait(done, 0)
    values = gl.convert_layout(total.load().to(gl.float16), OUT)
    rows = row + gl.arange(0, BM, layout=gl.SliceLayout(1, OUT))
    columns = column + gl.arange(0, BN, layout=gl.SliceLayout(0, OUT))
    gl.store(c + rows[:, None] * N + columns[None, :], values)


@gluon.jit
def roles(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    LA: gl.constexpr,
    LB: gl.constexpr,
    SUMS: gl.constexpr,
    OUT: gl.constexpr,
):
    """Blackwell: one warp copies, one warp issues MMAs, four warps round and store."""
    left = tma.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN], LB)
    tile_a = gl.allocate_shared_memory(gl.float16, [BM, BK], LA)
    tile_b = gl.allocate_shared_memory(gl.float16, [BK, BN], LB)
    full, empty, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    mbarrier.init(done, count=1)
    total = allocate_tensor_memory(gl.float32, [BM, BN], SUMS)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    gl.warp_specialize(
        [
            (finish, (total, c, done, row, column, N, BM, BN, OUT)),
            (load, (left, right, tile_a, tile_b, full, empty, row, column, K, BM, BN, BK)),
            (multiply, (total, tile_a, tile_b, full, empty, done, K, BK)),
        ],
        [1, 1],
        [24, 24],
    )


def swizzled(*shape: int) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for(list(shape), gl.float16)


def tiles(m: int, n: int, k: int) -> dict[str, object]:
    return {"BM": m, "BN": n, "BK": k, "LA": swizzled(m, k), "LB": swizzled(k, n)}


def hopper(n: int, stages: int, warps: int) -> dict[str, object]:
    sums = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, n, 16])
    return tiles(16 * warps, n, 64) | {"STAGES": stages, "LC": swizzled(16 * warps, n), "SUMS": sums}


def blackwell(n: int, k: int) -> dict[str, object]:
    return tiles(128, n, k) | {"LC": swizzled(128, n), "SUMS": TensorMemoryLayout([128, n], col_stride=1)}


def shared_out(n: int) -> dict[str, object]:
    layout = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    return tiles(128, n, 64) | {"SUMS": TensorMemoryLayout([128, n], col_stride=1), "OUT": layout}


ARRAYS = {"a": "*fp16", "b": "*fp16", "c": "*fp16"}
SIZES = {"M": "i32", "N": "i32", "K": "i32"}


def case(kernel: object, constants: dict[str, object], warps: int = 4) -> Case:
    return Case(kernel, ARRAYS | SIZES, constants, {"num_warps": warps}, (*ARRAYS, *SIZES))


CASES = {
    "narrow": case(warpgroups, hopper(64, 2, 4)),
    "ring": case(warpgroups, hopper(128, 3, 4)),
    "wide": case(warpgroups, hopper(256, 3, 8), 8),
    "memory": case(tensor_memory, blackwell(64, 64)),
    "memory-wide": case(tensor_memory, blackwell(128, 128)),
    "roles": case(roles, shared_out(64)),
    "roles-wide": case(roles, shared_out(128)),
}
