"""The attention problem on any architecture: sizes, causal mask, position of a tile, normalization of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import f32, s32

if TYPE_CHECKING:
    from pyptx.reg import Reg

LOG2_E = math.log2(math.e)
LOWEST = -1e30  # initial row maximum: below every score; finite, so that maxima never give inf - inf


@dataclass(frozen=True, slots=True)
class Problem:
    """Compile-time constants of a specialized kernel: sizes, causal or not, and the scale of the scores.

    If `causal`, query i sees the keys up to i + `ahead`, inclusive, and the last query sees all keys. `shared` heads of
    queries share one head of keys.
    """

    queries: int
    keys: int
    heads: int
    heads_of_keys: int
    causal: bool
    scale: float

    @property
    def ahead(self) -> int:
        """Offset of the causal diagonal: query i sees the keys up to i + `ahead`."""
        return self.keys - self.queries

    @property
    def shared(self) -> int:
        """Number of query heads per key head."""
        return self.heads // self.heads_of_keys

    @property
    def scale2(self) -> float:
        """Scale that turns scores into exponents of 2: `scale` · log2(e)."""
        return self.scale * LOG2_E

    def steps(self, behind: Reg, size: int) -> Reg | int:
        """Return the number of steps of `size` keys that cover all keys seen by queries before `behind`; at least 1."""
        every = -(-self.keys // size)
        if not self.causal:
            return every
        return divided((behind + (self.ahead + size - 1)).max(size), size).min(every)

    def whole_steps(self, first: Reg, size: int) -> Reg | int:
        """Return the number of steps of `size` keys, from key 0, that every query from `first` on sees in full."""
        every = self.keys // size
        if not self.causal:
            return every
        return divided((first + (self.ahead + 1)).max(0), size).min(every)


def problem_of(q, k, scale: float | None, *, causal: bool) -> Problem:
    """Return the problem of Q and K; raise ValueError if key heads do not divide query heads or the scale is not > 0.

    The scale defaults to 1 / sqrt(head_dim).
    """
    (_, queries, heads, head_dim), (_, keys, heads_of_keys, _) = q.shape, k.shape
    if heads % heads_of_keys:
        raise ValueError(f"{heads} heads of Q do not share {heads_of_keys} heads of K and V evenly")
    scale = head_dim**-0.5 if scale is None else scale
    if not scale > 0:  # a negative scale would turn the -inf of masked keys into +inf
        raise ValueError(f"scale={scale}: the scale of the scores must be positive")
    return Problem(queries, keys, heads, heads_of_keys, causal, scale)


@dataclass(frozen=True, slots=True)
class TilePosition:
    """Head, batch and first row of a tile of Q, K or V, in 32-bit registers."""

    head: Reg
    batch: Reg
    row: Reg


def normalization(peak: Reg, total: Reg, scale: float) -> tuple[Reg, Reg]:
    """Return a row's normalization of O, 1 / total (1 if the row sees no key), and the row's LSE (natural log)."""
    inverse, logarithm = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.rcp.approx.ftz.f32(inverse, total)
    ptx.selp(f32, inverse, inverse, 1.0, total != 0.0)
    ptx.inst.lg2.approx.ftz.f32(logarithm, total)
    ptx.inst.fma.rn.f32(logarithm, peak, scale, logarithm)
    ptx.inst.mul.rn.f32(logarithm, logarithm, 1 / LOG2_E)
    return inverse, logarithm


# --- indices of rows and heads -----------------------------------------------------------------------


def unflatten(number: Reg, *sizes: int) -> list[Reg]:
    """Return the mixed-radix digits of `number` as s32: the first digit varies fastest, the last has no limit.

    Grids are one-dimensional because grid y and z are limited to 65,535, which the batch size may exceed.
    """
    digits = [number]
    for size in sizes:
        rest = divided(digits[-1], size)
        digits[-1:] = [digits[-1] - rest * size, rest]
    return [reg.from_(digit, s32) for digit in digits]


def divided(number: Reg, by: int) -> Reg:
    """Return `number // by` for a register below 2^31 and a constant: a shift, or `mul.hi` and a shift.

    ptxas emits as much for a constant divisor as for any: 14 instructions, or 18 if signed. Let 2^(n-1) < by <= 2^n.
    The factor ceil(2^(31+n) / by) is too large by less than 1. So the quotient of a number below 2^31 is too large by
    less than 2^-n <= 1 / by. The fraction of a quotient is at most 1 - 1 / by, so the floor is exact.
    """
    n = (by - 1).bit_length()
    if by == 1 << n:
        return number >> n if n else number
    quotient = reg.scalar(number.dtype)
    ptx.inst.mul.hi.u32(quotient, number, -(-(1 << (31 + n)) // by))
    return quotient >> (n - 1)
