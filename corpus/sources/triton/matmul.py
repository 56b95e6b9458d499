# SPDX-License-Identifier: Apache-2.0
"""GEMM: through pointers, through tensor maps, persistent, with warp specialization."""

from __future__ import annotations

import triton
import triton.language as tl
from cases import Case, descriptor


@triton.jit
def tile_of(number, rows, columns, BAND: tl.constexpr):
    """Return the row and the column of a tile: bands of rows are traversed column by column."""
    band = number // (BAND * columns)
    height = tl.minimum(rows - band * BAND, BAND)
    inside = number % (BAND * columns)
    return band * BAND + inside % height, inside // height


@triton.jit
def product(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A · B, row-major."""
    row, column = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), 8)
    rows, columns, steps = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = a + (rows % M)[:, None] * stride_a + steps[None, :]
    right = b + steps[:, None] * stride_b + (columns % N)[None, :]
    total = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, K, BK):
        x = tl.load(left, mask=k + steps[None, :] < K, other=0.0)
        y = tl.load(right, mask=k + steps[:, None] < K, other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * stride_b
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """Split K: partial sums are added to C with atomics."""
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    steps = tl.program_id(2) * BK + tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK * PARTS):
        x = tl.load(a + rows[:, None] * K + k + steps[None, :])
        y = tl.load(b + (k + steps[:, None]) * N + columns[None, :])
        total = tl.dot(x, y, total, input_precision="tf32x3")
    tl.atomic_add(c + rows[:, None] * N + columns[None, :], total, mask=rows[:, None] < M, sem="relaxed")


@triton.jit
def through_maps(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALISED: tl.constexpr):
    """Tensor maps from the host; B is K-major."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALISED):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALISED: tl.constexpr):
    """Persistent, with tensor maps made by the kernel."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for number in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0), warp_specialize=SPECIALISED):
        row, column = tile_of(number, rows, columns, 8)
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(left.load([row * BM, k]), right.load([column * BN, k]).T, total)
        out.store([row * BM, column * BN], total.to(tl.float16))


@triton.jit
def scaled(
    a,
    scale_a,
    b,
    scale_b,
    c,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
):
    """Narrow floats with one scale factor per 32 elements of K."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + k + tl.arange(0, BK)[None, :])
        y = tl.load(b + (k + tl.arange(0, BK))[:, None] * BN + columns[None, :])
        blocks = k // 32 + tl.arange(0, BK // 32)
        scales = tl.load(scale_a + rows[:, None] * (K // 32) + blocks[None, :])
        others = tl.load(scale_b + columns[:, None] * (K // 32) + blocks[None, :])
        total = tl.dot_scaled(x, scales, LEFT, y, others, RIGHT, total)
    tl.store(c + rows[:, None] * BN + columns[None, :], total)


SIZES = {"M": "i32", "N": "i32", "K": "i32"}
ARRAYS = ("a", "b", "c")
TILE = {"BM": 64, "BN": 64, "BK": 64}


def plain(factors: str, sums: str, tile: dict[str, int], **options: int) -> Case:
    strides = dict.fromkeys(("stride_a", "stride_b", "stride_c"), "i32")
    signature = {"a": f"*{factors}", "b": f"*{factors}", "c": f"*{sums}", **SIZES, **strides}
    return Case(product, signature, tile, options, divisible=(*ARRAYS, *SIZES, *strides))


def mapped(tile: dict[str, int], *, specialised: bool, **options: int) -> Case:
    maps = {"a": ("BM", "BK"), "b": ("BN", "BK"), "c": ("BM", "BN")}
    signature = {name: descriptor("fp16", *(tile[side] for side in sides)) for name, sides in maps.items()}
    return Case(through_maps, signature | SIZES, tile | {"SPECIALISED": specialised}, options, divisible=tuple(SIZES))


def taken(tile: dict[str, int], *, specialised: bool, **options: int) -> Case:
    signature = dict.fromkeys(ARRAYS, "*fp16") | SIZES
    return Case(persistent, signature, tile | {"SPECIALISED": specialised}, options, divisible=(*ARRAYS, *SIZES))


def narrow(left: tuple[str, str], right: tuple[str, str]) -> Case:
    signature = {"a": f"*{left[0]}", "scale_a": "*u8", "b": f"*{right[0]}", "scale_b": "*u8", "c": "*fp32", "K": "i32"}
    constants = {"BM": 64, "BN": 64, "BK": 128, "LEFT": left[1], "RIGHT": right[1]}
    return Case(scaled, signature, constants, divisible=tuple(signature))


CASES = {
    "half": plain("fp16", "fp16", TILE, num_warps=4, num_stages=3),
    "wide": plain("bf16", "fp32", {"BM": 128, "BN": 128, "BK": 32}, num_warps=8, num_stages=4),
    "tf32": plain("fp32", "fp32", {"BM": 64, "BN": 32, "BK": 32}, num_warps=4, num_stages=2),
    "fp8": plain("fp8e4nv", "fp16", {"BM": 64, "BN": 64, "BK": 128}, num_warps=4, num_stages=2),
    "int8": plain("i8", "i32", {"BM": 32, "BN": 64, "BK": 64}, num_warps=2, num_stages=2),
    "split": Case(
        split,
        dict.fromkeys(ARRAYS, "*fp32") | SIZES,
        {"BM": 32, "BN": 32, "BK": 32, "PARTS": 4},
        {"num_warps": 2},
        (*ARRAYS, *SIZES),
    ),
    "maps": mapped(TILE, specialised=False, num_warps=4, num_stages=3),
    "maps-wide": mapped({"BM": 128, "BN": 256, "BK": 64}, specialised=False, num_warps=8, num_stages=3),
    "maps-roles": mapped({"BM": 64, "BN": 128, "BK": 64}, specialised=True, num_warps=4, num_stages=2),
    "persistent": taken(TILE, specialised=False, num_warps=4, num_stages=3),
    "persistent-roles": taken({"BM": 128, "BN": 64, "BK": 64}, specialised=True, num_warps=4, num_stages=2),
    "cluster": taken({"BM": 128, "BN": 128, "BK": 64}, specialised=False, num_ctas=2),
    "scaled": narrow(("fp8e4nv", "e4m3"), ("fp8e5", "e5m2")),
}
