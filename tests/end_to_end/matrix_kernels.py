"""Tensor-core GEMM of any size: ldmatrix, mma.sync, and stores at the positions of the fragment elements."""

from __future__ import annotations

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b16, b32, bf16, f32, u32

TILE_M, TILE_N, STEP = 64, 64, 16
WARPS = TILE_M // 16
THREADS = WARPS * 32
# Row pitch in shared memory, in elements: rows are aligned to 16 bytes, and eight rows cover all banks once.
PITCH_A, PITCH_B = STEP + 8, TILE_N + 8
SHAPE = (16, 8, 16)


def _load(pointer, tile, pitch, thread, origin, limit, rows, columns):
    """Copy a tile of `rows` x `columns` to shared memory, one element per thread at a time; zeros beyond the edges."""
    width = limit[1]
    value = reg.scalar(b16)
    for first in range(0, rows * columns, THREADS):
        place = thread + first
        row, column = place // columns, place % columns
        y, x = origin[0] + row, origin[1] + column
        inside = (y < limit[0]) & (x < width)
        ptx.mov(b16, value, 0)
        with ptx.if_(inside):
            ptx.ld(b16, value, ptx.addr(pointer + y * (width * 2) + x * 2))
        ptx.st(b16, ptx.addr(tile + row * (pitch * 2) + column * 2), value, space="shared")


def _addresses(tile, pitch, lane, first_row):
    """Return the shared memory address of a lane's row for ldmatrix.x4: 16 rows, two columns of eight elements."""
    return tile + (first_row + lane % 16) * (pitch * 2) + (lane // 16) * 16


@kernel(
    in_specs=(Tile("M", "K", bf16), Tile("K", "N", bf16)),
    out_specs=(Tile("M", "N", f32),),
    grid=lambda M, N, K: (-(-N // TILE_N), -(-M // TILE_M)),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def gemm(A, B, C):
    """C = A B. A warp computes 16 rows of a tile of 64 x 64."""
    (M, K), N = A.shape, B.shape[1]
    a_tile, b_tile = smem.alloc(bf16, (TILE_M, PITCH_A)), smem.alloc(bf16, (STEP, PITCH_B))
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    thread = reg.from_(ptx.special.tid.x(), u32)
    lane, warp = thread % 32, thread // 32
    top, left = reg.from_(ptx.special.ctaid.y(), u32) * TILE_M, reg.from_(ptx.special.ctaid.x(), u32) * TILE_N
    a_base, b_base = reg.from_(a_tile, u32), reg.from_(b_tile, u32)
    a_rows, b_rows = _addresses(a_base, PITCH_A, lane, warp * 16), _addresses(b_base, PITCH_B, lane, 0)
    a, b = reg.array(b32, 4), reg.array(b32, 4)
    sums = [[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(TILE_N // 8)]
    for k in ptx.range_(0, K, STEP):
        _load(pa, a_base, PITCH_A, thread, (top, k), (M, K), TILE_M, STEP)
        _load(pb, b_base, PITCH_B, thread, (k, left), (K, N), STEP, TILE_N)
        ptx.bar.sync(0)
        ptx.ldmatrix(dst=a, src=a_rows)
        for pair in range(TILE_N // 16):
            ptx.ldmatrix(dst=b, src=ptx.addr(b_rows, pair * 32), trans=True)
            for half in range(2):
                c, right = sums[2 * pair + half], [b[2 * half], b[2 * half + 1]]
                types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32}
                ptx.mma.sync(shape=SHAPE, **types, d=c, a=a, b=right, c=c)
        ptx.bar.sync(0)
    fragment = ptx.mma.fragment(shape=SHAPE, operand="c", dtype=f32)
    for block, held in enumerate(sums):
        for i, value in enumerate(held):
            row = top + warp * 16 + fragment.row(lane, i)
            column = left + block * 8 + fragment.column(lane, i)
            with ptx.if_((row < M) & (column < N)):
                ptx.st(f32, ptx.addr(pc + row * (N * 4) + column * 4), value)
    ptx.ret()
