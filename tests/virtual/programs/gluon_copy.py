"""Copy and transposition in Gluon, with explicit layouts, shared memory and asynchronous copies."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

# The name changed in Triton 3.9.
copy_tile = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared

SIZES = [(9, 21), (32, 32), (70, 45)]
TILE = 32


@gluon.jit
def transpose_kernel(x, out, rows, columns, TILE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    staged: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    r = gl.program_id(0) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(1, layout))
    c = gl.program_id(1) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float32, [TILE, TILE], staged)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    copy_tile(tile, x + r[:, None] * columns + c[None, :], mask=inside)
    async_copy.commit_group()
    async_copy.wait_group(0)
    turned = tile.permute((1, 0)).load(layout)
    r = gl.program_id(0) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(0, layout))
    c = gl.program_id(1) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(1, layout))
    gl.store(out + c[:, None] * rows + r[None, :], turned, mask=(c[:, None] < columns) & (r[None, :] < rows))


def check(rows, columns):
    x = torch.randn(rows, columns, device="cuda")
    out = torch.empty(columns, rows, device="cuda")
    transpose_kernel[(triton.cdiv(rows, TILE), triton.cdiv(columns, TILE))](x, out, rows, columns, TILE=TILE)
    torch.testing.assert_close(out, x.T)


if __name__ == "__main__":
    for size in SIZES:
        check(*size)
