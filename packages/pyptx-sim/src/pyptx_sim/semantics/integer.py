"""Integer arithmetic. Manual: "Integer Arithmetic Instructions" (9.7.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.integers import divide, double_width, multiply_high, remainder
from pyptx_sim.numerics.packed import elementwise, split
from pyptx_sim.operation import Array, Operation, Unspecified
from pyptx_sim.semantics.operations import constant, operation
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Core: TypeAlias = Callable[..., Array]
Binary: TypeAlias = Callable[[Array, Array], Array]

_REGISTER = np.dtype("<u4")


def _by_element(form: Bound, core: Core) -> Operation:
    """Return the `Operation` of function `core`; for packed types, `core` is applied to each element."""
    element = packed_element(form.type_of("d"))
    return operation(form, elementwise(core, dtype_of(element), _REGISTER) if element else core)


def _sum(form: Bound) -> Operation:
    return _by_element(form, _saturated_sum(1) if "sat" in form.words else np.add)


def _difference(form: Bound) -> Operation:
    return _by_element(form, _saturated_sum(-1) if "sat" in form.words else np.subtract)


def _negative(form: Bound) -> Operation:
    return _by_element(form, np.negative)


def _saturated_sum(sign: int) -> Binary:
    """Return `a + sign * b` clamped to the range of the type; carry or overflow is detected in the wrapped result."""

    def signed(a: Array, b: Array) -> Array:
        total = a + b if sign > 0 else a - b
        # Overflow: both addends have the same sign, and the sum has the opposite sign.
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


def _extreme(core: Core) -> Callable[[Bound], Operation]:
    """Return the function that binds `core`, min or max, to an `Operation`; `.relu` makes negative results zero."""

    def relu(a: Array, b: Array) -> Array:
        result: Array = np.maximum(core(a, b), a.dtype.type(0))
        return result

    return lambda form: _by_element(form, relu if "relu" in form.words else core)


def _wide_product(a: Array, b: Array) -> Array:
    wide = double_width(a.dtype)
    result: Array = a.astype(wide) * b.astype(wide)
    return result


def _multiply(form: Bound) -> Operation:
    return operation(form, _product(form))


def _product(form: Bound) -> Core:
    if "wide" in form.words:
        return _wide_product
    return np.multiply if form.word("mode") == "lo" else multiply_high


def _multiply_add(form: Bound) -> Operation:
    product, add = _product(form), _saturated_sum(1) if "sat" in form.words else np.add
    return operation(form, lambda a, b, c: add(product(a, b), c))


_BY_ZERO = Unspecified(
    lambda _a, b: b == 0,
    "an integer division by zero",
    "test the divisor first: the result is undefined and differs between GPUs",
)


def _division(core: Binary) -> Callable[[Bound], Operation]:
    """Return the function that binds `core` (div, rem) to an `Operation` with unspecified results for zero divisors."""
    return lambda form: operation(form, core, unspecified=None if constant(form, "b") else _BY_ZERO)


def _multiply24(a: Array, b: Array, *, mode: str) -> Array:
    """Multiply the low 24 bits of 32-bit operands; return bits 0 to 31 of the product, or bits 16 to 47 for `.hi`."""
    wide = double_width(a.dtype)
    # Shifting left, then right, sign-extends bit 23 or clears the bits above it.
    low_a, low_b = (a << 8) >> 8, (b << 8) >> 8
    result: Array = ((low_a.astype(wide) * low_b.astype(wide)) >> (0 if mode == "lo" else 16)).astype(a.dtype)
    return result


def _multiply_add24(a: Array, b: Array, c: Array, *, mode: str, sat: str) -> Array:
    product = _multiply24(a, b, mode=mode)
    return _saturated_sum(1)(product, c) if sat else product + c


def _absolute_difference_sum(a: Array, b: Array, c: Array) -> Array:
    return c + np.where(a < b, b - a, a - b)


def _dot_product_of_bytes(a: Array, b: Array, c: Array) -> Array:
    return _dot_product(a, b, c, size=1, chosen=slice(None))


def _dot_product_of_halves(a: Array, b: Array, c: Array, *, mode: str) -> Array:
    return _dot_product(a, b, c, size=2, chosen=slice(0, 2) if mode == "lo" else slice(2, 4))


def _dot_product(a: Array, b: Array, c: Array, *, size: int, chosen: slice) -> Array:
    """Return `c` plus the products of the `size`-byte elements of `a` and the bytes of `b` that `chosen` selects."""
    left = split(a, np.dtype(f"<{a.dtype.kind}{size}")).astype(np.int32)
    right = split(b, np.dtype(f"<{b.dtype.kind}1"))[..., chosen].astype(np.int32)
    products = (left * right).view(c.dtype)
    total = c + products[..., 0]
    for place in range(1, products.shape[-1]):
        total = total + products[..., place]
    return total


ROWS = (
    Semantics("add", _sum, manual="add"),
    Semantics("sub", _difference, manual="sub"),
    Semantics("mul", _multiply, manual="mul"),
    Semantics("mad", _multiply_add, manual="mad"),
    Semantics("div", _division(divide), manual="div"),
    Semantics("abs", compute=np.abs, manual="abs"),
    Semantics("neg", _negative, manual="neg"),
    Semantics("min", _extreme(np.minimum), manual="min"),
    Semantics("max", _extreme(np.maximum), manual="max"),
    Semantics("mul24", compute=_multiply24),
    Semantics("mad24", compute=_multiply_add24),
    Semantics("sad", compute=_absolute_difference_sum),
    Semantics("rem", _division(remainder)),
    Semantics("dp4a", compute=_dot_product_of_bytes),
    Semantics("dp2a", compute=_dot_product_of_halves),
)
