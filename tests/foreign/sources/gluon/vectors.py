"""Elementwise, row and tile kernels in Gluon with explicit layouts, including those of the corpus."""

import numpy as np
from cases import Case, corpus, double, eighths, given, made, normal, whole
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mbarrier


VECTORS = corpus("gluon/vectors.py")


@gluon.jit
def converted(x, out, S: gl.constexpr, READ: gl.constexpr, WRITE: gl.constexpr):
    rows, columns = gl.arange(0, S, layout=gl.SliceLayout(1, READ)), gl.arange(0, S, layout=gl.SliceLayout(0, READ))
    v = gl.convert_layout(gl.load(x + rows[:, None] * S + columns[None, :]), WRITE)
    out_rows, out_columns = gl.arange(0, S, layout=gl.SliceLayout(1, WRITE)), gl.arange(0, S, layout=gl.SliceLayout(0, WRITE))
    gl.store(out + out_rows[:, None] * S + out_columns[None, :], v + 1)


@gluon.jit
def pipelined(x, out, STEPS: gl.constexpr, B: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    """Elementwise kernel of two stages, whose cp.async copies arrive at mbarriers."""
    at = gl.arange(0, B, layout=LAYOUT)
    tiles, full = gl.allocate_shared_memory(gl.float32, [2, B], SHARED), mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(full.index(i), count=128)
    for i in gl.static_range(2):
        async_copy.async_load(tiles.index(i), x + i * B + at)
        async_copy.mbarrier_arrive(full.index(i), increment_count=False)
    total = gl.zeros([B], gl.float32, layout=LAYOUT)
    for step in range(STEPS):
        mbarrier.wait(full.index(step % 2), step // 2 & 1)
        total = total * 2 + tiles.index(step % 2).load(LAYOUT)
        gl.barrier()
        if step + 2 < STEPS:
            async_copy.async_load(tiles.index(step % 2), x + (step + 2) * B + at)
            async_copy.mbarrier_arrive(full.index(step % 2), increment_count=False)
    gl.store(out + at, total)


BLOCKED, COLUMNS = VECTORS.BLOCKED, gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
X, R, T, I = normal(1000), eighths(32, 128), normal(64, 64), whole(32, 32)
TOTALS = double(R).sum(1) / np.abs(double(R)).max(1)
P = eighths(5, 512)

CASES = [
    Case("pipelined", pipelined, {"x": given(P), "out": made(sum(double(P[i]) * 2 ** (4 - i) for i in range(5)), "float32")},
         constants={"STEPS": 5, "B": 512, "LAYOUT": gl.BlockedLayout([4], [32], [4], [0]),
                    "SHARED": gl.SwizzledSharedLayout(1, 1, 1, [0])}),
    Case("scaled", VECTORS.scaled, {"x": given(X), "y": made(double(X) * 3, "float32"), "factor": 3.0, "length": 1000}, 2,
         constants={"BLOCK": 512, "LAYOUT": gl.BlockedLayout([4], [32], [4], [0])}),
    Case("sums-of-rows", VECTORS.totals, {"x": given(R), "out": made(TOTALS, "float32"), "width": 128},
         constants={"ROWS": 32, "COLUMNS": 128, "LAYOUT": BLOCKED}),
    Case("transposed-in-shared-memory", VECTORS.turned, {"x": given(T), "y": made(T.T, "float32")}, constants=VECTORS.TURNED),
    Case("converted-layout", converted, {"x": given(I), "out": made(I + 1, "int32")},
         constants={"S": 32, "READ": BLOCKED, "WRITE": COLUMNS}),
]
