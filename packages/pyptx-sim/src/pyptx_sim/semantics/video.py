"""Video instructions. Manual: "Scalar Video Instructions" (9.7.18.1) and "SIMD Video Instructions" (9.7.18.2).

Every intermediate result fits 64 bits with room to spare, so all of it is int64 arithmetic and a final cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.packed import join, split
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.forms import Bind, Match, form
from pyptx_sim.semantics.selectors import is_negated, selector

Core: TypeAlias = Callable[[Array, Array], Array]

_I64, _U32 = np.int64, np.uint32


def _absolute_difference(a: Array, b: Array) -> Array:
    result: Array = np.abs(a - b)
    return result


def _average(a: Array, b: Array) -> Array:
    """Return half the sum, rounded away from zero."""
    total = a + b
    return (total + (total >= 0)) >> 1


_ARITHMETIC: dict[str, Core] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": _average,
    "vabsdiff": _absolute_difference,
    "vmin": np.minimum,
    "vmax": np.maximum,
}
_COMPARE: dict[str, Core] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SECOND: dict[str, Core] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def _element(ptx_type: str, size: int) -> np.dtype[np.generic]:
    return np.dtype(f"<{'i' if ptx_type == 's32' else 'u'}{size}")


def _bounds(ptx_type: str, size: int) -> tuple[int, int]:
    bits = 8 * size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ptx_type == "s32" else (0, (1 << bits) - 1)


def _as_register(values: Array) -> Array:
    return values.astype(_U32)


# --- scalar -------------------------------------------------------------------------------------


def _part(match: Match, chosen: str, ptx_type: str) -> Callable[[Array], Array]:
    """Return what extracts and extends the part of a register that `chosen` selects."""
    if not chosen:
        whole = _element(ptx_type, 4)
        return lambda a: a.view(whole).astype(_I64)
    if len(chosen) != 2 or int(chosen[1]) >= (4 if chosen[0] == "b" else 2):
        raise match.refuse(f"a scalar operand selects no .{chosen}")
    element, place = _element(ptx_type, 1 if chosen[0] == "b" else 2), int(chosen[1])
    return lambda a: split(a, element)[..., place].astype(_I64)


def _finish(match: Match, ptx_type: str) -> Callable[..., Array]:
    """Return the last stages of a scalar instruction: saturation, then a second operation or a merge with `c`."""
    chosen = selector(match.operands[0])
    size = {"": 4, "b": 1, "h": 2}[chosen[:1]]
    low, high = _bounds(ptx_type, size)
    sat, second = "sat" in match, _SECOND.get(match["op2"])
    third = _element(ptx_type, 4)
    if chosen and (second or len(match.operands) != 4):
        raise match.refuse("a merge takes a third source, and no second operation")
    if second is not None and len(match.operands) != 4:
        raise match.refuse("a second operation takes a third source")
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


def _scalar(match: Match, core: Core, result_type: str, b_type: str) -> Operation:
    count = match.expect_operands(3, 4)
    extract_a = _part(match, selector(match.operands[1]), match["atype"])
    extract_b = _part(match, selector(match.operands[2]), b_type)
    finish = _finish(match, result_type)

    def compute(a: Array, b: Array, *rest: Array) -> Array:
        return finish(core(extract_a(a), extract_b(b)), *rest)

    return Operation(("b32",), ("b32",) * (count - 1), compute)


def _arithmetic(match: Match) -> Operation:
    return _scalar(match, _ARITHMETIC[match.instruction.opcode[0]], match["dtype"], match["btype"])


def _compare(match: Match) -> Operation:
    core = _COMPARE[match["cmp"]]
    return _scalar(match, lambda a, b: core(a, b).astype(_I64), "u32", match["btype"])


def _shift(match: Match) -> Operation:
    clamp, left = match["mode"] == "clamp", match.instruction.opcode[0] == "vshl"

    def core(a: Array, b: Array) -> Array:
        count = np.minimum(b, 32) if clamp else b & 31
        if not left:
            return a >> count
        # A whole word shifted by 32 leaves 64 bits; what matters of it is its sign, its size, and 32 zeros.
        return np.where(count == 32, np.sign(a) << 62, a << np.minimum(count, 31))

    return _scalar(match, core, match["dtype"], "u32")


def _multiply_add(match: Match) -> Operation:
    """Bind vmad; a sum of a 64-bit product and a 32-bit number can leave 64 bits, so the two halves go separately."""
    match.expect_operands(4)
    _, a_operand, b_operand, c_operand = match.operands
    extract_a = _part(match, selector(a_operand), match["atype"])
    extract_b = _part(match, selector(b_operand), match["btype"])
    product_negated, c_negated, plus_one = (
        is_negated(a_operand) != is_negated(b_operand),
        is_negated(c_operand),
        "po" in match,
    )
    if (product_negated and c_negated) or (plus_one and any(map(is_negated, match.operands))):
        raise match.refuse("either the product or c is negated, and neither with .po")
    signed = "s32" in (match["atype"], match["btype"]) or product_negated or c_negated
    third = _element("s32" if signed else "u32", 4)
    low, high = _bounds("s32" if signed else "u32", 4)
    shift = int(match["scale"][3:] or 0)

    def compute(a: Array, b: Array, c: Array) -> Array:
        product_high, product_low = _wide_product(extract_a(a), extract_b(b))
        sign = -1 if product_negated else 1
        addend = c.view(third).astype(_I64)
        low_sum = sign * product_low + (-addend if c_negated else addend) + (1 if plus_one else 0)
        upper = sign * product_high + (low_sum >> 32)
        lower = low_sum & 0xFFFFFFFF
        return _scaled(upper, lower, shift, (low, high) if "sat" in match else None)

    return Operation(("b32",), ("b32",) * 3, compute)


def _wide_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return `(high, low)` with `a * b == high * 2**32 + low` for numbers of 33 bits; `low` has 32 bits."""
    b_high, b_low = b >> 16, b & 0xFFFF
    first, second = a * b_high, a * b_low
    total = ((first & 0xFFFF) << 16) + second
    return (first >> 16) + (total >> 32), total & 0xFFFFFFFF


def _scaled(upper: Array, lower: Array, shift: int, limits: tuple[int, int] | None) -> Array:
    """Return the low 32 bits of `(upper * 2**32 + lower) >> shift`, or that number limited."""
    low_bits = ((upper << (32 - shift)) | (lower >> shift)) if shift else (upper << 32) | lower
    if limits is None:
        return _as_register(low_bits & 0xFFFFFFFF)
    top = upper >> shift
    within = (top == 0) | (top == -1)
    value = np.where(within, (top << 32) | (low_bits & 0xFFFFFFFF), np.where(top < 0, limits[0], limits[1]))
    return _as_register(np.clip(value, *limits))


# --- SIMD ---------------------------------------------------------------------------------------


def _simd(match: Match, lanes: int, core: Core, result_type: str) -> Operation:
    """Bind a two-way or four-way instruction: select elements of `a` and `b`, compute, merge with or add to `c`."""
    match.expect_operands(4)
    letter, size = ("h", 2) if lanes == 2 else ("b", 1)
    first, second = ("h10", "h32") if lanes == 2 else ("b3210", "b7654")
    a_places = _places(match, selector(match.operands[1]) or first, letter, lanes)
    b_places = _places(match, selector(match.operands[2]) or second, letter, lanes)
    written = np.zeros(lanes, np.bool_)
    written[[int(digit) for digit in (selector(match.operands[0]) or first)[1:]]] = True
    a_element, b_element = _element(match["atype"], size), _element(match["btype"], size)
    bounds = _bounds(result_type, size)
    merged, signed = np.dtype(f"<u{size}"), _element(result_type, 4)

    def choose(a: Array, b: Array, places: list[int], element: np.dtype[np.generic]) -> Array:
        sources = np.concatenate(np.broadcast_arrays(split(a, element), split(b, element)), axis=-1)
        return sources[..., places].astype(_I64)

    def compute(a: Array, b: Array, c: Array) -> Array:
        values = core(choose(a, b, a_places, a_element), choose(a, b, b_places, b_element))
        if "sat" in match:
            values = np.clip(values, *bounds)
        if "add" in match:
            return _as_register(c.view(signed).astype(_I64) + np.where(written, values, 0).sum(axis=-1))
        return join(np.where(written, values.astype(merged), split(c, merged)), np.dtype(_U32))

    return Operation(("b32",), ("b32",) * 3, compute)


def _places(match: Match, chosen: str, letter: str, lanes: int) -> list[int]:
    """Return the element numbers that a selector names, for the lowest lane first."""
    digits = [int(digit) for digit in reversed(chosen[1:])]
    if chosen[0] != letter or len(digits) != lanes or max(digits) >= 2 * lanes:
        raise match.refuse(f"no {lanes} elements are selected by .{chosen}")
    return digits


def _simd_arithmetic(lanes: int) -> Bind:
    def bind(match: Match) -> Operation:
        return _simd(match, lanes, _ARITHMETIC[match.instruction.opcode[0][:-1]], match["dtype"])

    return bind


def _simd_compare(lanes: int) -> Bind:
    def bind(match: Match) -> Operation:
        core = _COMPARE[match["cmp"]]
        return _simd(match, lanes, lambda a, b: core(a, b).astype(_I64), "u32")

    return bind


_TYPES = ("u32", "s32")
_OPERANDS = {"dtype": _TYPES, "atype": _TYPES, "btype": _TYPES, "op2": tuple(_SECOND)}
_SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
_SIMD = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")

FORMS = (
    *(form(f"{name}.dtype.atype.btype{{.sat}}{{.op2}}", _arithmetic, **_OPERANDS) for name in _SCALAR),
    *(
        form(
            f"{name}.dtype.atype.u32{{.sat}}.mode{{.op2}}",
            _shift,
            dtype=_TYPES,
            atype=_TYPES,
            op2=_SECOND,
            mode=("clamp", "wrap"),
        )
        for name in ("vshl", "vshr")
    ),
    form(
        "vmad.dtype.atype.btype{.po}{.sat}{.scale}",
        _multiply_add,
        dtype=_TYPES,
        atype=_TYPES,
        btype=_TYPES,
        scale=("shr7", "shr15"),
    ),
    form("vset.atype.btype.cmp{.op2}", _compare, cmp=_COMPARE, atype=_TYPES, btype=_TYPES, op2=_SECOND),
    *(
        form(
            f"{name}{lanes}.dtype.atype.btype{{.{last}}}",
            _simd_arithmetic(lanes),
            dtype=_TYPES,
            atype=_TYPES,
            btype=_TYPES,
        )
        for name in _SIMD
        for lanes in (2, 4)
        for last in ("sat", "add")
    ),
    *(
        form(f"vset{lanes}.atype.btype.cmp{{.add}}", _simd_compare(lanes), cmp=_COMPARE, atype=_TYPES, btype=_TYPES)
        for lanes in (2, 4)
    ),
)
