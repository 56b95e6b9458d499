"""Operators of xFormers with Triton kernels."""

from __future__ import annotations

import torch
from tests.virtual.packages.operators import Operator, cases
from xformers.ops import index_select_cat, scaled_index_add, tiled_matmul
from xformers.ops._triton import matmul_perf_model
from xformers.ops.rmsnorm import rms_norm, rms_norm_add

matmul_perf_model.get_clock_rate_in_khz = lambda: 1_755_000  # asks nvidia-smi or NVML

ROWS = ((4, 256), (3, 1000), (2, 7))
EPSILON = 1e-6


def normals(names, *shape):
    return {name: torch.randn(shape) for name in names.split()}


def scaled_rows(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)


def added(count, rows, width):
    return {"x": torch.randn(count, rows, width), "i": torch.randperm(count)[: count - 1],
            "s": torch.randn(count - 1, rows, width), "scale": torch.randn(width)}  # fmt: skip


def selected(rows, width):
    return {"x": torch.randn(rows, width), "y": torch.randn(rows + 1, 2 * width),
            "i": torch.randperm(rows)[: rows - 1], "j": torch.randperm(rows + 1)[:2]}  # fmt: skip


def tiles(m, k, n):
    return normals("a b", m, k) | normals("c d", k, n)


def indexed(x, i, s, scale):
    return x.index_add(0, i, s * scale, alpha=0.5)


OPERATORS = (
    Operator("rms-norm", lambda m, n: normals("x", m, n) | normals("w", n), lambda x, w: rms_norm(x, w, EPSILON),
             lambda x, w: scaled_rows(x) * w, ROWS),
    Operator("rms-norm-add", lambda m, n: normals("x y", m, n) | normals("w", n),
             lambda x, y, w: rms_norm_add(x, y, w, EPSILON), lambda x, y, w: scaled_rows(x + y) * w, ROWS),
    Operator("scaled-index-add", added,
             lambda x, i, s, scale: scaled_index_add(x.clone(), i, s, scaling=scale, alpha=0.5), indexed,
             ((4, 2, 256), (3, 3, 1000), (2, 1, 7)), gradients="s scale"),
    Operator("index-select-cat", selected, lambda x, y, i, j: index_select_cat([x, y], [i, j]),
             lambda x, y, i, j: torch.cat([x[i].flatten(), y[j].flatten()]), ROWS, gradients="x y"),
    Operator("tiled-matmul", tiles, lambda a, b, c, d: tiled_matmul([[a, b]], [[c], [d]])[0][0],
             lambda a, b, c, d: a @ c + b @ d, ((32, 64, 64), (33, 40, 48), (3, 8, 7)), 3e-3),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
