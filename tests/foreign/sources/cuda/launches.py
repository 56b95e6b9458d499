"""Launches of the kernels in `launches.cu`."""

import numpy as np
from cases import BOTH, HOPPER, Case, double, eighths, given, made, room, whole


def case(kernel, *arguments, block=64, grid=4, targets=BOTH, **more):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, block, targets=targets,
                options={"source": "launches.cu"}, **more)


def together(kernel, *arguments, **more):
    return case(kernel, *arguments, cooperative=True, **more)


def relaxed(x, steps):
    for _ in range(steps):
        x = (np.roll(x, 1) + 2 * x + np.roll(x, -1)) % 1000
    return x


def levels(first, edges):
    found, front = np.full(len(first) - 1, -1), [0]
    found[0] = depth = 0
    while front:
        depth += 1
        front = [w for v in front for w in edges[first[v] : first[v + 1]] if found[w] < 0]
        found[front] = depth
    return found.astype(np.int32), depth - 1


CELLS, X, I = whole(600), whole(512), np.arange(256)
FIRST, EDGES = np.arange(0, 601, 3, dtype=np.int32), whole(600, high=200)
LEVELS, DEEPEST = levels(FIRST, EDGES)
START = np.where(np.arange(200) == 0, 0, -1).astype(np.int32)
CHANGED = (np.arange(DEEPEST + 1) < DEEPEST).astype(np.int32)
Y = made(double(VALUES := eighths(512)) / 2, "float32")
SUMS = (double(WEIGHTS := eighths(512)) * VALUES[::-1] / 2).reshape(8, 64).sum(1)

CASES = [
    together("relaxed", made(relaxed(CELLS, 4), "int32", start=CELLS), made(relaxed(CELLS, 3), "int32"), 600, 4),
    together("scanned", given(X), room(4), made(np.cumsum(X, dtype=np.int32), "int32"), block=128),
    together("split_barrier", room(256), made((I * I % 17 + 3 * I[::-1]).astype(np.int32), "int32")),
    together("levels", given(FIRST), given(EDGES), made(LEVELS, "int32", start=START),
             made(CHANGED, "int32"), 200, block=32),
    case("consumed", Y, given(WEIGHTS), made(SUMS, "float32"), grid=8, targets=HOPPER,
         behind=case("produced", given(VALUES), Y, grid=8)),
]
