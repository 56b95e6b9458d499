"""Kernels in TileLang: those of the corpus in small sizes, and further ones."""

import numpy as np
import tilelang.language as T
from cases import BLACKWELL, BOTH, Case, corpus, double, eighths, given, made, normal, whole

products, rows = corpus("tilelang/products.py"), corpus("tilelang/rows.py")


def transpose(height, width):
    @T.prim_func
    def kernel(x: T.Tensor((height, width), "float32"), y: T.Tensor((width, height), "float32")):
        with T.Kernel(width // 32, height // 32, threads=128) as (i, j):
            tile = T.alloc_shared((32, 32), "float32")
            T.copy(x[j * 32, i * 32], tile)
            for a, b in T.Parallel(32, 32):
                y[i * 32 + a, j * 32 + b] = tile[b, a]

    return kernel


def attended(q, k, v):
    s = double(q) @ double(k).T / q.shape[1] ** 0.5
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ double(v)


def in_tensor_memory(m, n, k, element, tile, step):
    """GEMM by tcgen05 with accumulators in tensor memory, without warp roles."""

    @T.prim_func
    def kernel(a: T.Tensor((m, k), element), b: T.Tensor((k, n), element), c: T.Tensor((m, n), "float32")):
        with T.Kernel(n // tile, m // 128, threads=128) as (x, y):
            left, right = T.alloc_shared((128, step), element), T.alloc_shared((step, tile), element)
            total, done = T.alloc_tmem([128, tile], "float32"), T.alloc_barrier(1)
            values = T.alloc_fragment((128, tile), "float32")
            for i in T.serial(k // step):
                T.copy(a[y * 128, i * step], left)
                T.copy(b[i * step, x * tile], right)
                T.tcgen05_gemm(left, right, total, mbar=done, clear_accum=i == 0)
                T.mbarrier_wait_parity(done, i % 2)
            T.copy(total, values)
            T.copy(values, c[y * 128, x * tile])

    return kernel


def case(name, kernel, targets=BOTH, **arguments):
    return Case(name, kernel, arguments, targets=targets)


def product(name, shape, element, total, step, stages, threads=128, turned=True, factors=eighths):
    m, n, k = shape
    a, b = factors(m, k), factors(*((n, k) if turned else (k, n)))
    want = double(a) @ double(b.T if turned else b)
    kernel = lambda: products.product(m, n, k, element, total, step, stages, threads, turned=turned)
    return case(name, kernel, a=given(a, element), b=given(b, element),
                c=made(want.astype(np.int32) if total == "int32" else want, total))


def small(*shape):
    return whole(*shape, low=-20, high=20, dtype="int8")


A, B, S, N = normal(2048), normal(2048), normal(4, 256), normal(3, 256).astype(np.float16).astype(np.float32)
TABLE, NUMBERS, X = eighths(16, 128), whole(12, high=16), normal(64, 96)
Q, K, V = (normal(128, 64).astype(np.float16).astype(np.float32) for _ in range(3))
E = np.exp(double(S) - S.max(1, keepdims=True))
TA, TB, HA, HB = eighths(256, 256), eighths(128, 256), eighths(128, 128), eighths(128, 128)
EA, EB = eighths(128, 256), eighths(256, 128)

CASES = [
    case("elements", lambda: rows.elements(2048), a=given(A), b=given(B), c=made(np.exp(double(A)) + 2 * double(B), "float32")),
    case("softmax", lambda: rows.softmax(4, 256), x=given(S), y=made(E / E.sum(1, keepdims=True), "float32")),
    case("rms-norm", lambda: rows.rms_norm(3, 256), x=given(N, "float16"),
         y=made(double(N) / np.sqrt((double(N) ** 2).mean(1, keepdims=True) + 1e-6), "float16")),
    case("rows-added-by-atomics", lambda: rows.gathered(12, 16, 128), table=given(TABLE), numbers=given(NUMBERS),
         sums=made(double(TABLE[NUMBERS]).sum(0), "float32")),
    case("transpose", lambda: transpose(64, 96), x=given(X), y=made(X.T, "float32")),
    product("product-half", (128, 128, 96), "float16", "float32", 32, 3, turned=False),
    product("product-bfloat16", (128, 256, 128), "bfloat16", "float32", 64, 2, 256),
    product("product-int8", (128, 128, 128), "int8", "int32", 64, 2, factors=small),
    product("product-tf32", (128, 128, 64), "float32", "float32", 32, 2),
    case("attention", lambda: products.attention(128, 64, keys=32), q=given(Q, "float16"), k=given(K, "float16"), v=given(V, "float16"),
         out=made(attended(Q, K, V), "float16", tolerance=4e-3)),
    case("product-in-tensor-memory", lambda: products.product_in_tensor_memory(256, 128, 256, 64, 2), BLACKWELL,
         a=given(TA, "bfloat16"), b=given(TB, "bfloat16"), c=made(double(TA) @ double(TB).T, "bfloat16")),
    case("tensor-memory-half", lambda: in_tensor_memory(128, 128, 128, "float16", 64, 64), BLACKWELL,
         a=given(HA, "float16"), b=given(HB, "float16"), c=made(double(HA) @ double(HB), "float32")),
    case("tensor-memory-e4m3", lambda: in_tensor_memory(128, 128, 256, "float8_e4m3fn", 128, 128), BLACKWELL,
         a=given(EA, "float8_e4m3fn"), b=given(EB, "float8_e4m3fn"), c=made(double(EA) @ double(EB), "float32")),
]
