"""Launches of the kernels in `blocks.cu`."""

import numpy as np
from cases import Case, double, given, made, normal, whole


def case(kernel, *arguments, block=128, grid=1, **more):
    return Case(
        kernel.replace("_", "-"),
        kernel,
        dict(enumerate(arguments)),
        grid,
        block,
        options={"source": "blocks.cu"},
        **more,
    )


X, U, B = whole(512), whole(512, high=1 << 31, dtype="uint32"), whole(512, high=64, dtype="uint8")
Z = X[:128]
SUMS, SCANS = X.reshape(4, 128).sum(1).astype(np.int32), np.cumsum(X.reshape(4, 128), 1).astype(np.int32).ravel()
COUNTS = np.bincount(B, minlength=64).astype(np.int32)
EVEN, THIRDS = np.zeros(128, np.int32), np.zeros(128, np.int32)
EVEN[: (Z % 2 == 0).sum()] = Z[Z % 2 == 0]
THIRDS[: (Z % 3 == 0).sum()] = Z[Z % 3 == 0]
RUNS, SMALL = whole(128, high=3), whole(128, high=16, dtype="uint32")
W = whole(32)
MATRIX, LINE = normal(45, 70), normal(300)
PADDED = np.pad(double(LINE), 1)


def voted():
    ballot = sum(1 << i for i in range(32) if W[i] & 1)
    same = np.array([sum(1 << i for i in range(32) if W[i] & 7 == v & 7) for v in W])
    return (ballot ^ same ^ (1 << 3) ^ int(W.sum()) ^ int(np.bitwise_or.reduce(W))).astype(np.uint32)


CASES = [
    *(
        case(f"reduce_{how}", given(X), made(SUMS, "int32"), grid=4)
        for how in ("warps", "raking", "raking_commutative")
    ),
    *(case(f"scan_{how}", given(X), made(SCANS, "int32"), grid=4) for how in ("warps", "raking", "raking_memoize")),
    case("radix_sort", given(U), made(np.sort(U.reshape(2, 256), 1), "uint32"), grid=2),
    case("merge_sort", given(X), made(np.sort(X[:384]), "int32")),
    case("warp_merge_sort", given(X), made(np.sort(X[:256].reshape(4, 64), 1), "int32")),
    case("warp_scan_of_16", given(X), made(np.cumsum(Z.reshape(8, 16), 1).astype(np.int32), "int32")),
    case("warp_reduce_of_20", given(X), made([X[:20].sum()], "int32"), block=32),
    case("histogram_atomic", given(B), made(COUNTS, "int32")),
    case("histogram_sorted", given(B), made(COUNTS, "int32")),
    case("select_even", given(X), made(EVEN, "int32"), made(np.array([(Z % 2 == 0).sum()], np.int32), "int32")),
    case("exchange", given(X), made(X * 2 + np.repeat(np.arange(128, dtype=np.int32), 4), "int32")),
    case("discontinuity", given(RUNS), made(np.array([1, *(RUNS[1:] != RUNS[:-1])], np.int32), "int32")),
    case("shuffle_up", given(X), made(np.array([-1, *Z[:-1]], np.int32), "int32")),
    case("radix_rank", given(SMALL), made(np.sort(SMALL).astype(np.int32), "int32")),
    case("tile_reduce", given(X), made([Z.sum()], "int32")),
    case("tile_scan", given(X), made(np.cumsum(Z.reshape(8, 16), 1).astype(np.int32), "int32")),
    case("tile_exchange", given(X), made(Z.reshape(8, 16)[:, ::-1], "int32")),
    case("large_tiles", given(X), made(Z.reshape(2, 64).sum(1).astype(np.int32), "int32")),
    case(
        "aggregated",
        given(X),
        made(np.array([(Z % 3 == 0).sum()], np.int32), "int32"),
        made(THIRDS, "int32", ordered=False),
    ),
    case("labelled", given(X), made(np.array([Z[Z % 4 == i].sum() for i in range(4)], np.int32), "int32")),
    case("halves_apart", given(W), made(np.where(np.arange(32) % 2, W[31], W[30]), "int32"), block=32),
    case("copied_together", given(X), made(X[:256] + X[255::-1], "int32"), block=256),
    case("invoked_once", given(X), made([4 * X[0]], "int32")),
    case("tree_in_a_warp", given(X), made([X[:32].sum()], "int32"), block=32),
    case("bitonic", given(X), made(np.sort(X[:256]), "int32"), block=256),
    case("votes", given(W), made(voted(), "uint32"), block=32),
    case("transposed", given(MATRIX), made(MATRIX.T, "float32"), 45, 70, block=(32, 8), grid=(3, 2)),
    case(
        "stencil",
        given(LINE),
        made(0.25 * PADDED[:-2] + 0.5 * PADDED[1:-1] + 0.25 * PADDED[2:], "float32"),
        300,
        grid=3,
        shared_bytes=130 * 4,
    ),
]
