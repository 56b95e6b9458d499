"""Arithmetic with the carry flag. Manual: "Extended-Precision Arithmetic Instructions" (9.7.2).

Signed and unsigned types give the same bits, so all operands are read as unsigned. The flag is always the carry of an
addition: a subtraction is `a + ~b + 1`, `subc` is `a + ~b + flag`, so after a subtraction the flag says that nothing
was borrowed. The manual calls it a borrow, which is the same within a chain of subtractions; but ptxas makes additions
(IADD3.X with ~b), and nvcc's own 128-bit division reads the flag of a `subc.cc` with `addc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.integers import multiply_high
from pyptx_sim.operation import Array, Compute, Operation
from pyptx_sim.semantics.forms import Match, form

Step: TypeAlias = Callable[..., tuple[Array, Array]]

TYPES = ("u32", "s32", "u64", "s64")


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, total < a


def _sum_with_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    total = a + b + carry
    return total, (total < a) | (carry & (total == a))


def _difference(a: Array, b: Array) -> tuple[Array, Array]:
    return a - b, a >= b


def _difference_with_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    return _sum_with_carry(a, ~b, carry)


# (name of the operation, whether the flag is read) -> the sum or difference and the new flag.
_STEPS: dict[tuple[str, bool], Step] = {
    ("add", False): _sum,
    ("add", True): _sum_with_carry,
    ("sub", False): _difference,
    ("sub", True): _difference_with_carry,
}


def _bind(match: Match) -> Operation:
    opcode = match.instruction.opcode[0]
    product = opcode.startswith("mad")
    reads, writes = opcode.endswith("c"), "cc" in match
    step = _STEPS["add" if product else opcode[:3], reads]
    unsigned = f"u{match['type'][1:]}"
    match.expect_operands(4 if product else 3)
    high = match["mode"] == "hi"

    def multiplied(a: Array, b: Array, *rest: Array) -> tuple[Array, Array]:
        return step(multiply_high(a, b) if high else np.multiply(a, b), *rest)

    full = multiplied if product else step
    compute: Compute = full if writes else (lambda *sources: full(*sources)[0])
    sources = (unsigned,) * (3 if product else 2)
    return Operation((unsigned,), sources, compute, reads_carry=reads, writes_carry=writes)


_MODES = ("lo", "hi")

FORMS = (
    form("add.cc.type", _bind, type=TYPES),
    form("addc{.cc}.type", _bind, type=TYPES),
    form("sub.cc.type", _bind, type=TYPES),
    form("subc{.cc}.type", _bind, type=TYPES),
    form("mad.mode.cc.type", _bind, mode=_MODES, type=TYPES),
    form("madc.mode{.cc}.type", _bind, mode=_MODES, type=TYPES),
)
