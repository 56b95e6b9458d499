"""Common part of the quantizers: rows of numbers, 16 per thread, their magnitudes, and the handling of NaN.

A block of 16 or 32 consecutive elements along K is divided by a scale factor that fits its largest magnitude into a
narrow format. A thread has 16 elements; those of a warp are contiguous, and so is its output. Memory is busy if enough
bytes are in flight: 8 TB/s times 0.8 us of latency are 43 KB for each SM of a B200, and 2048 threads request 64 KB of
bf16 at a time.

A block with an infinity or a NaN has no largest number: its scale factor is NaN, and so are its scaled elements. The
test takes one instruction: v * 0 + v is v, unless v is infinite or NaN.

`largest` returns the largest magnitude of a whole matrix, from which formats with two levels of scale factors choose
the upper one. It ignores infinities and NaN.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import PtxType, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import scales
from examples.rows.vectors import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx import TensorSpec
    from pyptx.reg import Reg

GROUP = 16  # elements of a row that each thread quantizes
THREADS = 256
WARPS = THREADS // 32
ACCESS = 32  # bytes that a thread reads per global load
BLOCKS = 8 * 148  # CTAs that compute a matrix's largest magnitude: eight per SM of a B200


@dataclass(frozen=True, slots=True)
class Group:
    """Group of 16 elements, number `number` of a row; `inside` is whether the matrix contains the group."""

    row: Reg
    number: Reg
    inside: Reg

    @classmethod
    def mine(cls, shape: Sequence[int], block: int) -> Group:
        """Return this thread's 16 elements; threads cover all blocks with scale factors, also past the matrix edges."""
        M, K = shape
        _, words = scales.extent(M, K // block)
        groups = words * scales.WORD * block // GROUP  # threads per row of the matrix, each for 16 elements of it
        index = ptx.ctaid_x() * THREADS + ptx.special.tid.x()
        row = index // groups
        number = index - row * groups
        return cls(row, number, (row < M) & (number < K // GROUP))

    def load(self, dtype: PtxType, x: TensorSpec) -> list[Reg]:
        """Load the 16 elements as f32 from a matrix of type `dtype`; zeros outside of the matrix."""
        (px,) = ptx.global_ptrs(x)
        return load(dtype, px + (self.row * x.shape[1] + self.number * GROUP) * dtype.bytes, self.inside)


def threads(M: int, K: int, block: int) -> int:
    """Return the number of CTAs: one thread per 16 elements of all blocks with scale factors, also past the edges."""
    rows, words = scales.extent(M, K // block)
    return rows * scales.ROWS * words * scales.WORD * block // GROUP // THREADS


def load(dtype: PtxType, address: Reg, inside: Reg | None = None) -> list[Reg]:
    """Load 16 elements as f32, 32 bytes at a time; zeros where `inside` is false."""
    offsets = range(0, GROUP * dtype.bytes, ACCESS)
    return [each for offset in offsets for each in Vector(dtype, ACCESS).load(ptx.addr(address, offset), inside)]


def magnitude(values: Sequence[Reg]) -> Reg:
    """Return the largest magnitude of f32 registers; NaN if one of them is NaN."""
    result, size = reg.scalar(f32, init=0.0), reg.scalar(f32)
    for value in values:
        ptx.inst.abs.f32(size, value)
        ptx.inst.max.NaN.f32(result, result, size)
    return result


def nothing(value: Reg) -> Reg:
    """Return 0, or NaN if `value` is infinite or NaN: a number plus the result is the number itself, or NaN."""
    return value * 0.0


@functools.cache
def largest_of(dtype: PtxType) -> Kernel[tuple[Tile]]:
    """Return the kernel in which each of P CTAs writes the largest finite magnitude of its part of N elements."""

    @kernel(
        in_specs=(Tile("N", dtype, align=ACCESS),),
        out_specs=(Tile("P", f32),),
        grid=lambda N, P: P,
        block=THREADS,
        arch="sm_100a",
    )
    def largest(x, out) -> None:
        groups, rest = divmod(x.shape[0], GROUP)
        px, pout = ptx.global_ptrs(x, out)
        tid, block = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
        found = reg.scalar(f32, init=0.0)
        for group in ptx.range_(block * THREADS + tid, groups, out.shape[0] * THREADS):
            _take(found, load(dtype, px + group * (GROUP * dtype.bytes)))
        if rest:
            value = reg.scalar(dtype)
            with ptx.if_((block == 0) & (tid < rest)):
                ptx.ld(dtype, value, ptx.addr(px + tid * dtype.bytes, groups * GROUP * dtype.bytes))
                _take(found, [value if dtype == f32 else ptx.cvt(f32, dtype, reg.scalar(f32), value)])
        ptx.warp.reduce_max(found)
        parts = smem.alloc(f32, WARPS)
        with ptx.if_((tid & 31) == 0):
            parts.store(found, tid >> 5)
        ptx.bar.sync(0)
        with ptx.if_(tid < 32):
            found = parts.load(tid & (WARPS - 1))
            ptx.warp.reduce_max(found, width=WARPS)
            ptx.st(f32, ptx.addr(pout + block * 4), found, pred=tid == 0)
        ptx.ret()

    return largest


def _take(found: Reg, values: Sequence[Reg]) -> None:
    """Raise `found` to the largest finite magnitude of `values`; `max` ignores NaN."""
    size = reg.scalar(f32)
    for value in values:
        ptx.inst.abs.f32(size, value)
        ptx.inst.fma.rn.f32(size, size, 0.0, size)
        ptx.inst.max.f32(found, found, size)


def largest(x, dtype: PtxType = bf16):
    """Return the largest finite magnitude of a matrix, as an array of one f32: first per CTA, then over CTAs."""
    flat = x.reshape(-1)
    parts = largest_of(dtype)(flat, P=min(-(-flat.shape[0] // (GROUP * THREADS)), BLOCKS))
    return largest_of(f32)(parts, P=1)
