"""A function of each row's sum, written in the CuTe DSL: its PTX, transpiled and cleaned by hand.

Source: `totals` of `corpus/sources/cutedsl/vectors.py`, by CuTe DSL 4.8 for sm_90a: `exp(s) + 1 / sqrt(s)` of the sum s
of each row of 16384 numbers in f32. A CTA of 256 threads has a row. Its warps reduce by shuffles, and one thread adds
up the partial sums of the warps.

Cleaned by hand: registers have names; the four loads of an iteration, five shuffles and eight additions are loops; the
`exp` of CUDA is a function with comments on its constants. `pyptx diff` of the source and `module.ptx()` is empty.

    python examples/transpiled/row_totals.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pyptx
from pyptx import ptx, reg
from pyptx.types import b8, b32, b64, pred, u64
from pyptx_sim import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx.modules import ModuleBuilder
    from pyptx.reg import Reg
    from pyptx.types import PtxType
    from pyptx_ir.syntax.nodes import Parameter

SOURCE = "cutedsl-4.8/vectors.sm_90a.totals.ptx"
ENTRY = "kernel_cutlass_totals_kernel_tensorptrf32gmemalign16o16384163841_tensorptrf32gmemo1_0"
WIDTH, THREADS, WARPS, UNROLLED = 16384, 256, 8, 4
TURNS = WIDTH // THREADS

MEMORY = "__dynamic_shmem__0"


def word() -> Reg:
    """Return a fresh 32-bit register."""
    return reg.scalar(b32)


def added(a: Reg, b: Reg | str | float) -> Reg:
    """Emit add.f32 into a fresh register."""
    return ptx.inst.add.f32(word(), a, b)


def pointer_to(x: Reg, row: Reg, thread: Reg) -> Reg:
    """Emit 5 instructions: the address of the third of a thread's first four numbers, which are 256 numbers apart."""
    row_bytes = ptx.inst.mul.wide.u32(reg.scalar(b64), row, 4 * WIDTH)
    own_bytes = ptx.inst.mul.wide.u32(reg.scalar(b64), thread, 4)
    offset = ptx.inst.or_.b64(reg.scalar(b64), row_bytes, own_bytes)
    first = ptx.inst.add.s64(reg.scalar(b64), offset, x)
    return ptx.inst.add.s64(reg.scalar(b64), first, 2 * 4 * THREADS)


def sum_of_thread(pointer: Reg) -> Reg:
    """Add up every 256th number of the row."""
    turn = ptx.inst.mov.b32(word(), 0)
    total = ptx.inst.mov.b32(word(), "0f00000000")
    more = reg.scalar(pred)
    with ptx.loop("turns", pred=lambda: ptx.inst.setp.ne.b32(more, turn, TURNS)):
        ptx.pragma("nounroll")
        partial = total
        for i in range(UNROLLED):
            value = ptx.inst.ld.global_.b32(word(), ptx.addr(pointer, 4 * THREADS * (i - 2) or None))
            target = total if i == UNROLLED - 1 else word()
            partial = ptx.inst.add.f32(target, partial, value)
        ptx.inst.add.s32(turn, turn, UNROLLED)
        ptx.inst.add.s64(pointer, pointer, 4 * THREADS * UNROLLED)
    return total


def sum_of_warp(total: Reg) -> Reg:
    """Emit 10 instructions: the sum over the lanes, in each of them."""
    for distance in (16, 8, 4, 2, 1):
        total = added(total, ptx.inst.shfl.sync.bfly.b32(word(), total, distance, 31, -1))
    return total


def sum_of_warps(parts: Reg) -> Reg:
    """Emit 10 instructions: the sum of the values that the warps wrote to shared memory."""
    four, others = reg.array(b32, 4), reg.array(b32, 4)
    ptx.inst.ld.shared.v4.b32(four, ptx.addr(parts))
    total = added(four[0], 0.0)
    for part in four[1:]:
        total = added(total, part)
    ptx.inst.ld.shared.v4.b32(others, ptx.addr(parts, 16))
    for part in others:
        total = added(total, part)
    return total


def power_and_root(s: Reg) -> Reg:
    """Emit 13 instructions: `exp(s) + 1 / sqrt(s)`; exp(s) is 2^i · 2^f, with the integer i in bits 23 and up."""
    near = ptx.inst.fma.rn.f32(word(), s, "0f3BBB989D", 0.5)  # log2(e) / 252
    clamped = ptx.inst.cvt.sat.f32.f32(word(), near)
    magic = ptx.inst.mov.b32(word(), "0f4B400001")
    range_ = ptx.inst.mov.b32(word(), "0f437C0000")  # 252
    whole = ptx.inst.fma.rm.f32(word(), clamped, range_, magic)
    less = ptx.inst.neg.f32(word(), added(whole, "0fCB40007F"))
    rest = ptx.inst.fma.rn.f32(word(), s, "0f3FB8AA3B", less)  # log2(e) in f32, then its remainder
    fraction = ptx.inst.fma.rn.f32(word(), s, "0f32A57060", rest)
    scale = ptx.inst.shl.b32(word(), whole, 23)
    power = ptx.inst.ex2.approx.ftz.f32(word(), fraction)
    root = ptx.inst.rsqrt.approx.f32(word(), s)
    return ptx.inst.fma.rn.f32(word(), power, scale, root)


def totals(x_name: str, out_name: str) -> None:
    """Store exp(s) + 1 / sqrt(s) for the sum s of a row; both parameters start with a pointer."""
    x, out = (ptx.inst.ld.param.b64(reg.scalar(b64), ptx.addr(name)) for name in (x_name, out_name))
    parts = ptx.inst.shfl.sync.idx.b32(word(), ptx.inst.mov.b32(word(), MEMORY), 0, 31, -1)
    thread = ptx.inst.mov.u32(word(), ptx.special.tid.x())
    row = ptx.inst.mov.u32(word(), ptx.special.ctaid.x())
    total = sum_of_warp(sum_of_thread(pointer_to(x, row, thread)))
    other_lane, other_thread = reg.array(pred, 2)
    lane = ptx.inst.and_.b32(word(), thread, 31)
    with ptx.if_(~ptx.inst.setp.ne.b32(other_lane, lane, 0)):
        offset = ptx.inst.shr.u32(word(), thread, 3)
        ptx.inst.st.shared.b32(ptx.addr(ptx.inst.add.s32(word(), parts, offset)), total)
    ptx.inst.bar.sync(0)
    with ptx.if_(~ptx.inst.setp.ne.b32(other_thread, thread, 0)):
        result = power_and_root(sum_of_warps(parts))
        offset = ptx.inst.mul.wide.u32(reg.scalar(b64), row, 4)
        ptx.inst.st.global_.b32(ptx.addr(ptx.inst.add.s64(reg.scalar(b64), out, offset)), result)
    ptx.inst.ret()


def build(view: PtxType | Parameter) -> ModuleBuilder:
    """Return the module; `view` is the type of the kernel's parameters."""
    module = pyptx.module(version=(8, 8), target="sm_90a")
    module.var("shared", MEMORY, b8, 0, align=1024, linking="extern")
    module.entry(ENTRY, [view, view], reqntid=(THREADS, 1, 1), linking="visible")(totals)
    return module


module = build(ptx.parameter(..., b8, 16, align=8))


def reference(x: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the result for each row in float64."""
    total = x.astype(np.float64).sum(axis=1)
    return np.exp(total) + 1 / np.sqrt(total)


def main() -> None:
    """Run it on the simulator, and print the largest relative error."""
    x = np.random.default_rng(0).standard_normal((3, WIDTH)).astype(np.float32) / 64 + np.float32(2 / WIDTH)
    out = np.zeros(3, np.float32)
    # The simulator passes an array as a pointer, not in a structure that begins with one.
    run(build(u64).module(), entry=ENTRY, args=[x, out], grid=3, block=THREADS, shared_bytes=64, checks="all")
    print(f"3 rows of {WIDTH}: largest relative error {np.abs(out / reference(x) - 1).max():.3g}")


if __name__ == "__main__":
    main()
