"""Integer arithmetic. Manual: "Integer Arithmetic Instructions" (9.7.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_ir.plugins.rows import Semantics
from pyptx_sim.numerics.integers import divide, double_width, multiply_high, remainder
from pyptx_sim.numerics.packed import elementwise, split
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import Binary, binary, ternary
from pyptx_sim.semantics.forms import Bind, Match, form
from pyptx_sim.types import DType, dtype_of

Core: TypeAlias = Callable[..., Array]

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
NARROW = ("u16", "u32", "s16", "s32")
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

# Packed integer types and their elements.
PACKED: dict[str, DType] = {
    "u16x2": np.dtype("<u2"),
    "s16x2": np.dtype("<i2"),
    "u8x4": np.dtype("<u1"),
    "s8x4": np.dtype("<i1"),
}
_REGISTER = np.dtype("<u4")


def _operation(match: Match, core: Core, arity: int) -> Operation:
    """Bind `core` over `.type`; packed types go element by element."""
    match.expect_operands(arity + 1)
    kind = match["type"]
    if kind in PACKED:
        core = elementwise(core, PACKED[kind], _REGISTER)
    return Operation((kind,), (kind,) * arity, core)


def _plain(core: Core, arity: int = 2) -> Bind:
    return lambda match: _operation(match, core, arity)


def _saturated_sum(sign: int) -> Binary:
    """Return `a + sign * b` limited to the range of the type; the carry or overflow is seen in the wrapped result."""

    def signed(a: Array, b: Array) -> Array:
        total = a + b if sign > 0 else a - b
        # Overflow: the operands pull the same way, and the result has the other sign.
        addend: Array = b if sign > 0 else ~b
        overflow: Array = ((a ^ total) & (addend ^ total)) < 0
        half = 1 << (8 * a.dtype.itemsize - 1)
        lowest, highest = np.array(-half, a.dtype), np.array(half - 1, a.dtype)
        return np.where(overflow, np.where(a < 0, lowest, highest), total)

    def unsigned(a: Array, b: Array) -> Array:
        total = a + b if sign > 0 else a - b
        if sign > 0:
            return np.where(total < a, ~a.dtype.type(0), total)
        return np.where(a < b, a.dtype.type(0), total)

    def compute(a: Array, b: Array) -> Array:
        return signed(a, b) if a.dtype.kind == "i" else unsigned(a, b)

    return compute


def _extreme(core: Core) -> Bind:
    """Bind min or max; `.relu` lifts negative results to zero."""

    def relu(a: Array, b: Array) -> Array:
        result: Array = np.maximum(core(a, b), a.dtype.type(0))
        return result

    return lambda match: _operation(match, relu if "relu" in match else core, 2)


def _high_product(a: Array, b: Array) -> Array:
    return multiply_high(a, b)


def _multiply(match: Match) -> Operation:
    match.expect_operands(3)
    kind, mode = match["type"], match["mode"]
    if mode == "wide":
        wide = double_width(dtype_of(kind))
        return binary(WIDER[kind], (kind, kind), lambda a, b: a.astype(wide) * b.astype(wide))
    core: Core = np.multiply if mode == "lo" else _high_product
    return Operation((kind,), (kind, kind), core)


def _multiply_add(match: Match) -> Operation:
    match.expect_operands(4)
    kind, mode = match["type"], match["mode"]
    if mode == "wide":
        wide = double_width(dtype_of(kind))
        return ternary(WIDER[kind], (kind, kind, WIDER[kind]), lambda a, b, c: a.astype(wide) * b.astype(wide) + c)
    if mode == "lo":
        return ternary(kind, (kind, kind, kind), lambda a, b, c: a * b + c)
    add: Binary = _saturated_sum(1) if "sat" in match else np.add
    return ternary(kind, (kind, kind, kind), lambda a, b, c: add(multiply_high(a, b), c))


def _multiply24(a: Array, b: Array, *, mode: str) -> Array:
    """Return the product of the low 24 bits of 32-bit factors: bits 0 to 31, or 16 to 47 for `.hi`."""
    wide = double_width(a.dtype)
    # The shift up and down extends bit 23 by its sign, or clears what is above it.
    low_a, low_b = (a << 8) >> 8, (b << 8) >> 8
    result: Array = ((low_a.astype(wide) * low_b.astype(wide)) >> (0 if mode == "lo" else 16)).astype(a.dtype)
    return result


def _multiply_add24(a: Array, b: Array, c: Array, *, mode: str, sat: str) -> Array:
    product = _multiply24(a, b, mode=mode)
    return _saturated_sum(1)(product, c) if sat else product + c


def _absolute_difference_sum(a: Array, b: Array, c: Array) -> Array:
    return c + np.where(a < b, b - a, a - b)


def _dot_product(match: Match) -> Operation:
    """Bind dp4a and dp2a: four bytes by four, or two halves by two bytes of `b`."""
    match.expect_operands(4)
    halves = "mode" in match
    element_a = np.dtype(f"<{_kind(match['atype'])}{2 if halves else 1}")
    element_b = np.dtype(f"<{_kind(match['btype'])}1")
    chosen = {"": slice(None), "lo": slice(0, 2), "hi": slice(2, 4)}[match["mode"]]

    def compute(a: Array, b: Array, c: Array) -> Array:
        left, right = split(a, element_a).astype(np.int32), split(b, element_b)[..., chosen].astype(np.int32)
        products = (left * right).view(c.dtype)
        total = c + products[..., 0]
        for place in range(1, products.shape[-1]):
            total = total + products[..., place]
        return total

    accumulator = "u32" if match["atype"] == match["btype"] == "u32" else "s32"
    return Operation((accumulator,), ("b32", "b32", accumulator), compute)


def _kind(ptx_type: str) -> str:
    return "i" if ptx_type.startswith("s") else "u"


_RELU_TYPES = ("s16x2", "s32", "s8x4")

FORMS = (
    form("add.type", _plain(np.add), type=(*INTEGERS, *PACKED)),
    form("add.sat.type", _plain(_saturated_sum(1)), type=("s32", "u32", *PACKED)),
    form("sub.type", _plain(np.subtract), type=(*INTEGERS, *PACKED)),
    form("sub.sat.type", _plain(_saturated_sum(-1)), type=("s32", "u32", *PACKED)),
    form("mul.mode.type", _multiply, mode=("lo", "hi"), type=INTEGERS),
    form("mul.mode.type", _multiply, mode=("wide",), type=NARROW),
    form("mad.mode.type", _multiply_add, mode=("lo", "hi"), type=INTEGERS),
    form("mad.mode.type", _multiply_add, mode=("wide",), type=NARROW),
    form("mad.mode.sat.type", _multiply_add, mode=("hi",), type=("s32",)),
    form("div.type", _plain(divide), type=INTEGERS),
    form("abs.type", _plain(np.abs, 1), type=SIGNED),
    form("neg.type", _plain(np.negative, 1), type=(*SIGNED, "s16x2", "u8x4", "s8x4")),
    form("min{.relu}.type", _extreme(np.minimum), type=_RELU_TYPES),
    form("max{.relu}.type", _extreme(np.maximum), type=_RELU_TYPES),
    form("min.type", _extreme(np.minimum), type=(*INTEGERS, *PACKED)),
    form("max.type", _extreme(np.maximum), type=(*INTEGERS, *PACKED)),
    form("dp4a.atype.btype", _dot_product, atype=("u32", "s32"), btype=("u32", "s32")),
    form("dp2a.mode.atype.btype", _dot_product, mode=("lo", "hi"), atype=("u32", "s32"), btype=("u32", "s32")),
)

FUNCTIONS = (
    Semantics("mul24", compute=_multiply24),
    Semantics("mad24", compute=_multiply_add24),
    Semantics("sad", compute=_absolute_difference_sum),
    Semantics("rem", compute=remainder),
)
