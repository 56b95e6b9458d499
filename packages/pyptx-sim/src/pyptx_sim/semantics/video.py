"""Video instructions. Manual: "Scalar Video Instructions" (9.7.18.1) and "SIMD Video Instructions" (9.7.18.2).

Intermediate results fit 64 bits, so everything is computed in int64 and truncated at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import operation
from pyptx_sim.semantics.selectors import is_negated, selector

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.syntax.operands import Operand

Core: TypeAlias = Callable[[Array, Array], Array]
Bind: TypeAlias = "Callable[[Bound], Operation]"

_I64, _U32 = np.int64, np.uint32


def _absolute_difference(a: Array, b: Array) -> Array:
    result: Array = np.abs(a - b)
    return result


def _average(a: Array, b: Array) -> Array:
    """Return the average of integers a and b, rounded to nearest, ties away from zero."""
    total = a + b
    return (total + (total >= 0)) >> 1


_COMPARE: dict[str, Core] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SECOND: dict[str, Core] = {"add": np.add, "min": np.minimum, "max": np.maximum}
_SIZES = {"": 4, "b": 1, "h": 2}  # size in bytes of the selected part of a register, by the selector's letter
_SCALES = {"": 0, "shr7": 7, "shr15": 15}


def _element(ptx_type: str, size: int) -> np.dtype[np.generic]:
    return np.dtype(f"<{'i' if ptx_type == 's32' else 'u'}{size}")


def _bounds(ptx_type: str, size: int) -> tuple[int, int]:
    bits = 8 * size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ptx_type == "s32" else (0, (1 << bits) - 1)


def _as_register(values: Array) -> Array:
    return values.astype(_U32)


# --- scalar -------------------------------------------------------------------------------------


def _part(chosen: str, ptx_type: str) -> Callable[[Array], Array]:
    """Return a function that extracts the byte or half-word that selector `chosen` names, as int64."""
    if not chosen:
        whole = _element(ptx_type, 4)
        return lambda a: a.view(whole).astype(_I64)
    element, place = _element(ptx_type, _SIZES[chosen[0]]), int(chosen[1])
    return lambda a: split(a, element)[..., place].astype(_I64)


def _finish(form: Bound, ptx_type: str) -> Callable[..., Array]:
    """Return a function for a scalar instruction's last stages: saturate, then combine with or merge into `c`."""
    chosen = selector(form.operands["d"])
    size = _SIZES[chosen[:1]]
    low, high = _bounds(ptx_type, size)
    sat, second = "sat" in form.words, _SECOND.get(form.word("second"))
    third = _element(ptx_type, 4)
    shift = _U32(8 * size * int(chosen[1])) if chosen else _U32(0)
    field = _U32(((1 << (8 * size)) - 1) << int(shift))

    def finish(values: Array, *rest: Array) -> Array:
        if sat:
            values = np.clip(values, low, high)
        if second is not None:
            return _as_register(second(values, rest[0].view(third).astype(_I64)))
        if chosen:
            return ((_as_register(values) << shift) & field) | (rest[0] & ~field)
        return _as_register(values)

    return finish


def _scalar(form: Bound, core: Core) -> Operation:
    extract_a = _part(selector(form.operands["a"]), form.word("atype"))
    extract_b = _part(selector(form.operands["b"]), form.word("btype"))
    finish = _finish(form, form.word("dtype"))

    def compute(a: Array, b: Array, *rest: Array) -> Array:
        return finish(core(extract_a(a), extract_b(b)), *rest)

    return operation(form, compute)


def _arithmetic(core: Core) -> Bind:
    return lambda form: _scalar(form, core)


def _compare(form: Bound) -> Operation:
    core = _COMPARE[form.word("compare")]
    return _scalar(form, lambda a, b: core(a, b).astype(_I64))


def _shift(*, left: bool) -> Bind:
    def bind(form: Bound) -> Operation:
        clamp = form.word("mode") == "clamp"

        def core(a: Array, b: Array) -> Array:
            count = np.minimum(b, 32) if clamp else b & 31
            if not left:
                return a >> count
            # A word shifted by 32 can exceed int64. Any large number with its sign and 32 low zeros is equivalent.
            return np.where(count == 32, np.sign(a) << 62, a << np.minimum(count, 31))

        return _scalar(form, core)

    return bind


def _multiply_add(form: Bound) -> Operation:
    """Return the `Operation` of vmad.

    A 64-bit product plus a 32-bit number may exceed 64 bits, so both halves are computed separately.
    """
    _, a_operand, b_operand, c_operand = form.operands.values()
    extract_a = _part(selector(a_operand), form.word("atype"))
    extract_b = _part(selector(b_operand), form.word("btype"))
    product_negated = is_negated(a_operand) != is_negated(b_operand)
    c_negated, plus_one = is_negated(c_operand), "po" in form.words
    if product_negated and c_negated:
        raise NoSemantics(form.instruction, "only one of the product a * b and c can be negated")
    signed = "s32" in (form.word("atype"), form.word("btype")) or product_negated or c_negated
    third = _element("s32" if signed else "u32", 4)
    low, high = _bounds("s32" if signed else "u32", 4)
    limits = (low, high) if "sat" in form.words else None
    shift = _SCALES[form.word("scale")]

    def compute(a: Array, b: Array, c: Array) -> Array:
        product_high, product_low = _wide_product(extract_a(a), extract_b(b))
        sign = -1 if product_negated else 1
        addend = c.view(third).astype(_I64)
        low_sum = sign * product_low + (-addend if c_negated else addend) + (1 if plus_one else 0)
        upper = sign * product_high + (low_sum >> 32)
        lower = low_sum & 0xFFFFFFFF
        return _scaled(upper, lower, shift, limits)

    return operation(form, compute)


def _wide_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return `(high, low)` with `a * b == high * 2**32 + low` and `0 <= low < 2**32`, for 33-bit numbers a and b."""
    b_high, b_low = b >> 16, b & 0xFFFF
    first, second = a * b_high, a * b_low
    total = ((first & 0xFFFF) << 16) + second
    return (first >> 16) + (total >> 32), total & 0xFFFFFFFF


def _scaled(upper: Array, lower: Array, shift: int, limits: tuple[int, int] | None) -> Array:
    """Return the low 32 bits of `(upper * 2**32 + lower) >> shift`; with `limits`, clamp the shifted number to them."""
    low_bits = ((upper << (32 - shift)) | (lower >> shift)) if shift else (upper << 32) | lower
    if limits is None:
        return _as_register(low_bits & 0xFFFFFFFF)
    top = upper >> shift
    within = (top == 0) | (top == -1)
    value = np.where(within, (top << 32) | (low_bits & 0xFFFFFFFF), np.where(top < 0, limits[0], limits[1]))
    return _as_register(np.clip(value, *limits))


# --- SIMD ---------------------------------------------------------------------------------------


def _simd(form: Bound, lanes: int, core: Core) -> Operation:
    """Return the `Operation` of a SIMD instruction: select elements of a and b, compute, merge into or add to c."""
    size = 4 // lanes
    first, second = ("h10", "h32") if lanes == 2 else ("b3210", "b7654")
    a_places, b_places = _places(form.operands["a"], first), _places(form.operands["b"], second)
    written = np.zeros(lanes, np.bool_)
    written[_places(form.operands["d"], first)] = True
    a_element, b_element = _element(form.word("atype"), size), _element(form.word("btype"), size)
    bounds = _bounds(form.word("dtype"), size)
    merged, signed = np.dtype(f"<u{size}"), _element(form.word("dtype"), 4)

    def choose(a: Array, b: Array, places: list[int], element: np.dtype[np.generic]) -> Array:
        sources = np.concatenate(np.broadcast_arrays(split(a, element), split(b, element)), axis=-1)
        return sources[..., places].astype(_I64)

    def compute(a: Array, b: Array, c: Array) -> Array:
        values = core(choose(a, b, a_places, a_element), choose(a, b, b_places, b_element))
        if "sat" in form.words:
            values = np.clip(values, *bounds)
        if "add" in form.words:
            return _as_register(c.view(signed).astype(_I64) + np.where(written, values, 0).sum(axis=-1))
        return join(np.where(written, values.astype(merged), split(c, merged)), np.dtype(_U32))

    return operation(form, compute)


def _places(operand: Operand, otherwise: str) -> list[int]:
    """Return, per result element, the index of the source element in the operand's selector (last digit: element 0)."""
    return [int(digit) for digit in reversed((selector(operand) or otherwise)[1:])]


def _lanes_arithmetic(lanes: int, core: Core) -> Bind:
    return lambda form: _simd(form, lanes, core)


def _lanes_compare(lanes: int) -> Bind:
    def bind(form: Bound) -> Operation:
        core = _COMPARE[form.word("compare")]
        return _simd(form, lanes, lambda a, b: core(a, b).astype(_I64))

    return bind


_SCALAR: dict[str, Core] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": _absolute_difference,
    "vmin": np.minimum,
    "vmax": np.maximum,
}

ROWS = (
    *(Semantics(name, _arithmetic(core)) for name, core in _SCALAR.items()),
    Semantics("vshl", _shift(left=True)),
    Semantics("vshr", _shift(left=False)),
    Semantics("vmad", _multiply_add),
    Semantics("vset", _compare),
    *(
        Semantics(f"{name}{lanes}", _lanes_arithmetic(lanes, core))
        for name, core in (_SCALAR | {"vavrg": _average}).items()
        for lanes in (2, 4)
    ),
    *(Semantics(f"vset{lanes}", _lanes_compare(lanes)) for lanes in (2, 4)),
)
