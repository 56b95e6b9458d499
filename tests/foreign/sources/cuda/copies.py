"""Launches of the kernels in `copies.cu`."""

import numpy as np
from cases import BOTH, HOPPER, Case, Described, double, eighths, given, made, whole


def case(kernel, *arguments, block=128, grid=1, targets=BOTH, **more):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, block, options={"source": "copies.cu"},
                targets=targets, **more)


def hopper(kernel, *arguments, **more):
    return case(kernel, *arguments, targets=HOPPER, **more)


X = whole(1024)
FOURS, LINES, ROWS = X.reshape(4, 64, 4), X[:512].reshape(4, 128), X[:320].reshape(5, 64)
TILE = eighths(40, 70)
RING = (X.reshape(8, 128) * np.arange(1, 9)[:, None]).sum(0).astype(np.int32)
TOTALS = X[:1024].reshape(2, 4, 128).sum((1, 2))
BINS = np.bincount(X[:500] % 64, minlength=64)
BINS = np.concatenate([BINS[:32], BINS[32:]]).astype(np.int32)
PADDED = eighths(40, 72)

CASES = [
    case("primitives", given(X), made(FOURS[:, ::-1, ::-1], "int32"), block=64),
    case("pipeline_of_threads", given(X), made(LINES + np.arange(1, 5, dtype=np.int32)[:, None], "int32")),
    case("pipeline_of_a_block", given(X), made(LINES[:, ::-1], "int32")),
    case("pipeline_with_roles", given(X), made(ROWS[:, ::-1], "int32")),
    case("copied_to_a_barrier", given(X), made(X[:256:2] - X[1:256:2], "int32")),
    hopper("bulk_copies", given(X), made(X * 2 + 1, "int32"), grid=4),
    hopper("bulk_reductions", given(X), made(X[:512].reshape(8, 64).sum(0).astype(np.int32), "int32"), block=64, grid=8),
    hopper("tiles_by_maps", Described(given(PADDED), (16, 32)), Described(made(double(PADDED) + 1, "float32"), (16, 32)),
           grid=(3, 3)),
    hopper("ring_of_bulk_copies", given(X), made(RING, "int32"), block=160),
    hopper("cluster_sums", given(X), made((np.repeat(TOTALS, 4) * 10 + np.tile(np.arange(4), 2)).astype(np.int32), "int32"), grid=8),
    hopper("cluster_histogram", given(X), made(BINS, "int32"), 500, block=32, grid=4),
    hopper("sent_to_the_neighbor", given(X), made(X[:128].reshape(2, 2, 32)[:, ::-1] * 2, "int32"), block=32, grid=4),
    hopper("multicast", given(X), made(np.repeat(X[:128].reshape(2, 1, 64), 2, 1) + np.arange(2, dtype=np.int32)[:, None],
           "int32"), block=64, grid=4),
]
