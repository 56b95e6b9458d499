"""RMS norm of each row, written in TileLang: its PTX, transpiled and cleaned by hand.

Source: `rms_norm` of `corpus/sources/tilelang/rows.py`, by TileLang 0.1 for sm_90a: 1024 rows of 1024 numbers in f16,
sums in f32. A CTA has a row, and a thread eight numbers of it, loaded by one instruction. Squares are summed in two
steps through shared memory and by five shuffles.

Cleaned by hand: registers have names; inline assembly, both halves of the reduction, and code that was repeated eight
times are functions and loops. `pyptx diff` of the source and `module.ptx()` is empty.

    python examples/transpiled/rms_norm.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pyptx
from pyptx import ptx, reg
from pyptx.types import b8, b32, b64, f16, f32, pred, u64
from pyptx_sim import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx.reg import Reg
    from pyptx_dsl.registers.operands import PtxValue

SOURCE = "tilelang-0.1/rows.sm_90a.rms-norm.ptx"
ENTRY = "kernel_kernel"
WIDTH, THREADS, EPSILON = 1024, 128, 1e-6
HELD = WIDTH // THREADS  # numbers per thread

SIGNED = {b32: "add.s32 xor.b32 shl.b32", b64: "add.s64", f32: "add.f32 mul.f32"}

module = pyptx.module(version=(9, 0), target="sm_90a")
workspace = module.var("shared", "workspace", b8, 0, align=1024, linking="extern")


def word(value: PtxValue | str | int) -> Reg:
    """Emit mov.u32 into a fresh register."""
    return ptx.inst.mov.u32(reg.scalar(b32), value)


def number(half: int, pair: Reg) -> Reg:
    """Emit 2 instructions: one of the two f16 in a register, as f32."""
    with ptx.scope():
        both = reg.declare(f16, "low", "high")
        ptx.inst.mov.b32(list(both), pair)
        return ptx.inst.cvt.f32.f16(reg.scalar(f32), both[half])


def rounded(low: Reg, high: Reg, pair: Reg) -> None:
    """Emit 1 instruction: round two f32 to f16, in one register."""
    with ptx.scope():
        ptx.inst.cvt.rn.f16x2.f32(pair, high, low)


def sum_of_squares(values: list[Reg]) -> Reg:
    """Emit one fma per value, each after the previous one."""
    total = ptx.inst.fma.rn.f32(reg.scalar(f32), values[0], values[0], 0.0)
    for value in values[1:]:
        total = ptx.inst.fma.rn.f32(reg.scalar(f32), value, value, total)
    return total


def added_through_memory(mine: Reg, thread: Reg, barriers: tuple[Reg, Reg]) -> Reg:
    """Add the values of the four threads whose indices differ by 64 or 32; then one warp has all sums of the CTA."""
    threads = word(THREADS)
    ptx.inst.bar.sync(barriers[0], threads)
    offset = ptx.inst.shl.b32(reg.scalar(b32), thread, 2)
    base = word(workspace)
    own = ptx.inst.add.s32(reg.scalar(b32), base, offset)
    for distance in (64, 32):
        if distance != 64:  # all threads have read the previous values
            ptx.inst.bar.sync(barriers[0], threads)
        ptx.inst.st.shared.f32(ptx.addr(own), mine)
        ptx.inst.bar.sync(barriers[1], threads)
        with ptx.expr(temps=(*reg.array(b32, 2), *reg.array(f32, 2)), spelling=SIGNED):
            mine = mine + ptx.inst.ld.shared.f32(..., ptx.addr(base + (offset ^ 4 * distance)))
    return mine


def added_through_shuffles(mine: Reg, distances: dict[int, Reg]) -> Reg:
    """Add the values of a warp's lanes; `distances` has the shuffle distances that are in registers already."""
    operands: tuple[Reg, Reg] | None = None
    for distance in (16, 8, 4, 2, 1):
        bits = ptx.inst.mov.b32(reg.scalar(b32), mine)
        last, everyone = operands = operands or (word(31), word(-1))  # once, after the first move
        away = distances[distance] if distance in distances else word(distance)
        got = reg.scalar(b32)
        ptx.inst.shfl.sync.bfly.b32(reg.pair(got, reg.scalar(pred)), bits, away, last, everyone)
        with ptx.expr(temps=reg.array(f32, 2), spelling=SIGNED):
            mine = mine + ptx.inst.mov.b32(..., got)
    return mine


@module.entry(ENTRY, [u64, u64], maxntid=(THREADS, 1, 1), minnctapersm=1, linking="visible")
def rms_norm(x_name: str, y_name: str) -> None:
    """Y = x / sqrt(mean(x²) + EPSILON), one row per CTA."""
    x, y = (ptx.inst.ld.param.u64(reg.scalar(b64), ptx.addr(name)) for name in (x_name, y_name))
    y, x = (ptx.inst.cvta.to.global_.u64(reg.scalar(b64), pointer) for pointer in (y, x))
    with ptx.expr(temps=reg.array(b32, 4), spelling=SIGNED):
        row = ptx.inst.mov.u32(..., ptx.special.ctaid.x()) << 10
        thread = word(ptx.special.tid.x())
        first = row + (thread << 3)
    offset = ptx.inst.mul.wide.s32(reg.scalar(b64), first, 2)
    pairs = reg.array(b32, HELD // 2)
    ptx.inst.ld.global_.nc.v4.u32(pairs, ptx.addr(ptx.inst.add.s64(reg.scalar(b64), x, offset)))
    constants = {value: word(value) for value in (16, 1, 2)}
    values = [number(half, pair) for pair in pairs for half in range(2)]
    mine = added_through_memory(sum_of_squares(values), thread, (constants[1], constants[2]))
    total = added_through_shuffles(mine, constants)
    mean = ptx.inst.fma.rn.f32(reg.scalar(f32), total, 1 / WIDTH, EPSILON)
    factor = ptx.inst.rsqrt.approx.f32(reg.scalar(f32), mean)
    scaled = [ptx.inst.mul.f32(reg.scalar(f32), value, factor) for value in values]
    target, results = ptx.inst.add.s64(reg.scalar(b64), y, offset), reg.array(b32, HELD // 2)
    for i in reversed(range(HELD // 2)):
        rounded(scaled[2 * i], scaled[2 * i + 1], results[i])
    ptx.inst.st.global_.v4.u32(ptx.addr(target), results)
    ptx.inst.ret()


def reference(x: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the normalized rows in float64."""
    wide = x.astype(np.float64)
    return wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + EPSILON)


def main() -> None:
    """Run it on the simulator, and print the largest error."""
    x = np.random.default_rng(0).standard_normal((5, WIDTH)).astype(np.float16)
    y = np.zeros_like(x)
    run(module.module(), entry=ENTRY, args=[x, y], grid=len(x), block=THREADS, shared_bytes=4 * THREADS, checks="all")
    print(f"{len(x)} rows of {WIDTH}: largest error {np.abs(y - reference(x)).max():.3g}")


if __name__ == "__main__":
    main()
