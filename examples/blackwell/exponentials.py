"""Powers of two, two at a time: most by the special function units, some by a polynomial in fused multiply-adds.

An SM computes 16 results of `ex2.approx` per clock (CUDA programming guide, "Arithmetic Instructions"), and its tensor
cores about 4096 multiply-adds (2.25 PFLOP/s of bf16, over 148 SMs at 1.85 GHz). One attention step over 128 x 128
scores with heads of 128 takes 1024 clocks of MMA (Q Kᵀ and P V), and 1024 clocks of exponentials in addition to the
rest of the softmax. The FMA units have spare throughput, so they compute a share of the exponentials
(`POLYNOMIAL_EVERY`). `f32x2` instructions process two elements each, which halves the instructions to issue.

The polynomial. Let n be x rounded to an integer, and r = x - n: 2^x = 2^n · 2^r with |r| <= 1/2 (Cody-Waite reduction,
exact for base 2). Adding 1.5 · 2^23 rounds x: f32 values of that size are 1 apart, so the lowest bits of the sum are
those of n. Shifted left by 23, they are added to the exponent of p(r).

p(r) = 1 + r · (c1 + r · (c2 + …)) has the coefficients that minimize the largest |p(r) / 2^r - 1| over |r| <= 1/2. That
error is 1.0e-4 for degree 3, 2.8e-6 (2^-18.4) for 4 and 9e-8 for 5. Probabilities are rounded to bf16, by up to 2^-9,
but the sum for LSE is not, so the degree is 4. The tests check the coefficients against the bound and against theory:
the error of such a polynomial reaches its bound with alternating signs (Chebyshev).

p(0) is exactly 1, and 2^-127 · 1 has the bits of 0: exponents clamped to -127, such as -inf, give exactly 0.
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
"""Bound on the relative error of `polynomial`, f32 roundings included, for results in the range of f32."""
ROUNDER = 1.5 * 2.0**23
LOWEST_POWER = -127.0
POLYNOMIAL_EVERY = 4  # every fourth pair of powers uses the polynomial instead of ex2
EXPONENT = 23  # position of the lowest exponent bit in an f32


def pair(low: Reg | float, high: Reg | float) -> Reg:
    """Return two f32 as one `f32x2` operand: one `mov.b64`, and one instruction more for each Python number."""
    halves = [each if not isinstance(each, float) else reg.scalar(f32, init=each) for each in (low, high)]
    both = reg.scalar(f32x2)
    ptx.inst.mov.b64(both, halves)
    return both


def split(both: Reg, halves: Iterable[Reg]) -> None:
    """Split an `f32x2` into two f32: one `mov.b64`."""
    ptx.inst.mov.b64(list(halves), both)


class Powers:
    """Code generator of powers of two; it keeps the polynomial's constants in registers: create it before a loop."""

    def __init__(self) -> None:
        """Emit the polynomial's constants, each as an `f32x2` of two equal halves."""
        self.coefficients = [pair(each, each) for each in COEFFICIENTS]
        self.rounder = pair(ROUNDER, ROUNDER)

    def power(self, exponents: Reg, results: Sequence[Reg], number: int) -> None:
        """Raise 2 to both halves of `exponents`; the pair index `number` selects `ex2.approx` or the polynomial."""
        split(exponents, results)
        if number % POLYNOMIAL_EVERY == POLYNOMIAL_EVERY - 1:
            self.polynomial(results)
            return
        for each in results:
            ptx.inst.ex2.approx.ftz.f32(each, each)

    def polynomial(self, values: Sequence[Reg]) -> None:
        """Replace two exponents x (at most 127) by 2^x, without special function units."""
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
