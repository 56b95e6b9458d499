"""GEMMs in Gluon with explicit mbarriers, TMA copies, wgmma and warp roles."""

from cases import HOPPER, Case, corpus, double, eighths, given, made, whole
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

ring = corpus("gluon/products.py").warpgroups  # kernel of the corpus: ring of pipeline stages, copies run ahead of MMAs


@gluon.jit
def one_tile(a, b, c, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LA: gl.constexpr, LB: gl.constexpr,
             LC: gl.constexpr, SUMS: gl.constexpr):
    """GEMM with one stage: copy, wait, multiply."""
    left = tma.make_tensor_descriptor(a, [BM, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, BN], [BN, 1], [BK, BN], LB)
    out = tma.make_tensor_descriptor(c, [BM, BN], [BN, 1], [BM, BN], LC)
    tile_a, tile_b = gl.allocate_shared_memory(gl.float16, [BM, BK], LA), gl.allocate_shared_memory(gl.float16, [BK, BN], LB)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    total = gl.zeros((BM, BN), gl.float32, layout=SUMS)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(full, (BM * BK + BK * BN) * 2)
        tma.async_load(left, [0, k], full, tile_a)
        tma.async_load(right, [k, 0], full, tile_b)
        mbarrier.wait(full, phase)
        total = warpgroup_mma_wait(num_outstanding=0, deps=(warpgroup_mma(tile_a, tile_b, total, is_async=True),))
        phase ^= 1
    mbarrier.invalidate(full)
    staged = gl.allocate_shared_memory(gl.float16, [BM, BN], LC)
    staged.store(total.to(gl.float16))
    fence_async_shared()
    tma.async_store(out, [0, 0], staged)
    tma.store_wait(0)


@gluon.jit
def load(left, right, tiles_a, tiles_b, full, empty, row, column, K, BM: gl.constexpr, BN: gl.constexpr,
         BK: gl.constexpr, STAGES: gl.constexpr):
    for step in range(K // BK):
        stage = step % STAGES
        mbarrier.wait(empty.index(stage), step // STAGES & 1 ^ 1)
        mbarrier.expect(full.index(stage), (BM * BK + BK * BN) * 2)
        tma.async_load(left, [row, step * BK], full.index(stage), tiles_a.index(stage))
        tma.async_load(right, [step * BK, column], full.index(stage), tiles_b.index(stage))


@gluon.jit
def multiply(c, tiles_a, tiles_b, full, empty, row, column, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
             STAGES: gl.constexpr, SUMS: gl.constexpr):
    total = gl.zeros((BM, BN), gl.float32, layout=SUMS)
    for step in range(K // BK):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), step // STAGES & 1)
        token = warpgroup_mma(tiles_a.index(stage), tiles_b.index(stage), total, is_async=True)
        total = warpgroup_mma_wait(num_outstanding=0, deps=(token,))
        mbarrier.arrive(empty.index(stage), count=1)
    rows, columns = gl.arange(0, BM, layout=gl.SliceLayout(1, SUMS)), gl.arange(0, BN, layout=gl.SliceLayout(0, SUMS))
    gl.store(c + (row + rows)[:, None] * N + (column + columns)[None, :], total)


@gluon.jit
def roles(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr, LA: gl.constexpr,
          LB: gl.constexpr, SUMS: gl.constexpr):
    """GEMM with warp roles: one warp copies, four multiply and store."""
    left = tma.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN], LB)
    tiles_a = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], LA)
    tiles_b = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], LB)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    gl.warp_specialize(
        [
            (multiply, (c, tiles_a, tiles_b, full, empty, row, column, N, K, BM, BN, BK, STAGES, SUMS)),
            (load, (left, right, tiles_a, tiles_b, full, empty, row, column, K, BM, BN, BK, STAGES)),
        ],
        [1],
        [24],
    )


@gluon.jit
def from_registers(a, b, c, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LB: gl.constexpr, SUMS: gl.constexpr):
    """GEMM whose wgmma reads operand A from registers."""
    LEFT: gl.constexpr = gl.DotOperandLayout(0, SUMS, 2)
    rows, at = gl.arange(0, BM, layout=gl.SliceLayout(1, LEFT)), gl.arange(0, BK, layout=gl.SliceLayout(0, LEFT))
    x = gl.load(a + rows[:, None] * BK + at[None, :])
    right = tma.make_tensor_descriptor(b, [BK, BN], [BN, 1], [BK, BN], LB)
    tile, full = gl.allocate_shared_memory(gl.float16, [BK, BN], LB), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.expect(full, BK * BN * 2)
    tma.async_load(right, [0, 0], full, tile)
    mbarrier.wait(full, 0)
    mbarrier.invalidate(full)
    total = warpgroup_mma(x, tile, gl.zeros((BM, BN), gl.float32, layout=SUMS))
    out, columns = gl.arange(0, BM, layout=gl.SliceLayout(1, SUMS)), gl.arange(0, BN, layout=gl.SliceLayout(0, SUMS))
    gl.store(c + out[:, None] * BN + columns[None, :], total)


@gluon.jit
def of_any_type(a, b, c, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LA: gl.constexpr, LB: gl.constexpr,
                SUMS: gl.constexpr):
    """GEMM with a K-major B."""
    TYPE: gl.constexpr = a.dtype.element_ty
    left = tma.make_tensor_descriptor(a, [BM, BK], [BK, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [BN, BK], [BK, 1], [BN, BK], LB)
    tile_a, tile_b = gl.allocate_shared_memory(TYPE, [BM, BK], LA), gl.allocate_shared_memory(TYPE, [BN, BK], LB)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.expect(full, (BM + BN) * BK * TYPE.primitive_bitwidth // 8)
    tma.async_load(left, [0, 0], full, tile_a)
    tma.async_load(right, [0, 0], full, tile_b)
    mbarrier.wait(full, 0)
    mbarrier.invalidate(full)
    total = warpgroup_mma(tile_a, tile_b.permute((1, 0)), gl.zeros((BM, BN), c.dtype.element_ty, layout=SUMS))
    rows, columns = gl.arange(0, BM, layout=gl.SliceLayout(1, SUMS)), gl.arange(0, BN, layout=gl.SliceLayout(0, SUMS))
    gl.store(c + rows[:, None] * BN + columns[None, :], total)


@gluon.jit
def reduced(x, out, B: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    """CTAs add their tiles into one output tile by TMA reductions."""
    into = tma.make_tensor_descriptor(out, [B, B], [B, 1], [B, B], SHARED)
    rows, columns = gl.arange(0, B, layout=gl.SliceLayout(1, LAYOUT)), gl.arange(0, B, layout=gl.SliceLayout(0, LAYOUT))
    tile = gl.allocate_shared_memory(gl.float32, [B, B], SHARED)
    tile.store(gl.load(x + gl.program_id(0) * B * B + rows[:, None] * B + columns[None, :]))
    fence_async_shared()
    tma.async_atomic_add(into, [0, 0], tile)
    tma.store_wait(0)


def swizzled(*shape):
    return gl.NVMMASharedLayout.get_default_for(list(shape), gl.float16)


def layouts(m, n, k, warps=4):
    sums = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, n, 16])
    return {"BM": m, "BN": n, "BK": k, "LA": swizzled(m, k), "LB": swizzled(k, n), "LC": swizzled(m, n), "SUMS": sums}


def product(name, kernel, shape, tile, out="float16", sizes=("M", "N", "K"), warps=4, without=(), **more):
    m, n, k = shape
    a, b = eighths(m, k), eighths(k, n)
    known = {"M": m, "N": n, "K": k}
    arguments = {"a": given(a, "float16"), "b": given(b, "float16"), "c": made(double(a) @ double(b), out)}
    constants = {key: value for key, value in (layouts(*tile, warps) | more).items() if key not in without}
    return Case(name, kernel, arguments | {size: known[size] for size in sizes}, (m // tile[0], n // tile[1]),
                constants=constants, options={"num_warps": warps}, targets=HOPPER)


def typed(name, element, language_type, out, k, width, factors):
    a, b = factors(64, k), factors(32, k)
    want = double(a) @ double(b).T
    layout = lambda *shape: gl.NVMMASharedLayout.get_default_for(list(shape), language_type)
    sums = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 32, width])
    constants = {"BM": 64, "BN": 32, "BK": k, "LA": layout(64, k), "LB": layout(32, k), "SUMS": sums}
    arguments = {"a": given(a, element), "b": given(b, element), "c": made(want.astype("i4") if out == "int32" else want, out)}
    return Case(name, of_any_type, arguments, constants=constants, options={"num_warps": 4}, targets=HOPPER)


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


ADDED = eighths(3, 32, 32)

CASES = [
    typed("product-bfloat16", "bfloat16", gl.bfloat16, "float32", 64, 16, eighths),
    typed("product-tf32", "float32", gl.float32, "float32", 32, 8, eighths),
    typed("product-e4m3", "float8_e4m3fn", gl.float8e4nv, "float32", 128, 32, eighths),
    typed("product-e5m2", "float8_e5m2", gl.float8e5, "float32", 128, 32, eighths),
    typed("product-int8", "int8", gl.int8, "int32", 128, 32, small),
    Case("reduced-by-maps", reduced, {"x": given(ADDED), "out": made(double(ADDED).sum(0), "float32")}, 3, targets=HOPPER,
         constants={"B": 32, "LAYOUT": gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]),
                    "SHARED": gl.NVMMASharedLayout.get_default_for([32, 32], gl.float32)}),
    product("one-tile", one_tile, (64, 64, 128), (64, 64, 64), sizes=("K",)),
    product("ring", ring, (128, 128, 256), (64, 64, 64), STAGES=3),
    product("ring-wide", ring, (64, 256, 128), (64, 256, 64), STAGES=2),
    product("ring-of-two-warpgroups", ring, (128, 128, 192), (128, 128, 64), warps=8, STAGES=2),
    product("roles", roles, (64, 128, 256), (64, 64, 64), out="float32", without=("LC",), STAGES=2),
    product("from-registers", from_registers, (64, 32, 64), (64, 32, 64), out="float32", sizes=(), without=("LA", "LC")),
]
