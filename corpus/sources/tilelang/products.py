# SPDX-License-Identifier: Apache-2.0
"""GEMM in TileLang: pipelines of copies, tensor cores of four generations, attention."""

import tilelang.language as T


def product(rows, columns, depth, element, total, step, stages, threads=128, *, turned=True):
    """C = A · B, where B is K-major if `turned`."""
    shape_b = (columns, depth) if turned else (depth, columns)

    @T.prim_func
    def kernel(
        a: T.Tensor((rows, depth), element), b: T.Tensor(shape_b, element), c: T.Tensor((rows, columns), total)
    ):
        with T.Kernel(columns // 128, rows // 128, threads=threads) as (x, y):
            left = T.alloc_shared((128, step), element)
            right = T.alloc_shared((128, step) if turned else (step, 128), element)
            tile = T.alloc_fragment((128, 128), total)
            T.clear(tile)
            for k in T.Pipelined(depth // step, num_stages=stages):
                T.copy(a[y * 128, k * step], left)
                if turned:
                    T.copy(b[x * 128, k * step], right)
                else:
                    T.copy(b[k * step, x * 128], right)
                T.gemm(left, right, tile, transpose_B=turned)
            T.copy(tile, c[y * 128, x * 128])

    return kernel


def product_in_tensor_memory(rows, columns, depth, step, stages):
    """The same with tcgen05: accumulators in tensor memory, completion through an mbarrier."""
    element, tile = "bfloat16", 128

    @T.prim_func
    def kernel(
        a: T.Tensor((rows, depth), element),
        b: T.Tensor((columns, depth), element),
        c: T.Tensor((rows, columns), element),
    ):
        with T.Kernel(columns // tile, rows // tile, threads=256) as (x, y):
            left, right = T.alloc_shared((tile, step), element), T.alloc_shared((tile, step), element)
            total, done = T.alloc_tmem([tile, tile], "float32"), T.alloc_barrier(1)
            values, out = T.alloc_fragment((tile, tile), "float32"), T.alloc_shared((tile, tile), element)
            for k in T.Pipelined(depth // step, num_stages=stages):
                T.copy(a[y * tile, k * step], left)
                T.copy(b[x * tile, k * step], right)
                T.tcgen05_gemm(left, right, total, transpose_B=True, mbar=done, clear_accum=k == 0)
                T.mbarrier_wait_parity(done, k % 2)
            T.copy(total, values)
            T.copy(values, out)
            T.copy(out, c[y * tile, x * tile])

    return kernel


def attention(length, width, queries=64, keys=64):
    """Softmax of Q · K, in steps along K, times V."""
    element = "float16"
    scale = 1.4426950408889634 / width**0.5

    @T.prim_func
    def kernel(
        q: T.Tensor((length, width), element),
        k: T.Tensor((length, width), element),
        v: T.Tensor((length, width), element),
        out: T.Tensor((length, width), element),
    ):
        with T.Kernel(length // queries, threads=128) as x:
            mine, key = T.alloc_shared((queries, width), element), T.alloc_shared((keys, width), element)
            value = T.alloc_shared((keys, width), element)
            scores = T.alloc_fragment((queries, keys), "float32")
            weights = T.alloc_fragment((queries, keys), element)
            total = T.alloc_fragment((queries, width), "float32")
            largest, before = T.alloc_fragment((queries,), "float32"), T.alloc_fragment((queries,), "float32")
            sums, length_of = T.alloc_fragment((queries,), "float32"), T.alloc_fragment((queries,), "float32")
            T.copy(q[x * queries, 0], mine)
            T.clear(total)
            T.clear(length_of)
            T.fill(largest, -T.infinity("float32"))
            for step in T.Pipelined(length // keys, num_stages=2):
                T.copy(k[step * keys, 0], key)
                T.clear(scores)
                T.gemm(mine, key, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(v[step * keys, 0], value)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i, j in T.Parallel(queries, keys):
                    scores[i, j] = T.exp2((scores[i, j] - largest[i]) * scale)
                T.reduce_sum(scores, sums, dim=1)
                for i in T.Parallel(queries):
                    before[i] = T.exp2((before[i] - largest[i]) * scale)
                    length_of[i] = length_of[i] * before[i] + sums[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(queries, width):
                    total[i, j] *= before[i]
                T.gemm(weights, value, total, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(queries, width):
                total[i, j] /= length_of[i]
            T.copy(total, out[x * queries, 0])

    return kernel


CASES = {
    "half": lambda: product(1024, 1024, 1024, "float16", "float32", 32, 3, turned=False),
    "wide": lambda: product(1024, 1024, 1024, "bfloat16", "float32", 64, 4, 256),
    "fp8": lambda: product(1024, 1024, 1024, "float8_e4m3fn", "float32", 64, 3),
    "int8": lambda: product(1024, 1024, 1024, "int8", "int32", 64, 3),
    "tf32": lambda: product(512, 512, 512, "float32", "float32", 32, 2),
    "memory": lambda: product_in_tensor_memory(1024, 1024, 1024, 64, 3),
    "attention": lambda: attention(1024, 64),
    "attention-wide": lambda: attention(1024, 128),
}
