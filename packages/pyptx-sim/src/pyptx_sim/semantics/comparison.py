"""Comparison and selection, half precision included. Manual: 9.7.6, 9.7.7, and "Comparisons" (9.3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.isa.scalar_types import is_float
from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES, Half
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import operation
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Compare: TypeAlias = Callable[[Array, Array], Array]

_INTEGER_OPERATORS: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def _ordered(a: Array, b: Array) -> Array:
    result: Array = (a == a) & (b == b)  # noqa: PLR0124 - false for NaN
    return result


# Ordered comparisons are false for NaN, like NumPy's except `!=`. An unordered comparison negates the opposite ordered
# comparison.
_FLOAT_OPERATORS: dict[str, Compare] = {
    "eq": np.equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": _ordered,
    "nan": lambda a, b: ~_ordered(a, b),
}

_BOOLEAN: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _comparison(form: Bound) -> Compare:
    """Return the comparison of an instruction, as a function of two arrays; one truth value per packed element."""
    kind, operator, ftz = form.type_of("a"), form.word("cmp"), "ftz" in form.words
    if kind in HALVES or kind in PACKED_HALVES:
        packed = kind in PACKED_HALVES
        half = PACKED_HALVES[kind] if packed else HALVES[kind]
        return _widened(_FLOAT_OPERATORS[operator], half, packed=packed, ftz=ftz)
    if packed_element(kind):
        raise NoSemantics(form.instruction, f"comparison of .{kind} elements")
    if not is_float(kind):
        return _INTEGER_OPERATORS[operator]
    core = _FLOAT_OPERATORS[operator]
    return (lambda a, b: core(flushed(a), flushed(b))) if ftz else core


def _widened(core: Compare, half: Half, *, packed: bool, ftz: bool) -> Compare:
    def value(bits: Array) -> Array:
        elements = split(bits, half.element) if packed else bits
        return half.widen(half.flush(elements) if ftz else elements)

    return lambda a, b: core(value(a), value(b))


# --- setp ---------------------------------------------------------------------------------------


def _set_predicate(form: Bound) -> Operation:
    from pyptx_ir.syntax.operands import Pair

    compare, packed = _comparison(form), form.type_of("a") in PACKED_HALVES
    combine = _BOOLEAN.get(form.word("boolop"))
    if not isinstance(form.operands["p"], Pair) and not packed:
        alone = compare if combine is None else (lambda a, b, c: combine(compare(a, b), c))
        return replace(operation(form, alone), results=("pred",))

    # A packed comparison with one destination predicate compares the lower halves, as ptxas does (HSETP2 of .H0_H0).
    def compute(a: Array, b: Array, *third: Array) -> tuple[Array, Array]:
        truth = compare(a, b)
        first, second = (truth[..., 0], truth[..., 1]) if packed else (truth, ~truth)
        return (first, second) if combine is None else (combine(first, third[0]), combine(second, third[0]))

    return operation(form, compute)


# --- set ----------------------------------------------------------------------------------------

# Bits that represent true in each destination type; in integer types, all bits are set. Manual: 9.7.6.1, 9.7.7.1.
_ONE_BITS: dict[str, int] = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}


def _true_bits(kind: str, *, packed: bool) -> Array:
    """Return the bits that represent true in type `kind`, or in one half of a `packed` type."""
    size = 2 if packed else dtype_of(kind).itemsize
    every = (1 << (8 * size)) - 1
    return np.array(_ONE_BITS.get(kind, every), f"<u{size}")


def _set(form: Bound) -> Operation:
    compare = _comparison(form)
    combine = _BOOLEAN.get(form.word("boolop"))
    packed, target = form.type_of("a") in PACKED_HALVES, form.type_of("d")
    true, result = _true_bits(target, packed=packed), dtype_of(target)

    def compute(a: Array, b: Array, *third: Array) -> Array:
        truth = compare(a, b)
        if combine is not None:
            truth = combine(truth, third[0][..., None] if packed else third[0])
        bits = np.where(truth, true, true.dtype.type(0))
        return join(bits, result) if packed else bits.view(result)

    return operation(form, compute)


# --- selp, slct ---------------------------------------------------------------------------------


def _select_predicate(a: Array, b: Array, c: Array) -> Array:
    return np.where(c, a, b)


def _select_sign(a: Array, b: Array, c: Array, *, ftz: str) -> Array:
    return np.where((flushed(c) if ftz else c) >= 0, a, b)


ROWS = (
    Semantics("setp", _set_predicate),
    Semantics("set", _set),
    Semantics("selp", compute=_select_predicate),
    Semantics("slct", compute=_select_sign),
)
