"""Arithmetic on *numbers*: registers of f32, or of f32 pairs (f32x2), on which Blackwell computes two at a time.

The operators `+ - *` of registers accept both types. This module has the other operations, so that one kernel
supports both: instructions that exist for one half only, and packing and unpacking of pairs. Packing and unpacking cost
a `mov.b64`, of which nothing is left in SASS, where a pair is two adjacent registers.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import PtxType, b64, f32, f32x2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx.reg import Reg


def twice(value: float, dtype: PtxType) -> int:
    """Return the bits of two adjacent elements of `dtype`, f32 or bf16, both equal to `value` (exactly)."""
    half = struct.pack("<f", value)[f32.bytes - dtype.bytes :]
    return int.from_bytes(half * 2, "little")


def constant(number: PtxType, value: float) -> Reg | float:
    """Return `value` as an operand of `+ - *`: an f32 literal, or an f32x2 register with two copies."""
    return value if number == f32 else reg.scalar(number, init=twice(value, f32))


def zero(number: PtxType) -> Reg:
    """Return a register that is initialized to zero, for accumulation."""
    return reg.scalar(number, init=0.0 if number == f32 else 0)


def spread(value: Reg, number: PtxType) -> Reg:
    """Return an f32 register as a number: itself, or an f32x2 of two copies."""
    return value if number == f32 else joined([value, value])


def joined(halves: Sequence[Reg]) -> Reg:
    """Return one or two f32 registers as a number (f32 or f32x2)."""
    if len(halves) == 1:
        return halves[0]
    pair = reg.scalar(f32x2)
    ptx.mov(b64, pair, list(halves))
    return pair


def halves(number: Reg) -> list[Reg]:
    """Return the f32 registers of a number: the f32 itself, or copies of the two halves of an f32x2."""
    if number.dtype == f32:
        return [number]
    parts = [reg.scalar(f32), reg.scalar(f32)]
    ptx.mov(b64, parts, number)
    return parts


def total_of(number: Reg) -> Reg:
    """Return the sum of the halves of an f32x2 (an f32 itself), in f32."""
    first, *others = halves(number)
    for other in others:
        ptx.inst.add.f32(first, first, other)
    return first


def by_halves(instruction: Callable[[Reg, Reg], object], number: Reg) -> Reg:
    """Apply an f32 instruction (operands `d, a`) to each half of a number, possibly in place; return the result."""
    parts = halves(number)
    for part in parts:
        instruction(part, part)
    return joined(parts)


def fma(d: Reg, a: Reg, b: Reg, c: Reg, pred: Reg | None = None) -> None:
    """Emit `fma.rn`: `d = a * b + c`, rounded once."""
    getattr(ptx.inst.fma.rn, d.dtype.name)(d, a, b, c, pred=pred)


def add(d: Reg, a: Reg, b: Reg) -> None:
    """Emit `d = a + b` as `add.f32` or `add.rn.f32x2`."""
    if d.dtype == f32:
        ptx.inst.add.f32(d, a, b)
    else:
        ptx.inst.add.rn.f32x2(d, a, b)


def raise_to(peak: Reg, number: Reg) -> None:
    """Replace `peak` by the maximum of it and the halves of a number: one `max`, on Blackwell with three inputs."""
    ptx.inst.max.f32(peak, peak, *halves(number))
