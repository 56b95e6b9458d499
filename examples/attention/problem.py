"""The problem of attention, whatever the architecture: sizes, who sees whom, where a block works, how a row ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import f32, s32

if TYPE_CHECKING:
    from pyptx.reg import Reg

LOG2_E = math.log2(math.e)
LOWEST = -1e30  # below every score, and finite: the difference of two maxima is never inf - inf


@dataclass(frozen=True, slots=True)
class Problem:
    """What a specialisation knows: sizes, whether queries see all keys, and the scale of the scores.

    With `causal`, query i sees the keys up to i + `ahead`: the last query sees all of them. `shared` heads of queries
    share a head of keys.
    """

    queries: int
    keys: int
    heads: int
    heads_of_keys: int
    causal: bool
    scale: float

    @property
    def ahead(self) -> int:
        """How many keys beyond its own number a query sees, if causal."""
        return self.keys - self.queries

    @property
    def shared(self) -> int:
        """How many heads of queries share a head of keys."""
        return self.heads // self.heads_of_keys

    @property
    def scale2(self) -> float:
        """The scale of scores as exponents of 2."""
        return self.scale * LOG2_E

    def steps(self, behind: Reg, size: int) -> Reg | int:
        """Return how many steps of `size` keys hold all that a query before `behind` sees; at least one."""
        every = -(-self.keys // size)
        if not self.causal:
            return every
        return divided((behind + (self.ahead + size - 1)).max(size), size).min(every)

    def whole_steps(self, first: Reg, size: int) -> Reg | int:
        """Return how many steps of `size` keys, from key 0 on, every query from `first` on sees whole."""
        every = self.keys // size
        if not self.causal:
            return every
        return divided((first + (self.ahead + 1)).max(0), size).min(every)


def problem_of(q, k, scale: float | None, *, causal: bool) -> Problem:
    """Read the sizes of Q and K; raise ValueError for heads that do not divide, or a scale that is not positive.

    The scale is 1 / sqrt(head_dim) unless another is given.
    """
    (_, queries, heads, head_dim), (_, keys, heads_of_keys, _) = q.shape, k.shape
    if heads % heads_of_keys:
        raise ValueError(f"{heads} heads of Q do not share {heads_of_keys} heads of K and V evenly")
    scale = head_dim**-0.5 if scale is None else scale
    if not scale > 0:  # a score of -inf hides a key, which another sign would turn round
        raise ValueError(f"scores are scaled by {scale}; the scale is positive")
    return Problem(queries, keys, heads, heads_of_keys, causal, scale)


@dataclass(frozen=True, slots=True)
class Place:
    """A head of a batch, and the first of some of its rows, in 32-bit registers."""

    head: Reg
    batch: Reg
    row: Reg


def settled(peak: Reg, total: Reg, scale: float) -> tuple[Reg, Reg]:
    """Return what to multiply a row by, 1 / total (1 if no key was seen), and the natural logarithm of its sum."""
    inverse, logarithm = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.rcp.approx.ftz.f32(inverse, total)
    ptx.selp(f32, inverse, inverse, 1.0, total != 0.0)
    ptx.inst.lg2.approx.ftz.f32(logarithm, total)
    ptx.inst.fma.rn.f32(logarithm, peak, scale, logarithm)
    ptx.inst.mul.rn.f32(logarithm, logarithm, 1 / LOG2_E)
    return inverse, logarithm


# --- places ------------------------------------------------------------------------------------------


def dealt(number: Reg, *sizes: int) -> list[Reg]:
    """Return the digits of a number, s32, the first counting fastest up to the first size; the last has no limit.

    The grid of a kernel is one number, because y and z of a grid end at 65,535, and batches need not.
    """
    digits = [number]
    for size in sizes:
        rest = divided(digits[-1], size)
        digits[-1:] = [digits[-1] - rest * size, rest]
    return [reg.from_(digit, s32) for digit in digits]


def divided(number: Reg, by: int) -> Reg:
    """Return the quotient of a 32-bit register, not negative as s32, by a constant: a shift, or a product and a shift.

    ptxas divides by a constant as by any number, in 14 instructions, or 18 if signed. Let 2^(n-1) < by <= 2^n: the
    factor ceil(2^(31+n) / by) is too large by less than 1, and with it the quotient of a number below 2^31 by less than
    2^-n <= 1 / by, which no fraction of a quotient is short of a whole.
    """
    n = (by - 1).bit_length()
    if by == 1 << n:
        return number >> n if n else number
    quotient = reg.scalar(number.dtype)
    ptx.inst.mul.hi.u32(quotient, number, -(-(1 << (31 + n)) // by))
    return quotient >> (n - 1)
