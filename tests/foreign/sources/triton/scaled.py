"""GEMMs of narrow floats with a scale factor per block of K, which the tensor cores apply."""

import numpy as np
import triton
import triton.language as tl
from cases import BLACKWELL, Case, Described, double, given, made, narrow, spread, whole

PACKED = ("e2m1",)  # element types with two elements per byte


@triton.jit
def through_pointers(
    a, scale_a, b, scale_b, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, EACH: tl.constexpr,
):  # fmt: skip
    """GEMM of K-major A and B, with a scale factor per `EACH` of K."""
    PACK_A: tl.constexpr = 2 if LEFT == "e2m1" else 1
    PACK_B: tl.constexpr = 2 if RIGHT == "e2m1" else 1
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at_a, at_b = k // PACK_A + tl.arange(0, BK // PACK_A), k // PACK_B + tl.arange(0, BK // PACK_B)
        parts = k // EACH + tl.arange(0, BK // EACH)
        x = tl.load(a + rows[:, None] * (K // PACK_A) + at_a[None, :])
        y = tl.load(b + columns[None, :] * (K // PACK_B) + at_b[:, None])
        left = tl.load(scale_a + rows[:, None] * (K // EACH) + parts[None, :])
        right = tl.load(scale_b + columns[:, None] * (K // EACH) + parts[None, :])
        total = tl.dot_scaled(x, left, LEFT, y, right, RIGHT, total)
    tl.store(c + rows[:, None] * (BN * tl.num_programs(1)) + columns[None, :], total)


@triton.jit
def through_maps(
    a, scale_a, b, scale_b, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, EACH: tl.constexpr,
):  # fmt: skip
    """Scaled GEMM with tensor maps; scale factors are in blocks of 128 rows x 4, in the order of tensor memory."""
    PACK_A: tl.constexpr = 2 if LEFT == "e2m1" else 1
    PACK_B: tl.constexpr = 2 if RIGHT == "e2m1" else 1
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    DEEP: tl.constexpr = BK // EACH // 4
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK):
        x, y = a.load([row, k // PACK_A]), b.load([column, k // PACK_B])
        left = scale_a.load([0, row // 128, k // EACH // 4, 0, 0]).reshape(BM // 128, DEEP, 32, 4, 4)
        right = scale_b.load([0, column // 128, k // EACH // 4, 0, 0]).reshape(BN // 128, DEEP, 32, 4, 4)
        left = left.trans(0, 3, 2, 1, 4).reshape(BM, BK // EACH)
        right = right.trans(0, 3, 2, 1, 4).reshape(BN, BK // EACH)
        total = tl.dot_scaled(x, left, LEFT, y.T, right, RIGHT, total)
    c.store([row, column], total)


ELEMENT = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m1": "uint8"}


def factor(kind, rows, k):
    """Return random numbers of a narrow type, and the array to pass to the kernel."""
    values, stored = narrow(kind, rows, k)
    return values, given(stored, ELEMENT[kind])


def scales(rows, k, each):
    """Return scale factors and the array to pass to the kernel: exponents for 32 elements each, or E4M3 for 16 each."""
    if each == 32:
        exponents = whole(rows, k // 32, low=124, high=131, dtype="uint8")
        return np.exp2(exponents - 127.0), exponents, "uint8"
    chosen = whole(rows, k // 16, low=1, high=17) / 8
    return double(chosen), chosen.astype(np.float32), "float8_e4m3fn"


def turned(stored):
    """Return scale factors in blocks of 128 rows x 4, with rows r, r + 32, r + 64 and r + 96 adjacent."""
    rows, wide = stored.shape
    blocks = stored.reshape(rows // 128, 4, 32, wide // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(blocks).reshape(1, rows // 128, wide // 4, 2, 256)


def product(name, left, right, shape, tile, each=32, mapped=False, **options):
    (m, n, k), (bm, bn, bk) = shape, tile
    (va, a), (vb, b) = factor(left, m, k), factor(right, n, k)
    (fa, sa, element), (fb, sb, _) = scales(m, k, each), scales(n, k, each)
    c = made(double(va) * spread(fa, each) @ (double(vb) * spread(fb, each)).T, "float32")
    if mapped:
        box = (1, 1, bk // each // 4, 2, 256)
        arguments = {
            "a": Described(a, (bm, bk // (2 if left in PACKED else 1))),
            "scale_a": Described(given(turned(sa), element), (1, bm // 128, *box[2:])),
            "b": Described(b, (bn, bk // (2 if right in PACKED else 1))),
            "scale_b": Described(given(turned(sb), element), (1, bn // 128, *box[2:])),
            "c": Described(c, (bm, bn)),
        }
    else:
        arguments = {"a": a, "scale_a": given(sa, element), "b": b, "scale_b": given(sb, element), "c": c}
    constants = {"K": k, "BM": bm, "BN": bn, "BK": bk, "LEFT": left, "RIGHT": right, "EACH": each}
    return Case(
        name,
        through_maps if mapped else through_pointers,
        arguments,
        (m // bm, n // bn),
        constants=constants,
        options={"num_warps": 4} | options,
        targets=BLACKWELL,
    )


CASES = [
    product("mxfp8", "e4m3", "e4m3", (128, 128, 256), (128, 128, 128)),
    product("mxfp8-of-two-kinds", "e5m2", "e4m3", (128, 64, 256), (128, 64, 128), num_stages=3),
    product("mxfp8-eight-warps", "e4m3", "e5m2", (256, 128, 128), (128, 128, 128), num_warps=8),
    product("mxfp4", "e2m1", "e2m1", (128, 128, 256), (128, 128, 128)),
    product("mxfp4-wide", "e2m1", "e2m1", (128, 256, 256), (128, 256, 256), num_warps=8),
    product("nvfp4", "e2m1", "e2m1", (128, 128, 256), (128, 128, 128), 16),
    product("mxfp8-by-mxfp4", "e4m3", "e2m1", (128, 128, 256), (128, 128, 128)),
    product("mxfp8-through-maps", "e4m3", "e4m3", (256, 256, 256), (128, 128, 128), mapped=True),
    product("mxfp4-through-maps", "e2m1", "e2m1", (128, 256, 512), (128, 128, 256), mapped=True, num_stages=2),
    product("nvfp4-through-maps", "e2m1", "e2m1", (128, 128, 256), (128, 128, 128), 16, mapped=True),
]
