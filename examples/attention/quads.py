"""Operations of the four lanes (a quad) that share a row of an MMA fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import b16, b32, f32

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx.reg import Reg

CHUNK = 8  # bf16 elements per `ld.v4.b32` (16 bytes)
QUAD = 4


def over_quad(combine: Callable[[Reg, Reg, Reg], object], value: Reg) -> None:
    """Reduce an f32 over the four lanes of a quad with `combine`, in place, by two shuffles."""
    other = reg.scalar(f32)
    for distance in (1, 2):
        ptx.shfl.sync.bfly(other, value, distance)
        combine(value, value, other)


def dot(rows: list[Reg], head_dim: int) -> Reg:
    """Return the dot product of a pair of bf16 rows in global memory, in each lane of the quad; loads have 16 bytes."""
    total, words = reg.scalar(f32, init=0.0), [reg.array(b32, CHUNK // 2) for _ in rows]
    for first in range(0, head_dim, QUAD * CHUNK):
        for loaded, row in zip(words, rows, strict=True):
            ptx.inst.ld.global_.v4.b32(loaded, ptx.addr(row, 2 * first))
        for pair in zip(*words, strict=True):
            for left, right in zip(*map(unpacked, pair), strict=True):
                ptx.inst.fma.rn.f32(total, left, right, total)
    over_quad(ptx.inst.add.rn.f32, total)
    return total


def unpacked(pair: Reg) -> list[Reg]:
    """Return the two bf16 halves of a 32-bit register as two f32 registers."""
    halves, wide = [reg.scalar(b16) for _ in range(2)], [reg.scalar(f32) for _ in range(2)]
    ptx.inst.mov.b32(halves, pair)
    for half, value in zip(halves, wide, strict=True):
        ptx.inst.cvt.f32.bf16(value, half)
    return wide
