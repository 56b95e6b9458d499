# SPDX-License-Identifier: Apache-2.0
"""Vectors in Gluon, in layouts that map elements to threads."""

from __future__ import annotations

from cases import Case
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def scaled(x, y, factor, length, BLOCK: gl.constexpr, LAYOUT: gl.constexpr):
    """y = factor · x."""
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LAYOUT)
    gl.store(y + at, gl.load(x + at, mask=at < length) * factor, mask=at < length)


@gluon.jit
def totals(x, out, width, ROWS: gl.constexpr, COLUMNS: gl.constexpr, LAYOUT: gl.constexpr):
    """Sums and maxima of rows, read in one layout, written in another."""
    rows = gl.arange(0, ROWS, layout=gl.SliceLayout(1, LAYOUT))
    columns = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, LAYOUT))
    values = gl.load(x + rows[:, None] * width + columns[None, :])
    gl.store(out + rows, gl.sum(values, 1) / gl.max(gl.abs(values), 1))


@gluon.jit
def turned(x, y, SIDE: gl.constexpr, READ: gl.constexpr, WRITTEN: gl.constexpr, SHARED: gl.constexpr):
    """Transpose a tile through shared memory."""
    rows = gl.arange(0, SIDE, layout=gl.SliceLayout(1, READ))
    columns = gl.arange(0, SIDE, layout=gl.SliceLayout(0, READ))
    tile = gl.allocate_shared_memory(gl.float32, [SIDE, SIDE], SHARED)
    async_copy.async_load(tile, x + rows[:, None] * SIDE + columns[None, :])
    async_copy.commit_group()
    async_copy.wait_group(0)
    across = tile.permute((1, 0)).load(WRITTEN)
    out_rows = gl.arange(0, SIDE, layout=gl.SliceLayout(1, WRITTEN))
    out_columns = gl.arange(0, SIDE, layout=gl.SliceLayout(0, WRITTEN))
    gl.store(y + out_rows[:, None] * SIDE + out_columns[None, :], across)


BLOCKED = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
TURNED = {
    "SIDE": 64,
    "READ": BLOCKED,
    "WRITTEN": gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0]),
    "SHARED": gl.SwizzledSharedLayout(4, 1, 8, [1, 0]),
}
CASES = {
    "scaled": Case(
        scaled,
        {"x": "*fp32", "y": "*fp32", "factor": "fp32", "length": "i32"},
        {"BLOCK": 1024, "LAYOUT": gl.BlockedLayout([4], [32], [4], [0])},
        {"num_warps": 4},
        ("x", "y"),
    ),
    "totals": Case(
        totals,
        {"x": "*fp32", "out": "*fp32", "width": "i32"},
        {"ROWS": 32, "COLUMNS": 128, "LAYOUT": BLOCKED},
        {"num_warps": 4},
        ("x", "out", "width"),
    ),
    "turned": Case(turned, {"x": "*fp32", "y": "*fp32"}, TURNED, {"num_warps": 4}, ("x", "y")),
}
