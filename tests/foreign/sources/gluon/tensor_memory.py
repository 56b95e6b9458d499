"""Blackwell kernels in Gluon: tensor memory, its loads and stores, tcgen05.mma of every kind, CTA pairs, warp roles."""

import numpy as np
from cases import BLACKWELL, Case, bits, distinct, double, eighths, given, made, narrow, spread, whole
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    clc,
    fma2,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
    tcgen05_mma_barrier_count,
    tcgen05_mma_scaled,
    tma,
)
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier


@gluon.jit
def filled(descriptor, at, other, there, full, tile, into):
    """Load two tiles by TMA, and wait for their bytes."""
    mbarrier.init(full, count=1)
    mbarrier.expect(full, descriptor.nbytes_per_cta + other.nbytes_per_cta)
    tma.async_load(descriptor, at, full, tile)
    tma.async_load(other, there, full, into)
    mbarrier.wait(full, 0)
    mbarrier.invalidate(full)


@gluon.jit
def multiplied(x, y, sums, done):
    mbarrier.init(done, count=1)
    tcgen05_mma(x, y, sums, use_acc=False)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)


@gluon.jit
def stored(c, values, N: gl.constexpr):
    LAYOUT: gl.constexpr = values.type.layout
    rows = gl.arange(0, values.shape[0], layout=gl.SliceLayout(1, LAYOUT))
    columns = gl.arange(0, values.shape[1], layout=gl.SliceLayout(0, LAYOUT))
    gl.store(c + rows[:, None] * N + columns[None, :], values)


@gluon.jit
def one_tile(a, b, c, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LA: gl.constexpr, LB: gl.constexpr,
             SUMS: gl.constexpr, TURNED: gl.constexpr, VARIANT: gl.constexpr):
    """GEMM with a K-major or N-major B."""
    TYPE: gl.constexpr = a.dtype.element_ty
    left = tma.make_tensor_descriptor(a, [BM, BK], [BK, 1], [BM, BK], LA)
    HEIGHT: gl.constexpr = BN if TURNED else BK
    WIDTH: gl.constexpr = BK if TURNED else BN
    right = tma.make_tensor_descriptor(b, [HEIGHT, WIDTH], [WIDTH, 1], [HEIGHT, WIDTH], LB)
    x, y = gl.allocate_shared_memory(TYPE, [BM, BK], LA), gl.allocate_shared_memory(TYPE, [HEIGHT, WIDTH], LB)
    filled(left, [0, 0], right, [0, 0], mbarrier.allocate_mbarrier(), x, y)
    sums = allocate_tensor_memory(c.dtype.element_ty, [BM, BN], SUMS)
    multiplied(x, y.permute((1, 0)) if TURNED else y, sums, mbarrier.allocate_mbarrier())
    stored(c, sums.load(sums.get_reg_layout(instr_variant=VARIANT)), BN)


@gluon.jit
def left_in_tensor_memory(a, b, c, B: gl.constexpr, K: gl.constexpr, LB: gl.constexpr, SUMS: gl.constexpr,
                          LEFT: gl.constexpr, LAYOUT: gl.constexpr):
    """MMA with operand A in tensor memory and an accumulator with initial values."""
    rows, at = gl.arange(0, 128, layout=gl.SliceLayout(1, LAYOUT)), gl.arange(0, K, layout=gl.SliceLayout(0, LAYOUT))
    x = allocate_tensor_memory(gl.float16, [128, K], LEFT)
    x.store(gl.convert_layout(gl.load(a + rows[:, None] * K + at[None, :]), x.get_reg_layout()))
    y = gl.allocate_shared_memory(gl.float16, [K, B], LB)
    columns = gl.arange(0, B, layout=gl.SliceLayout(0, LAYOUT))
    deep = gl.arange(0, K, layout=gl.SliceLayout(1, LAYOUT))
    y.store(gl.load(b + deep[:, None] * B + columns[None, :]))
    fence_async_shared()
    sums, done = allocate_tensor_memory(gl.float32, [128, B], SUMS), mbarrier.allocate_mbarrier()
    sums.store(gl.full((128, B), 1.0, gl.float32, layout=sums.get_reg_layout()))
    mbarrier.init(done, count=1)
    tcgen05_mma(x, y, sums)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    stored(c, sums.load(), B)


@gluon.jit
def there_and_back(x, out, N: gl.constexpr, LAYOUT: gl.constexpr, SUMS: gl.constexpr, STORED: gl.constexpr,
                   LOADED: gl.constexpr):
    """Tensor memory is stored in one `tcgen05.st` shape and loaded in another `tcgen05.ld` shape."""
    TYPE: gl.constexpr = x.dtype.element_ty
    M: gl.constexpr = SUMS.block[0]
    rows, columns = gl.arange(0, M, layout=gl.SliceLayout(1, LAYOUT)), gl.arange(0, N, layout=gl.SliceLayout(0, LAYOUT))
    memory = allocate_tensor_memory(TYPE, [M, N], SUMS)
    values = gl.load(x + rows[:, None] * N + columns[None, :])
    memory.store(gl.convert_layout(values, memory.get_reg_layout(instr_variant=STORED)))
    half = memory.slice(N // 2, N // 2)
    stored(out, memory.load(memory.get_reg_layout(instr_variant=LOADED)), N)
    loaded = half.load()
    half.store(loaded + loaded)
    stored(out + M * N, memory.load(memory.get_reg_layout(instr_variant=LOADED)), N)


@gluon.jit
def scaled(a, sa, b, sb, c, BN: gl.constexpr, KA: gl.constexpr, KB: gl.constexpr, PARTS: gl.constexpr, LA: gl.constexpr,
           LB: gl.constexpr, LS: gl.constexpr, SUMS: gl.constexpr, SCALES: gl.constexpr, LEFT: gl.constexpr,
           RIGHT: gl.constexpr, COPIED: gl.constexpr):
    """Block-scaled MMA; scale factors are copied from shared memory or stored from registers to tensor memory."""
    left = tma.make_tensor_descriptor(a, [128, KA], [KA, 1], [128, KA], LA)
    right = tma.make_tensor_descriptor(b, [BN, KB], [KB, 1], [BN, KB], LB)
    x, y = (gl.allocate_shared_memory(a.dtype.element_ty, [128, KA], LA),
            gl.allocate_shared_memory(b.dtype.element_ty, [BN, KB], LB))
    filled(left, [0, 0], right, [0, 0], mbarrier.allocate_mbarrier(), x, y)
    scales_a = allocate_tensor_memory(sa.dtype.element_ty, [128, PARTS], SCALES)
    scales_b = allocate_tensor_memory(sb.dtype.element_ty, [BN, PARTS], SCALES)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    if COPIED:
        FLAT: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
        row = gl.arange(0, 32 * PARTS // 4, layout=gl.SliceLayout(1, FLAT))
        at = gl.arange(0, 16, layout=gl.SliceLayout(0, FLAT))
        shared_a = gl.allocate_shared_memory(sa.dtype.element_ty, [32 * PARTS // 4, 16], LS)
        shared_b = gl.allocate_shared_memory(sb.dtype.element_ty, [32 * PARTS // 4, 16], LS)
        shared_a.store(gl.load(sa + row[:, None] * 16 + at[None, :]))
        shared_b.store(gl.load(sb + row[:, None] * 16 + at[None, :]))
        fence_async_shared()
        tcgen05_copy(shared_a.reshape([1, PARTS // 4, 32, 4, 4]).permute((0, 3, 2, 1, 4)).reshape([128, PARTS]), scales_a)
        tcgen05_copy(shared_b.reshape([1, PARTS // 4, 32, 4, 4]).permute((0, 3, 2, 1, 4)).reshape([128, PARTS]), scales_b)
    else:
        REGISTERS: gl.constexpr = scales_a.get_reg_layout()
        OTHERS: gl.constexpr = scales_b.get_reg_layout()
        row = gl.arange(0, 128, layout=gl.SliceLayout(1, REGISTERS))
        at = gl.arange(0, PARTS, layout=gl.SliceLayout(0, REGISTERS))
        column = gl.arange(0, BN, layout=gl.SliceLayout(1, OTHERS))
        there = gl.arange(0, PARTS, layout=gl.SliceLayout(0, OTHERS))
        scales_a.store(gl.load(sa + row[:, None] * PARTS + at[None, :]))
        scales_b.store(gl.load(sb + column[:, None] * PARTS + there[None, :]))
    sums = allocate_tensor_memory(gl.float32, [128, BN], SUMS)
    tcgen05_mma_scaled(x, y.permute((1, 0)), sums, scales_a, scales_b, LEFT, RIGHT, use_acc=False)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    stored(c, sums.load(), BN)


@gluon.jit
def copied(x, out, N: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr, SUMS: gl.constexpr):
    """Copy shared memory to tensor memory unchanged."""
    rows, columns = gl.arange(0, 128, layout=gl.SliceLayout(1, LAYOUT)), gl.arange(0, N, layout=gl.SliceLayout(0, LAYOUT))
    shared = gl.allocate_shared_memory(gl.float32, [128, N], SHARED)
    shared.store(gl.load(x + rows[:, None] * N + columns[None, :]))
    fence_async_shared()
    memory, done = allocate_tensor_memory(gl.float32, [128, N], SUMS), mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    tcgen05_copy(shared, memory)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    stored(out, memory.load(), N)


@gluon.jit
def load(left, right, tiles_a, tiles_b, full, empty, row, column, K, BK: gl.constexpr, STAGES: gl.constexpr):
    for step in range(K // BK):
        stage = step % STAGES
        mbarrier.wait(empty.index(stage), step // STAGES & 1 ^ 1)
        mbarrier.expect(full.index(stage), left.nbytes_per_cta + right.nbytes_per_cta)
        tma.async_load(left, [row, step * BK], full.index(stage), tiles_a.index(stage))
        tma.async_load(right, [step * BK, column], full.index(stage), tiles_b.index(stage))


@gluon.jit
def multiply(sums, tiles_a, tiles_b, full, empty, done, K, BK: gl.constexpr, STAGES: gl.constexpr):
    for step in range(K // BK):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), step // STAGES & 1)
        tcgen05_mma(tiles_a.index(stage), tiles_b.index(stage), sums, use_acc=step > 0, mbarriers=[empty.index(stage)])
    tcgen05_commit(done)


@gluon.jit
def finish(out, sums, done, row, column, staged):
    mbarrier.wait(done, 0)
    staged.store(sums.load().to(gl.float16))
    fence_async_shared()
    tma.async_store(out, [row, column], staged)
    tma.store_wait(0)


@gluon.jit
def ring(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr, LA: gl.constexpr,
         LB: gl.constexpr, LC: gl.constexpr, SUMS: gl.constexpr):
    """GEMM with warp roles: one warp copies, one multiplies, four convert and store."""
    left = tma.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN], LB)
    out = tma.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN], LC)
    tiles_a = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], LA)
    tiles_b = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], LB)
    staged = gl.allocate_shared_memory(gl.float16, [BM, BN], LC)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    sums = allocate_tensor_memory(gl.float32, [BM, BN], SUMS)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    gl.warp_specialize(
        [
            (finish, (out, sums, done, row, column, staged)),
            (load, (left, right, tiles_a, tiles_b, full, empty, row, column, K, BK, STAGES)),
            (multiply, (sums, tiles_a, tiles_b, full, empty, done, K, BK, STAGES)),
        ],
        [1, 1],
        [24, 24],
    )


@gluon.jit
def of_two_blocks(a, b, c, K: gl.constexpr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LA: gl.constexpr,
                  LB: gl.constexpr, SUMS: gl.constexpr):
    """MMA over a CTA pair: each CTA has half the rows of A and half the columns of B."""
    left = tma.make_tensor_descriptor(a, [BM, K], [K, 1], [BM, BK], LA)
    right = tma.make_tensor_descriptor(b, [K, BN], [BN, 1], [BK, BN], LB)
    x, y = gl.allocate_shared_memory(gl.float16, [BM, BK], LA), gl.allocate_shared_memory(gl.float16, [BK, BN], LB)
    full, done = mbarrier.allocate_mbarrier(two_ctas=True), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(done, count=1)
    sums = allocate_tensor_memory(gl.float32, [BM, BN], SUMS)
    for step in range(K // BK):
        mbarrier.expect(full, left.nbytes_per_cta + right.nbytes_per_cta)
        tma.async_load(left, [0, step * BK], full, x)
        tma.async_load(right, [step * BK, 0], full, y)
        mbarrier.wait(full, step & 1)
        tcgen05_mma(x, y, sums, use_acc=step > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, step & 1)
    mbarrier.invalidate(full)
    mbarrier.invalidate(done)
    stored(c, sums.load(), BN)


@gluon.jit
def rows_through_maps(x, numbers, out, N: gl.constexpr, COUNT: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    """Rows are gathered by one tensor map and, doubled, scattered by another."""
    frm = tma.make_tensor_descriptor(x, [64, N], [N, 1], [1, N], SHARED)
    into = tma.make_tensor_descriptor(out, [64, N], [N, 1], [1, N], SHARED)
    NUMBERS: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0]))
    picked = gl.load(numbers + gl.arange(0, COUNT, layout=NUMBERS))
    tile, full = gl.allocate_shared_memory(gl.float16, [COUNT, N], SHARED), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.expect(full, COUNT * N * 2)
    tma.async_gather(frm, picked, 0, full, tile)
    mbarrier.wait(full, 0)
    mbarrier.invalidate(full)
    values = tile.load(LAYOUT)
    tile.store(values + values)
    fence_async_shared()
    tma.async_scatter(into, picked, 0, tile)
    tma.store_wait(0)


@gluon.jit
def taken_over(x, out, B: gl.constexpr, LAYOUT: gl.constexpr):
    """A CTA takes over the work of CTAs that have not started (cluster launch control)."""
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    told = mbarrier.allocate_mbarrier()
    mbarrier.init(told, count=1)
    number, phase, more = gl.program_id(0), 0, gl.to_tensor(True)
    while more:
        mbarrier.expect(told, 16)
        clc.try_cancel(answer, told)
        at = number * B + gl.arange(0, B, layout=LAYOUT)
        gl.store(out + at, fma2(gl.load(x + at), gl.load(x + at), gl.load(x + at)))
        mbarrier.wait(told, phase)
        result = clc.load_result(answer)
        more, phase = result.is_canceled(), phase ^ 1
        if more:
            number = result.program_id(0)
    mbarrier.invalidate(told)


TYPES = {"float16": gl.float16, "bfloat16": gl.bfloat16, "float32": gl.float32, "float8_e4m3fn": gl.float8e4nv,
         "float8_e5m2": gl.float8e5, "int8": gl.int8, "uint8": gl.uint8}  # fmt: skip
ROWS = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
OF_E2M1, EACH = "e2m1", {"uint8": 32, "float8_e4m3fn": 16}


def shared(element, *shape, **more):
    return gl.NVMMASharedLayout.get_default_for(list(shape), TYPES[element], **more)


def memory(m, n, stride=1, **more):
    return TensorMemoryLayout([m, n], stride, **more)


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


def product(name, element, out, m, n, k, factors=eighths, turned=True, variant="32x32b"):
    a, b = factors(m, k), factors(*((n, k) if turned else (k, n)))
    want = double(a) @ double(b.T if turned else b)
    c = made(want.astype("i4") if out == "int32" else want, out)
    constants = {"BM": m, "BN": n, "BK": k, "LA": shared(element, m, k), "LB": shared(element, *b.shape),
                 "SUMS": memory(m, n, 2 if out == "float16" else 1), "TURNED": turned, "VARIANT": variant}  # fmt: skip
    return Case(name, one_tile, {"a": given(a, element), "b": given(b, element), "c": c}, constants=constants,
                options={"num_warps": 4}, targets=BLACKWELL)


def shapes(name, m, n, into, back, element="float32", warps=4):
    x = bits(m, n).view(np.int32) >> 2
    want = np.stack([x, x])
    want[1, :, n // 2 :] *= 2
    constants = {"N": n, "LAYOUT": gl.BlockedLayout([1, 4], [1, 32], [warps, 1], [1, 0]), "SUMS": memory(m, n), "STORED": into,
                 "LOADED": back}  # fmt: skip
    return Case(name, there_and_back, {"x": given(x), "out": made(want, "int32")}, constants=constants,
                options={"num_warps": warps}, targets=BLACKWELL)


def of_kinds(name, left, right, n, k, element="uint8", mapped=False):
    kinds = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", OF_E2M1: "uint8"}
    (va, a), (vb, b) = narrow(left, 128, k), narrow(right, n, k)
    each = EACH[element]
    fa, fb = (whole(rows, k // each, low=120, high=131, dtype="uint8") for rows in (128, n))
    sa, sb = (np.exp2(f - 127.0) if each == 32 else (f - 119) / 8 for f in (fa, fb))
    want = double(va) * spread(sa, each) @ (double(vb) * spread(sb, each)).T
    if each == 16:
        fa, fb = sa.astype(np.float32), sb.astype(np.float32)
    if mapped:  # order of scale factors: 4 factors each of rows r, r + 32, r + 64, r + 96 are adjacent
        fa, fb = (np.ascontiguousarray(f.reshape(4, 32, -1, 4).transpose(2, 1, 0, 3)) for f in (fa, fb))
    # If only one operand is packed, tensor cores require one byte per number of that operand.
    padded = (left == OF_E2M1) != (right == OF_E2M1)
    constants = {
        "BN": n, "KA": a.shape[1], "KB": b.shape[1], "PARTS": k // each,
        "LA": shared(kinds[left], *a.shape, fp4_padded=padded and left == OF_E2M1),
        "LB": shared(kinds[right], *b.shape, fp4_padded=padded and right == OF_E2M1),
        "LS": gl.NVMMASharedLayout(0, 8, 2), "SUMS": memory(128, n), "SCALES": TensorMemoryScalesLayout(), "LEFT": left,
        "RIGHT": right, "COPIED": mapped,
    }  # fmt: skip
    arguments = {"a": given(a, kinds[left]), "sa": given(fa, element), "b": given(b, kinds[right]),
                 "sb": given(fb, element), "c": made(want, "float32")}
    return Case(name, scaled, arguments, constants=constants, options={"num_warps": 4}, targets=BLACKWELL)


def through_ring(name, shape, tile, stages):
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = eighths(m, k), eighths(k, n)
    arguments = {"a": given(a, "float16"), "b": given(b, "float16"), "c": made(double(a) @ double(b), "float16")}
    constants = {"BM": bm, "BN": bn, "BK": bk, "STAGES": stages, "LA": shared("float16", bm, bk),
                 "LB": shared("float16", bk, bn), "LC": shared("float16", bm, bn), "SUMS": memory(bm, bn)}
    return Case(name, ring, arguments | {"M": m, "N": n, "K": k}, (m // bm, n // bn), constants=constants,
                options={"num_warps": 4}, targets=BLACKWELL)


def shared_product(name, m, n, k, step):
    a, b = eighths(m, k), eighths(k, n)
    arguments = {"a": given(a, "float16"), "b": given(b, "float16"), "c": made(double(a) @ double(b), "float32")}
    constants = {"K": k, "BM": m, "BN": n, "BK": step, "LA": shared("float16", m, step, cga_layout=[[1, 0]]),
                 "LB": shared("float16", step, n, cga_layout=[[0, 1]]),
                 "SUMS": memory(m // 2, n, cga_layout=[[1, 0]], two_ctas=True)}
    return Case(name, of_two_blocks, arguments, constants=constants, options={"num_warps": 4, "num_ctas": 2},
                targets=BLACKWELL)


TA, TB = eighths(128, 64), eighths(64, 64)
TX, GX, PICKED = eighths(128, 64), eighths(64, 64), distinct(64)[:32]
MOVED = np.zeros((64, 64))
MOVED[PICKED] = double(GX[PICKED]) * 2
CX = eighths(2048)

CASES = [
    product("half", "float16", "float32", 128, 64, 64),
    product("half-wide", "float16", "float32", 128, 256, 64, turned=False),
    product("half-of-64-rows", "float16", "float32", 64, 64, 64),
    product("half-to-half", "float16", "float16", 128, 64, 64),
    product("bfloat16", "bfloat16", "float32", 128, 128, 64),
    product("tf32", "float32", "float32", 128, 64, 32),
    product("e4m3", "float8_e4m3fn", "float32", 128, 64, 128),
    product("e5m2", "float8_e5m2", "float32", 128, 32, 128),
    product("int8", "int8", "int32", 128, 64, 128, small),
    product("sums-by-16x256b", "float16", "float32", 128, 64, 32, variant="16x256b"),
    product("sums-by-16x128b", "float16", "float32", 128, 64, 32, variant="16x128b"),
    product("sums-by-16x64b", "float16", "float32", 128, 64, 32, variant="16x64b"),
    shapes("stored-by-32x32b-loaded-by-16x64b", 128, 64, "32x32b", "16x64b"),
    shapes("stored-by-16x64b-loaded-by-16x256b", 128, 64, "16x64b", "16x256b"),
    shapes("stored-by-16x256b-loaded-by-16x128b", 128, 64, "16x256b", "16x128b"),
    shapes("stored-by-16x128b-loaded-by-32x32b", 128, 64, "16x128b", "32x32b"),
    shapes("two-warpgroups", 128, 128, "32x32b", "32x32b_splitn", warps=8),
    shapes("64-rows-by-16x256b", 64, 64, "32x32b", "16x256b"),
    shapes("64-rows-by-16x128b", 64, 64, "16x128b", "16x64b"),
    Case("left-in-tensor-memory", left_in_tensor_memory,
         {"a": given(TA, "float16"), "b": given(TB, "float16"), "c": made(1 + double(TA) @ double(TB), "float32")},
         constants={"B": 64, "K": 64, "LB": shared("float16", 64, 64), "SUMS": memory(128, 64), "LEFT": memory(128, 64),
                    "LAYOUT": ROWS}, options={"num_warps": 4}, targets=BLACKWELL),
    of_kinds("mxfp8", "e4m3", "e5m2", 64, 128),
    of_kinds("mxfp8-copied", "e4m3", "e4m3", 128, 128, mapped=True),
    of_kinds("mxfp4", OF_E2M1, OF_E2M1, 64, 128),
    of_kinds("mxfp4-copied", OF_E2M1, OF_E2M1, 128, 256, mapped=True),
    of_kinds("nvfp4", OF_E2M1, OF_E2M1, 64, 128, "float8_e4m3fn"),
    of_kinds("nvfp4-copied", OF_E2M1, OF_E2M1, 128, 128, "float8_e4m3fn", mapped=True),
    of_kinds("mxfp8-by-mxfp4", "e4m3", OF_E2M1, 128, 128),
    Case("copied", copied, {"x": given(TX), "out": made(double(TX), "float32")},
         constants={"N": 64, "LAYOUT": ROWS, "SHARED": shared("float32", 128, 64), "SUMS": memory(128, 64)},
         options={"num_warps": 4}, targets=BLACKWELL),
    through_ring("roles", (128, 128, 256), (128, 64, 64), 3),
    through_ring("roles-wide", (128, 512, 256), (128, 256, 64), 2),
    through_ring("roles-of-64-rows", (128, 64, 192), (64, 64, 64), 2),
    shared_product("two-blocks", 256, 128, 128, 64),
    shared_product("two-blocks-wide", 256, 256, 128, 64),
    shared_product("two-blocks-of-64-rows", 128, 128, 128, 64),
    Case("rows-gathered-and-scattered", rows_through_maps, {"x": given(GX, "float16"), "numbers": given(PICKED),
         "out": made(MOVED, "float16")}, constants={"N": 64, "COUNT": 32, "LAYOUT": ROWS, "SHARED": shared("float16", 32, 64)},
         options={"num_warps": 4}, targets=BLACKWELL),
    Case("blocks-taken-over", taken_over, {"x": given(CX), "out": made(double(CX) * CX + CX, "float32")}, 8,
         constants={"B": 256, "LAYOUT": gl.BlockedLayout([2], [32], [4], [0])}, options={"num_warps": 4}, targets=BLACKWELL),
]
