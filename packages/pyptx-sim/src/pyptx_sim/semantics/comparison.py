"""Comparison and selection, half precision included. Manual: 9.7.6, 9.7.7, and "Comparisons" (9.3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES, Half
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import ternary
from pyptx_sim.semantics.forms import Match, form
from pyptx_sim.types import dtype_of

Compare: TypeAlias = Callable[[Array, Array], Array]

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")

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


# The ordered ones are false for NaN, as NumPy's are, all but `!=`; the unordered ones are complements of the opposite.
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

_BIT_ORDER = ("eq", "ne")
_SIGNED_ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
_UNSIGNED_ORDER = tuple(_INTEGER_OPERATORS)


def _operators(kind: str) -> tuple[str, ...]:
    if kind in BITS:
        return _BIT_ORDER
    if kind in INTEGERS:
        return _UNSIGNED_ORDER if kind.startswith("u") else _SIGNED_ORDER
    return tuple(_FLOAT_OPERATORS)


def _comparison(match: Match, kind: str) -> Compare:
    """Return the function that compares two sources of type `kind`; packed types give one truth value per element."""
    operator = match["cmp"]
    if operator not in _operators(kind):
        raise match.refuse(f".{operator} does not compare .{kind}")
    if kind in BITS or kind in INTEGERS:
        return _INTEGER_OPERATORS[operator]
    core = _FLOAT_OPERATORS[operator]
    if kind in HALVES or kind in PACKED_HALVES:
        return _widened(core, HALVES.get(kind) or PACKED_HALVES[kind], packed=kind in PACKED_HALVES, ftz="ftz" in match)
    if "ftz" in match:
        return lambda a, b: core(flushed(a), flushed(b))
    return core


def _widened(core: Compare, half: Half, *, packed: bool, ftz: bool) -> Compare:
    def value(bits: Array) -> Array:
        elements = split(bits, half.element) if packed else bits
        return half.widen(half.flush(elements) if ftz else elements)

    return lambda a, b: core(value(a), value(b))


def _check_shape(match: Match) -> bool:
    """Tell whether a third predicate is combined; raise NoSemantics if operands and `.BoolOp` disagree."""
    return match.expect_operands(4 if "bool" in match else 3) == 4


# --- setp ---------------------------------------------------------------------------------------


def _set_predicate(match: Match) -> Operation:
    from pyptx_ir.syntax.operands import Pair

    kind = match["type"]
    compare, combined = _comparison(match, kind), _check_shape(match)
    sources = (kind, kind, "pred") if combined else (kind, kind)
    combine = _BOOLEAN.get(match["bool"])
    if not isinstance(match.operands[0], Pair) and kind not in PACKED_HALVES:
        if combine is None:
            return Operation(("pred",), sources, compare)
        return ternary("pred", (kind, kind, "pred"), lambda a, b, c: combine(compare(a, b), c))

    # A packed comparison with one destination compares the lower halves: so ptxas has it (HSETP2 of .H0_H0).
    def compute(a: Array, b: Array, *third: Array) -> tuple[Array, Array]:
        truth = compare(a, b)
        first, second = (truth[..., 0], truth[..., 1]) if kind in PACKED_HALVES else (truth, ~truth)
        return (first, second) if combine is None else (combine(first, third[0]), combine(second, third[0]))

    return Operation(("pred", "pred"), sources, compute)


# --- set ----------------------------------------------------------------------------------------

# What a destination type holds for true. Manual: 9.7.6.1, 9.7.7.1.
_ONE_BITS: dict[str, int] = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}


def _true_bits(kind: str, *, packed: bool) -> Array:
    """Return true as bits of the destination, or of one of its two halves."""
    size = 2 if packed else dtype_of(kind).itemsize
    every = (1 << (8 * size)) - 1
    return np.array(_ONE_BITS.get(kind, every), f"<u{size}")


def _set(match: Match) -> Operation:
    source, target = match["stype"], match["dtype"]
    compare, combined = _comparison(match, source), _check_shape(match)
    combine = _BOOLEAN.get(match["bool"])
    packed = source in PACKED_HALVES
    true, result = _true_bits(target, packed=packed), dtype_of(target)

    def compute(a: Array, b: Array, *third: Array) -> Array:
        truth = compare(a, b)
        if combine is not None:
            truth = combine(truth, third[0][..., None] if packed else third[0])
        bits = np.where(truth, true, true.dtype.type(0))
        return join(bits, result) if packed else bits.view(result)

    return Operation((target,), (source, source, "pred") if combined else (source, source), compute)


# --- selp, slct ---------------------------------------------------------------------------------


def _bits(kind: str) -> str:
    """Return the untyped type as wide as `kind`: selections copy bits."""
    return f"b{8 * dtype_of(kind).itemsize}"


def _select_predicate(match: Match) -> Operation:
    match.expect_operands(4)
    kind = _bits(match["type"])
    return ternary(kind, (kind, kind, "pred"), lambda a, b, c: np.where(c, a, b))


def _select_sign(match: Match) -> Operation:
    match.expect_operands(4)
    kind, control = _bits(match["dtype"]), match["ctype"]
    if "ftz" in match:
        return ternary(kind, (kind, kind, control), lambda a, b, c: np.where(flushed(c) >= 0, a, b))
    return ternary(kind, (kind, kind, control), lambda a, b, c: np.where(c >= 0, a, b))


_COMPARISONS = tuple(_INTEGER_OPERATORS | _FLOAT_OPERATORS)
_BOOL = tuple(_BOOLEAN)
_PLAIN = BITS + INTEGERS + FLOATS

FORMS = (
    form("setp.cmp{.bool}.type", _set_predicate, cmp=_COMPARISONS, bool=_BOOL, type=(*_PLAIN, *HALVES, *PACKED_HALVES)),
    form("setp.cmp{.bool}.ftz.type", _set_predicate, cmp=_COMPARISONS, bool=_BOOL, type=("f32", "f16", "f16x2")),
    form(
        "set.cmp{.bool}.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("u32", "s32", "f32", "f16", "bf16"),
        stype=_PLAIN,
    ),
    form(
        "set.cmp{.bool}.ftz.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("u32", "s32", "f32", "f16"),
        stype=("f32",),
    ),
    form(
        "set.cmp{.bool}{.ftz}.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("u16", "s16", "u32", "s32", "f16", "bf16", "f32"),
        stype=("f16",),
    ),
    form(
        "set.cmp{.bool}.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("u16", "s16", "u32", "s32", "f16", "bf16", "f32"),
        stype=("bf16",),
    ),
    form(
        "set.cmp{.bool}{.ftz}.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("f16x2", "u32", "s32"),
        stype=("f16x2",),
    ),
    form(
        "set.cmp{.bool}.dtype.stype",
        _set,
        cmp=_COMPARISONS,
        bool=_BOOL,
        dtype=("bf16x2", "u32", "s32"),
        stype=("bf16x2",),
    ),
    form("selp.type", _select_predicate, type=(*_PLAIN, "f16", "bf16")),
    form("slct.dtype.ctype", _select_sign, dtype=_PLAIN, ctype=("s32",)),
    form("slct{.ftz}.dtype.ctype", _select_sign, dtype=_PLAIN, ctype=("f32",)),
)
