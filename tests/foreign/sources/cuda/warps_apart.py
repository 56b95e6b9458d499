"""Launches of the kernels in `warps_apart.cu`."""

import numpy as np
from cases import BOTH, HOPPER, Case, given, made, whole


def case(kernel, x, want, grid=1, targets=HOPPER):
    return Case(kernel.replace("_", "-"), kernel, {0: given(x), 1: made(want.astype(np.int32), "int32")}, grid, 128,
                options={"source": "warps_apart.cu"}, targets=targets)


X = whole(1536)
TURNED = X.reshape(3, 4, 32, 4)[:, [1, 2, 3, 0], ::-1]
RINGS = X[:768].reshape(4, 6, 32)[:, :, ::-1]
ROLLED = np.stack([np.roll(line, -i) for i, line in enumerate(X[:512].reshape(16, 32))])
SENT = X[:512].reshape(2, 2, 4, 32)[:, ::-1, [3, 0, 1, 2]] * 2
BOTH_BLOCKS = np.repeat(X[:256].reshape(2, 1, 4, 32)[..., ::-1], 2, 1) + np.arange(2).reshape(1, 2, 1, 1)

CASES = [
    case("told_by_each_warp", X, TURNED, targets=BOTH),
    case("ring_of_each_warp", X, sum(RINGS[:, i] * 3 ** (5 - i) for i in range(6))),
    case("lines_of_each_warp", X, ROLLED),
    case("sums_of_each_warp", X, X[:1024].reshape(32, 32).sum(0), grid=8),
    case("sent_by_each_warp", X, SENT, grid=4),
    case("multicast_by_each_warp", X, BOTH_BLOCKS, grid=4),
]
