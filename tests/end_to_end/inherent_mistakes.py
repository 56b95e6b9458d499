"""Mistakes that no check can find: legal programs whose result is not the intended one.

A case is a program that sets `report` (result of the simulator) and `right` (whether the output is the intended one).
`named` is its name in the table of undetected mistakes in `docs/findings.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

HEADER = """\
import numpy as np
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, f32, s32, tf32, u32
random = np.random.default_rng(1)
"""


@dataclass(frozen=True, slots=True)
class Inherent:
    """A legal program with an unintended result."""

    named: str
    source: str


def vector(named: str, body: str, given: str, meant: str, dtype: str = "f32") -> Inherent:
    """Return a program with a one-warp kernel on a vector: `body` computes `r` from `v`, and the kernel stores `r`."""
    lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
    source = f"""\
@kernel(in_specs=(Tile(32, {dtype}),), out_specs=(Tile(32, {dtype}),), grid=1, block=32, arch="sm_80")
def k(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    t = reg.from_(ptx.special.tid.x(), u32)
    v = ptx.ld({dtype}, reg.scalar({dtype}), ptx.addr(px + t * 4))
{lines}
    ptx.st({dtype}, ptx.addr(py + t * 4), r)
    ptx.ret()
x = {given}
report = k.simulate(x)
right = np.allclose(report.outputs[0], {meant})
"""
    return Inherent(named, source)


SWAPPED = """\
@kernel(in_specs=(Tile(16, 16, f32, tma_box=(8, 8)),), out_specs=(Tile(8, 8, f32),), grid=1, block=64, arch="sm_90a")
def corner(X, Y):
    (py,) = ptx.global_ptrs(Y)
    box, full = smem.alloc(f32, (8, 8), align=128), smem.mbarrier(1)
    t = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(t == 0):
        ptx.mbarrier.init(full[0], 1)
        ptx.fence.proxy_async_shared_cta()
        ptx.mbarrier.arrive_expect_tx(full[0], 256)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=X, coord=(0, 8), mbar=full[0])
    ptx.bar.sync(0)
    ptx.mbarrier.wait(full[0], 0)
    ptx.st(f32, ptx.addr(py + t * 4), box[t // 8, t % 8])
    ptx.ret()
x = np.arange(256, dtype=np.float32).reshape(16, 16)
report = corner.simulate(x)
right = np.array_equal(report.outputs[0], x[:8, 8:])
"""
FRAGMENTS = """\
@kernel(in_specs=(Tile(16, 8, b32), Tile(8, 8, b32)), out_specs=(Tile(16, 8, f32),), grid=1, block=32, arch="sm_80")
def product(A, B, C):
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    t = reg.from_(ptx.special.tid.x(), u32)
    a, b = reg.array(b32, 4), reg.array(b32, 2)
    for r in range(4): ptx.ld(b32, a[r], ptx.addr(pa + t * 16, r * 4))
    for r in range(2): ptx.ld(b32, b[r], ptx.addr(pb + t * 8, r * 4))
    d = [reg.scalar(f32, init=0.0) for _ in range(4)]
    ptx.mma.sync(shape=(16, 8, 8), dtype_d=f32, dtype_a=tf32, dtype_b=tf32, dtype_c=f32, d=d, a=a, b=b, c=d)
    for i in range(4): ptx.st(f32, ptx.addr(pc + t * 16, i * 4), d[i])
    ptx.ret()
a, b = random.standard_normal((16, 8)).astype(np.float32), random.standard_normal((8, 8)).astype(np.float32)
report = product.simulate(a.view(np.uint32), b.view(np.uint32))
right = np.allclose(report.outputs[0], a @ b.T, atol=0.1)
"""

PLAIN = """\
SHAPE = SharedTile(f32, (8, 32), swizzle="128B")
@kernel(in_specs=(SHAPE.tma_tile(8, 32),), out_specs=(Tile(8, 32, f32),), grid=1, block=256, arch="sm_90a")
def copied(X, Y):
    (py,) = ptx.global_ptrs(Y)
    box, full = smem.tile(SHAPE), smem.mbarrier(1)
    t = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(t == 0):
        ptx.mbarrier.init(full[0], 1)
        ptx.fence.proxy_async_shared_cta()
        ptx.mbarrier.arrive_expect_tx(full[0], 1024)
        ptx.cp.async_.bulk.tensor_2d(dst=box, src=X, coord=(0, 0), mbar=full[0])
    ptx.bar.sync(0)
    ptx.mbarrier.wait(full[0], 0)
    start, v = reg.scalar(u32), reg.scalar(f32)
    ptx.mov(u32, start, box)
    ptx.ld(f32, v, ptx.addr(start + t * 4), space="shared")
    ptx.st(f32, ptx.addr(py + t * 4), v)
    ptx.ret()
x = np.arange(256, dtype=np.float32).reshape(8, 32)
report = copied.simulate(x)
right = np.array_equal(report.outputs[0], x)
"""

INHERENT = (
    vector(
        "`old = v; v += 1`",
        "old = v\nv += 1.0\nr = v - old",
        "random.standard_normal(32).astype(np.float32)",
        "np.ones(32)",
    ),
    vector("`v // 3` of a negative register", "r = v // 3", "np.arange(-16, 16, dtype=np.int32)", "x // 3", "s32"),
    Inherent("coordinates of a tensor copy in the order of the array's indices", SWAPPED),
    Inherent("fragments of `mma` loaded in another layout", FRAGMENTS),
    Inherent("registers with plain addresses of a swizzled tile", PLAIN),
)
