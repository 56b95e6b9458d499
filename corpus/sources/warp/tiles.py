# SPDX-License-Identifier: Apache-2.0
"""Tiles shared by a CTA, in Warp: GEMM, rows, scans, sorting."""

import warp as wp

M, N, K = 32, 32, 16
WIDTH = 256


@wp.kernel(module="product")
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(M, N), dtype=wp.float32)
    for k in range(a.shape[1] // K):
        left = wp.tile_load(a, shape=(M, K), offset=(i * M, k * K))
        right = wp.tile_load(b, shape=(K, N), offset=(k * K, j * N))
        wp.tile_matmul(left, right, total)
    wp.tile_store(c, total, offset=(i * M, j * N))


@wp.kernel(module="rows")
def softmax(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    row = wp.tid()
    values = wp.tile_load(x[row], shape=WIDTH)
    largest = wp.tile_max(values)
    powers = wp.tile_map(wp.exp, values - wp.tile_broadcast(largest, shape=(WIDTH,)))
    total = wp.tile_sum(powers)
    wp.tile_store(out[row], powers / wp.tile_broadcast(total, shape=(WIDTH,)))


@wp.kernel(module="scans")
def scanned(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    row = wp.tid()
    wp.tile_store(out[row], wp.tile_scan_inclusive(wp.tile_load(x[row], shape=WIDTH)))


@wp.kernel(module="sorting")
def ordered(keys: wp.array2d(dtype=int), values: wp.array2d(dtype=int)):
    row = wp.tid()
    some, others = wp.tile_load(keys[row], shape=WIDTH), wp.tile_load(values[row], shape=WIDTH)
    wp.tile_sort(some, others)
    wp.tile_store(keys[row], some)
    wp.tile_store(values[row], others)


OPTIONS = {"enable_backward": False, "enable_mathdx_gemm": False, "block_dim": 128}
CASES = {
    "product": ("product", OPTIONS),
    "product-backward": ("product", OPTIONS | {"enable_backward": True}),
    "rows": ("rows", OPTIONS),
    "scans": ("scans", OPTIONS),
    "sorting": ("sorting", OPTIONS),
}
