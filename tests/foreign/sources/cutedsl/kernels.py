"""CuTe DSL kernels, including those of the corpus: layouts, reductions, GEMMs, mostly with static sizes."""

import cutlass
import numpy as np
from cases import BLACKWELL, BOTH, HOPPER, Case, Described, corpus, double, eighths, given, made, normal
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_tensor

products, vectors = corpus("cutedsl/products.py"), corpus("cutedsl/vectors.py")
HALF, SINGLE = cutlass.Float16, cutlass.Float32


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < cute.size(y):
        y[i] = x[i] * 2.0 + 1.0


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor):
    scale_kernel(x, y).launch(grid=[cute.ceil_div(cute.size(y), 128), 1, 1], block=[128, 1, 1])


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(SINGLE, cute.make_layout((32, 32), stride=(33, 1)), 16)
    ours, theirs = cute.local_tile(x, (32, 32), (block[0], block[1])), cute.local_tile(y, (32, 32), (block[1], block[0]))
    row, column = thread // 32, thread % 32
    for i in cutlass.range_constexpr(0, 32, 4):
        tile[row + i, column] = ours[row + i, column]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(0, 32, 4):
        theirs[row + i, column] = tile[column, row + i]


@cute.jit
def transpose(x: cute.Tensor, y: cute.Tensor):
    transpose_kernel(x, y).launch(grid=[x.shape[0] // 32, x.shape[1] // 32, 1], block=[128, 1, 1])


@cute.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor, factor: SINGLE, shift: cutlass.Int64, start: HALF):
    row, column = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    while column < y.shape[1]:
        y[row, column] = x[row, column] * factor + shift.to(SINGLE) + start.to(SINGLE)
        column += 64


@cute.jit
def rows(x: cute.Tensor, y: cute.Tensor, factor: SINGLE, shift: cutlass.Int64, start: HALF):
    rows_kernel(x, y, factor, shift, start).launch(grid=[x.shape[0], 1, 1], block=[64, 1, 1])


def open_rows():
    """Return fake tensors: matrices with dynamic extents and a dynamic row stride, of 64 bits and of 32 bits."""
    height, width = cute.sym_int(), cute.sym_int(divisibility=4)
    wide, narrow = cute.sym_int(64, divisibility=4), cute.sym_int(32)
    of = lambda stride: make_fake_tensor(SINGLE, (height, width), (stride, 1), assumed_align=16)
    return [of(wide), of(narrow), SINGLE(1), cutlass.Int64(1), HALF(1)]


def fake(element, *shape):
    order = tuple(reversed(range(len(shape))))
    return make_fake_compact_tensor(element, shape, stride_order=order, assumed_align=16)


def case(name, function, arguments, stand_ins, targets=BOTH, grid=0):
    return Case(name, lambda: (function(), stand_ins() if callable(stand_ins) else stand_ins), dict(enumerate(arguments)), grid, targets=targets)


X, P, R, T = normal(1000), normal(64, 256), np.abs(normal(2, 16384)) / 8192, normal(64, 96)
A, B = eighths(128, 64), eighths(256, 64)
WA, WB = eighths(128, 128), eighths(128, 128)
SUM = double(R).sum(1)


def mapped(array, rows, element="float16", width=64):
    return Described(given(array, element), (rows, width), "128B")


def in_tensor_memory(name, n, element, kind, k):
    a, b, width = eighths(256, k), eighths(2 * n, k), 1024 // kind.width
    arguments = [mapped(a, 128, element, width), mapped(b, n, element, width), made(double(a) @ double(b).T, "float16")]
    return case(name, lambda: products.tensor_memory(n, kind), arguments, lambda: [fake(kind, 256, k), fake(kind, 2 * n, k), fake(HALF, 256, 2 * n)],
                targets=BLACKWELL)


CASES = [
    case("scale", lambda: scale, [given(X), made(double(X) * 2 + 1, "float32")], [fake(SINGLE, 1000)] * 2),
    case("polynomial", lambda: vectors.polynomial, [given(P), made(double(P) ** 2 + P, "float32")], [fake(SINGLE, 64, 256)] * 2),
    case("totals", lambda: vectors.totals, [given(R), made(np.exp(SUM) + 1 / np.sqrt(SUM), "float32")],
         [fake(SINGLE, 2, 16384), fake(SINGLE, 2)]),
    case("rows-of-any-size", lambda: rows, [given(P), made(double(P) * 3 + 5.5, "float32"), 3.0, np.int64(5), np.float16(0.5)],
         open_rows, grid=64),
    case("transpose", lambda: transpose, [given(T), made(T.T, "float32")], [fake(SINGLE, 64, 96), fake(SINGLE, 96, 64)]),
    case("ampere-product", products.ampere, [given(A, "float16"), given(B, "float16"), made(double(A) @ double(B).T, "float16")],
         [fake(HALF, 128, 64), fake(HALF, 256, 64), fake(HALF, 128, 256)]),
    case("warpgroup-product", lambda: products.warpgroups(64, 128), [mapped(WA, 64), mapped(WB, 128),
         made(double(WA) @ double(WB).T, "float16")], [fake(HALF, 128, 128)] * 3, targets=HOPPER),
    case("two-warpgroups-product", lambda: products.warpgroups(128, 128), [mapped(WA, 128), mapped(WB, 128),
         made(double(WA) @ double(WB).T, "float16")], [fake(HALF, 128, 128)] * 3, targets=HOPPER),
    in_tensor_memory("tensor-memory", 64, "float16", HALF, 256),
    in_tensor_memory("tensor-memory-wide", 256, "float16", HALF, 192),
    in_tensor_memory("tensor-memory-e4m3", 128, "float8_e4m3fn", cutlass.Float8E4M3FN, 256),
]
