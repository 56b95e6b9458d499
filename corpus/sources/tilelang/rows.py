# SPDX-License-Identifier: Apache-2.0
"""Elements, rows and reductions in TileLang."""

import tilelang.language as T


def elements(length, block=1024):
    @T.prim_func
    def kernel(a: T.Tensor((length,), "float32"), b: T.Tensor((length,), "float32"), c: T.Tensor((length,), "float32")):
        with T.Kernel(T.ceildiv(length, block), threads=256) as x:
            for i in T.Parallel(block):
                c[x * block + i] = T.exp(a[x * block + i]) + b[x * block + i] * 2.0

    return kernel


def rms_norm(rows, width):
    @T.prim_func
    def kernel(x: T.Tensor((rows, width), "float16"), y: T.Tensor((rows, width), "float16")):
        with T.Kernel(rows, threads=128) as row:
            values, squares = T.alloc_fragment((1, width), "float32"), T.alloc_fragment((1, width), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], values)
            for i, j in T.Parallel(1, width):
                squares[i, j] = values[i, j] * values[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(1, width):
                values[i, j] *= T.rsqrt(total[i] / width + 1e-6)
            T.copy(values, y[row, 0])

    return kernel


def softmax(rows, width):
    @T.prim_func
    def kernel(x: T.Tensor((rows, width), "float32"), y: T.Tensor((rows, width), "float32")):
        with T.Kernel(rows, threads=128) as row:
            values = T.alloc_fragment((1, width), "float32")
            largest, total = T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], values)
            T.reduce_max(values, largest, dim=1)
            for i, j in T.Parallel(1, width):
                values[i, j] = T.exp(values[i, j] - largest[i])
            T.reduce_sum(values, total, dim=1)
            for i, j in T.Parallel(1, width):
                y[row, j] = values[i, j] / total[i]

    return kernel


def gathered(count, rows, width):
    """Gather rows by index, and add them in place with atomics."""

    @T.prim_func
    def kernel(
        table: T.Tensor((rows, width), "float32"),
        numbers: T.Tensor((count,), "int32"),
        sums: T.Tensor((width,), "float32"),
    ):
        with T.Kernel(count, threads=128) as x:
            for j in T.Parallel(width):
                T.atomic_add(sums[j], table[numbers[x], j])

    return kernel


CASES = {
    "elements": lambda: elements(1 << 20),
    "rms-norm": lambda: rms_norm(1024, 1024),
    "softmax": lambda: softmax(1024, 512),
    "gathered": lambda: gathered(4096, 512, 256),
}
