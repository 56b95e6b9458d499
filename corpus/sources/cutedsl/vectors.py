# SPDX-License-Identifier: Apache-2.0
"""Vectors in CuTe DSL: layouts of threads and values, reductions, unrolled and rolled loops."""

import cutlass
from cutlass import cute, utils
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, length: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 256 + thread
    if i < length:
        c[i] = a[i] + b[i] * 2.0


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, length: cutlass.Int32):
    add_kernel(a, b, c, length).launch(grid=[(length + 255) // 256, 1, 1], block=[256, 1, 1])


@cute.kernel
def totals_kernel(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    parts = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(8), 16)
    mine = cutlass.Float32(0.0)
    for j in cutlass.range(0, 64, unroll=4):
        mine += x[row, thread + j * 256]
    mine = cute.arch.warp_reduction_sum(mine)
    if thread % 32 == 0:
        parts[thread // 32] = mine
    cute.arch.sync_threads()
    if thread == 0:
        total = cutlass.Float32(0.0)
        for j in cutlass.range_constexpr(8):
            total += parts[j]
        out[row] = cute.math.exp(total) + cute.math.rsqrt(total)


@cute.jit
def totals(x: cute.Tensor, out: cute.Tensor):
    totals_kernel(x, out).launch(grid=[out.shape[0], 1, 1], block=[256, 1, 1])


@cute.kernel
def polynomial_kernel(x: cute.Tensor, y: cute.Tensor, layout: cute.Layout):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = cute.composition(x[((None, None), block)], layout)[thread, None]
    theirs = cute.composition(y[((None, None), block)], layout)[thread, None]
    values = cute.make_rmem_tensor(mine.shape, x.element_type)
    cute.autovec_copy(mine, values)
    values.store(values.load() * values.load() + values.load())
    cute.autovec_copy(values, theirs)


@cute.jit
def polynomial(x: cute.Tensor, y: cute.Tensor):
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    tile, layout = cute.make_layout_tv(threads, cute.make_ordered_layout((4, 8), order=(1, 0)))
    tiles_x, tiles_y = cute.zipped_divide(x, tile), cute.zipped_divide(y, tile)
    polynomial_kernel(tiles_x, tiles_y, layout).launch(grid=[cute.size(tiles_x, mode=[1]), 1, 1], block=[128, 1, 1])


def vector(element):
    return make_fake_compact_tensor(element, (cute.sym_int32(divisibility=1),))


def matrix(element, rows=1024, columns=1024):
    return make_fake_compact_tensor(element, (rows, columns), stride_order=(1, 0), assumed_align=16)


CASES = {
    "add": lambda: (add, [*(vector(cutlass.Float32) for _ in range(3)), cutlass.Int32(0)]),
    "totals": lambda: (
        totals,
        [matrix(cutlass.Float32, cute.sym_int32(divisibility=1), 16384), vector(cutlass.Float32)],
    ),
    "polynomial": lambda: (polynomial, [matrix(cutlass.Float32), matrix(cutlass.Float32)]),
    "polynomial-half": lambda: (polynomial, [matrix(cutlass.Float16), matrix(cutlass.Float16)]),
}
