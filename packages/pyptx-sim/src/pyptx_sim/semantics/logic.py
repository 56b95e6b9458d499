"""Logic and shifts. Manual: "Logic and Shift Instructions" (9.7.8)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.plugins.rows import Semantics
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import binary
from pyptx_sim.semantics.forms import Match, form
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable

BITS = ("b16", "b32", "b64")
_U32, _U64 = np.uint32, np.uint64
_ALL_ONES = _U32(0xFFFFFFFF)


def _c_not(a: Array) -> Array:
    result: Array = (a == 0).astype(a.dtype)
    return result


# --- lop3 ---------------------------------------------------------------------------------------

# Every function of two inputs, by its truth table: bit 2a+b holds f(a, b).
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
    """Return the function of `table` (bit 4a+2b+c holds f(a, b, c)), split by its last input (Shannon)."""
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


def _lookup(match: Match) -> Operation:
    match.expect_operands(6 if "op" in match else 5)
    table = match.immediate(4)
    if table is None or not 0 <= table <= 0xFF:
        raise match.refuse("the look-up table must be a literal from 0 to 255")
    function = _three_inputs(table)
    if "op" not in match:

        def bits_only(a: Array, b: Array, c: Array, _table: Array) -> Array:
            return function(a, b, c)

        return Operation(("b32",), ("b32",) * 4, bits_only)
    combine = np.logical_or if match["op"] == "or" else np.logical_and

    def compute(a: Array, b: Array, c: Array, _table: Array, q: Array) -> tuple[Array, Array]:
        bits = function(a, b, c)
        return bits, combine(bits != 0, q)

    return Operation(("b32", "pred"), ("b32",) * 4 + ("pred",), compute)


# --- shifts: NumPy clears, or fills with the sign, when the count is the width or more ------------


def _count_for(size: int) -> Callable[[Array], Array]:
    """Return what makes a u32 shift count fit operands of `size` bytes: clamped for 16 bits, where it would wrap."""
    dtype = np.dtype(f"<u{size}")
    if size >= 4:
        return lambda count: count.astype(dtype, copy=False)
    return lambda count: np.minimum(count, _U32(8 * size)).astype(dtype)


def _shift_left(match: Match) -> Operation:
    match.expect_operands(3)
    kind = match["type"]
    dtype = dtype_of(kind)
    count = match.immediate(2)
    if count is not None:
        amount = dtype.type(min(count & 0xFFFFFFFF, 8 * dtype.itemsize))
        return binary(kind, (kind, "u32"), lambda a, _count: a << amount)
    fit = _count_for(dtype.itemsize)
    return binary(kind, (kind, "u32"), lambda a, b: a << fit(b))


def _shift_right(match: Match) -> Operation:
    match.expect_operands(3)
    kind = match["type"]
    dtype = dtype_of(kind)
    count = match.immediate(2)
    if count is not None:
        amount = dtype.type(min(count & 0xFFFFFFFF, 8 * dtype.itemsize))
        return binary(kind, (kind, "u32"), lambda a, _count: a >> amount)
    fit = _count_for(dtype.itemsize)
    # A count of 2^31 and more is negative as a signed number, which NumPy takes for a huge one too.
    return binary(kind, (kind, "u32"), lambda a, b: a >> fit(b).view(dtype))


def _funnel(a: Array, b: Array, c: Array, *, direction: str, mode: str) -> Array:
    count = (np.minimum(c, _U32(32)) if mode == "clamp" else c & _U32(31)).astype(_U64)
    pair = (b.astype(_U64) << _U64(32)) | a
    return ((pair << count) >> _U64(32) if direction == "l" else pair >> count).astype(_U32)


FORMS = (
    form("lop3{.op}.b32", _lookup, op=("or", "and")),
    form("shl.type", _shift_left, type=BITS),
    form("shr.type", _shift_right, type=(*BITS, "u16", "u32", "u64", "s16", "s32", "s64")),
)

FUNCTIONS = (
    Semantics("and", compute=np.bitwise_and),
    Semantics("or", compute=np.bitwise_or),
    Semantics("xor", compute=np.bitwise_xor),
    Semantics("not", compute=np.invert),
    Semantics("cnot", compute=_c_not),
    Semantics("shf", compute=_funnel),
)
