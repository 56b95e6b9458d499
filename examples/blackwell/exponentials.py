"""Powers of two, two at a time: most by the special function units, some by a polynomial in fused multiply-adds.

A multiprocessor has 16 results of `ex2.approx` a clock (CUDA programming guide, "Arithmetic Instructions"), and about
4096 multiply-adds of its tensor cores (2.25 PFLOP/s of bf16, over 148 multiprocessors at 1.85 GHz). So a step of
attention over 128 x 128 scores of heads of 128 takes 1024 clocks of products (Q Kᵀ and P V), and as many of
exponentials alone, beside all else that the softmax has to do. The units of `fma` have room, so they take a share of
them (`POLYNOMIAL_EVERY`). Instructions of `f32x2` do two elements each: half as many to issue.

The polynomial. Let n be x rounded to a whole number, r = x - n: 2^x = 2^n · 2^r with |r| <= 1/2 (Cody and Waite's way
to split; with base 2 it is exact). Adding 1.5 · 2^23 does the rounding: from there on neighbours of f32 are 1 apart, so
the lowest bits of the sum are those of n, and shifted left by 23 they are what the exponent of p(r) grows by.

p(r) = 1 + r · (c1 + r · (c2 + …)) has the coefficients for which the largest |p(r) / 2^r - 1| over |r| <= 1/2 is least.
By degree that is 1.0e-4, 2.8e-6 (2^-18.4), 9e-8: probabilities are rounded to bf16, by up to 2^-9, but the sum that LSE
is made of is not. So the degree is 4, and the tests hold the coefficients against both the bound and the theory: such a
polynomial's error reaches its bound with alternating signs (Chebyshev).

p(0) is 1 exactly, and 2^-127 · 1 has bits of 0: what is clamped to -127, as -inf is, becomes 0 and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import b32, f32, f32x2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx.reg import Reg

COEFFICIENTS = (1.0, 0.6931241750717163, 0.24024099111557007, 0.055906426161527634, 0.009582852944731712)
ERROR = 2.9e-6
"""A bound on what `polynomial` is wrong by, relative to the power, roundings of f32 included; for powers in range."""
ROUNDER = 1.5 * 2.0**23
LOWEST_POWER = -127.0
POLYNOMIAL_EVERY = 4  # of so many pairs, one goes by the polynomial
EXPONENT = 23  # the lowest bit of the exponent of f32


def pair(low: Reg | float, high: Reg | float) -> Reg:
    """Return two f32 as one operand of `f32x2`, by one `mov.b64`, and one more for each number that is no register."""
    halves = [each if not isinstance(each, float) else reg.scalar(f32, init=each) for each in (low, high)]
    both = reg.scalar(f32x2)
    ptx.inst.mov.b64(both, halves)
    return both


def split(both: Reg, halves: Iterable[Reg]) -> None:
    """Take two f32 apart, by one `mov.b64`."""
    ptx.inst.mov.b64(list(halves), both)


class Powers:
    """Powers of two, with the constants of the polynomial in registers; made once in front of a loop."""

    def __init__(self) -> None:
        """Emit the constants, both halves alike."""
        self.coefficients = [pair(each, each) for each in COEFFICIENTS]
        self.rounder = pair(ROUNDER, ROUNDER)

    def power(self, exponents: Reg, results: Sequence[Reg], number: int) -> None:
        """Raise 2 to both exponents; `number` counts pairs, and says which way this one goes."""
        split(exponents, results)
        if number % POLYNOMIAL_EVERY == POLYNOMIAL_EVERY - 1:
            self.polynomial(results)
            return
        for each in results:
            ptx.inst.ex2.approx.ftz.f32(each, each)

    def polynomial(self, values: Sequence[Reg]) -> None:
        """Replace two exponents, of up to 127, by their powers; no special function."""
        for each in values:
            ptx.inst.max.f32(each, each, LOWEST_POWER)
        x, whole, rest, result = pair(*values), reg.scalar(f32x2), reg.scalar(f32x2), reg.scalar(f32x2)
        powers, bits = reg.array(b32, 2), reg.array(b32, 2)
        ptx.inst.add.rn.f32x2(whole, x, self.rounder)
        split(whole, bits)
        ptx.inst.sub.rn.f32x2(whole, whole, self.rounder)
        ptx.inst.sub.rn.f32x2(rest, x, whole)
        *lower, highest = self.coefficients
        for coefficient in reversed(lower):
            ptx.inst.fma.rn.f32x2(result, highest, rest, coefficient)
            highest = result
        split(result, powers)
        for value, power, shifted in zip(values, powers, bits, strict=True):
            ptx.inst.shl.b32(shifted, shifted, EXPONENT)
            ptx.inst.add.s32(power, power, shifted)
            ptx.inst.mov.b32(value, power)
