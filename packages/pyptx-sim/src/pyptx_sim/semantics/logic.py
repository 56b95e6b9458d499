"""Logic and shifts. Manual: "Logic and Shift Instructions" (9.7.8)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import constant, operation
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation

_U32, _U64 = np.uint32, np.uint64
_ALL_ONES = _U32(0xFFFFFFFF)


def _c_not(a: Array) -> Array:
    result: Array = (a == 0).astype(a.dtype)
    return result


# --- lop3 ---------------------------------------------------------------------------------------

# All functions of two inputs, by truth table: bit 2a+b is f(a, b).
_TWO_INPUTS: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, _b: np.zeros_like(a),
    lambda a, b: ~(a | b),
    lambda a, b: ~a & b,
    lambda a, _b: ~a,
    lambda a, b: a & ~b,
    lambda _a, b: ~b,
    lambda a, b: a ^ b,
    lambda a, b: ~(a & b),
    lambda a, b: a & b,
    lambda a, b: ~(a ^ b),
    lambda _a, b: b,
    lambda a, b: ~a | b,
    lambda a, _b: a,
    lambda a, b: a | ~b,
    lambda a, b: a | b,
    lambda a, _b: np.full_like(a, _ALL_ONES),
)


@lru_cache(maxsize=256)
def _three_inputs(table: int) -> Callable[[Array, Array, Array], Array]:
    """Return the bitwise function f(a, b, c) with truth table `table` (bit 4a+2b+c), by Shannon expansion for c."""
    clear = sum(((table >> (2 * row)) & 1) << row for row in range(4))
    set_ = sum(((table >> (2 * row + 1)) & 1) << row for row in range(4))
    if_clear, if_set = _TWO_INPUTS[clear], _TWO_INPUTS[set_]
    if clear == set_:
        return lambda a, b, _c: if_clear(a, b)
    if clear == set_ ^ 0xF:
        return lambda a, b, c: if_clear(a, b) ^ c
    if clear == 0:
        return lambda a, b, c: if_set(a, b) & c
    if set_ == 0:
        return lambda a, b, c: if_clear(a, b) & ~c
    return lambda a, b, c: (if_set(a, b) & c) | (if_clear(a, b) & ~c)


def _lookup(form: Bound) -> Operation:
    table = constant(form, "immLut")
    if table is None or not 0 <= table <= 0xFF:
        raise NoSemantics(form.instruction, "immLut must be a literal from 0 to 255")
    function = _three_inputs(table)
    if not form.word("boolop"):
        return operation(form, function, unread=("immLut",))
    combine = np.logical_or if form.word("boolop") == "or" else np.logical_and

    def compute(a: Array, b: Array, c: Array, q: Array) -> tuple[Array, Array]:
        bits = function(a, b, c)
        return bits, combine(bits != 0, q)

    return operation(form, compute, unread=("immLut",))


# --- shifts: NumPy shifts give zero, or the sign, if the count is at least the width --------------


def _count_for(size: int) -> Callable[[Array], Array]:
    """Return a function that converts u32 shift counts to the width of the shifted operand, `size` bytes.

    Counts for 16-bit operands are clamped to 16.
    """
    dtype = np.dtype(f"<u{size}")
    if size >= 4:
        return lambda count: count.astype(dtype, copy=False)
    return lambda count: np.minimum(count, _U32(8 * size)).astype(dtype)


def _shift_left(form: Bound) -> Operation:
    amount = _constant_amount(form)
    if amount is not None:
        return operation(form, lambda a: a << amount, unread=("b",))
    fit = _count_for(dtype_of(form.type_of("a")).itemsize)
    return operation(form, lambda a, b: a << fit(b))


def _shift_right(form: Bound) -> Operation:
    amount = _constant_amount(form)
    if amount is not None:
        return operation(form, lambda a: a >> amount, unread=("b",))
    dtype = dtype_of(form.type_of("a"))
    fit = _count_for(dtype.itemsize)
    # A count of 2^31 or more is negative as a signed number; NumPy treats it as a large count as well.
    return operation(form, lambda a, b: a >> fit(b).view(dtype))


def _constant_amount(form: Bound) -> np.integer[Any] | None:
    """Return a constant shift count, clamped to the operand's width, in its dtype; None if it is not constant."""
    count, dtype = constant(form, "b"), dtype_of(form.type_of("a"))
    if count is None:
        return None
    amount: np.integer[Any] = dtype.type(min(count & 0xFFFFFFFF, 8 * dtype.itemsize))
    return amount


def _funnel(a: Array, b: Array, c: Array, *, direction: str, mode: str) -> Array:
    count = (np.minimum(c, _U32(32)) if mode == "clamp" else c & _U32(31)).astype(_U64)
    pair = (b.astype(_U64) << _U64(32)) | a
    return ((pair << count) >> _U64(32) if direction == "l" else pair >> count).astype(_U32)


ROWS = (
    Semantics("lop3", _lookup),
    Semantics("shl", _shift_left),
    Semantics("shr", _shift_right),
    Semantics("and", compute=np.bitwise_and),
    Semantics("or", compute=np.bitwise_or),
    Semantics("xor", compute=np.bitwise_xor),
    Semantics("not", compute=np.invert),
    Semantics("cnot", compute=_c_not),
    Semantics("shf", compute=_funnel),
)
