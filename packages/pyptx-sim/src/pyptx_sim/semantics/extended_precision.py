"""Arithmetic with the carry flag. Manual: "Extended-Precision Arithmetic Instructions" (9.7.2).

Results for signed and unsigned types have the same bits, so all operands are read as unsigned. The carry flag is always
the carry of an addition: a subtraction is `a + ~b + 1`, `subc` is `a + ~b + flag`. After a subtraction, a set flag
therefore means no borrow. The manual calls the flag a borrow, which is equivalent within a chain of subtractions. But
ptxas emits additions (IADD3.X with ~b), and nvcc's own 128-bit division reads the flag of a `subc.cc` with `addc`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.integers import multiply_high
from pyptx_sim.operation import Array, Compute, Operation
from pyptx_sim.semantics.operations import operation

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Step: TypeAlias = Callable[..., tuple[Array, Array]]
"""Function from the operands, and the carry flag if the instruction reads it, to the result and the new carry flag."""


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


def _bind(form: Bound, step: Step, *, reads: bool) -> Operation:
    writes = "cc" in form.words
    compute: Compute = step if writes else (lambda *sources: step(*sources)[0])
    plain = operation(form, compute)
    unsigned = f"u{form.type_of('d')[1:]}"
    return replace(
        plain,
        results=(unsigned,),
        sources=(unsigned,) * len(plain.sources),
        reads_carry=reads,
        writes_carry=writes,
    )


def _adding(step: Step, *, reads: bool) -> Callable[[Bound], Operation]:
    return lambda form: _bind(form, step, reads=reads)


def _multiplying(step: Step, *, reads: bool) -> Callable[[Bound], Operation]:
    def bind(form: Bound) -> Operation:
        product = multiply_high if form.word("mode") == "hi" else np.multiply
        return _bind(form, lambda a, b, *rest: step(product(a, b), *rest), reads=reads)

    return bind


ROWS = (
    Semantics("add", _adding(_sum, reads=False), manual="add.cc"),
    Semantics("addc", _adding(_sum_with_carry, reads=True)),
    Semantics("sub", _adding(_difference, reads=False), manual="sub.cc"),
    Semantics("subc", _adding(_difference_with_carry, reads=True)),
    Semantics("mad", _multiplying(_sum, reads=False), manual="mad.cc"),
    Semantics("madc", _multiplying(_sum_with_carry, reads=True)),
)
