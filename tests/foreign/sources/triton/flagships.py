"""Typical Triton kernels for Blackwell, compared with our code: tiles, stages and warp roles of full size."""

import triton
import triton.language as tl
from attention import mapped
from cases import BLACKWELL, Case, corpus, double, eighths, given, made

MATMUL = corpus("triton/matmul.py")


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Persistent GEMM with warp roles; a tile's accumulator is stored in two halves."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN // 2])
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for number in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0), flatten=True, warp_specialize=True):
        row, column = MATMUL.tile_of(number, rows, columns, 8)
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(left.load([row * BM, k]), right.load([k, column * BN]), total)
        halves = tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1))
        first, second = tl.split(halves)
        out.store([row * BM, column * BN], first.to(tl.bfloat16))
        out.store([row * BM, column * BN + BN // 2], second.to(tl.bfloat16))


A, B = eighths(256, 320), eighths(320, 512)

CASES = [
    Case(
        "matmul",
        matmul,
        {
            "a": given(A, "bfloat16"),
            "b": given(B, "bfloat16"),
            "c": made(double(A) @ double(B), "bfloat16"),
            "M": 256,
            "N": 512,
            "K": 320,
        },
        2,
        constants={"BM": 128, "BN": 256, "BK": 64},
        options={"num_warps": 4, "num_stages": 3},
        targets=BLACKWELL,
    ),
    mapped("attention", 256, 128, (128, 128), True, {"num_stages": 2}, BLACKWELL),
]
