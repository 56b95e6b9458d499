"""Operators on integer registers of 16, 32 and 64 bits; products become offsets (OffsetSlot) with wider forms."""

from __future__ import annotations

import linecache
import re
import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ConstantConditionWarning, OperandError, RegisterTypeError
from pyptx_dsl.origin import locate
from pyptx_dsl.registers.faults import SYMBOLS, refusal
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.offsets import Term, extension
from pyptx_dsl.registers.operands import as_integer, whole_number
from pyptx_dsl.types import b32, s32, s64, u32, u64
from pyptx_ir.machinery import is_machinery

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr"})
_BINARY = frozenset({"add", "sub", "mul", "div", "rem", "shl", "shr", "and", "or", "xor", "max", "min"})
_SIGN_MATTERS = frozenset({"div", "rem", "max", "min", "lt", "le", "gt", "ge"})
_PRODUCTS = frozenset({"mul", "shl"})
_SUMS = frozenset({"add", "sub"})
_NARROW = (16, 32)
_WIDTHS = (16, 32, 64)
_OF_ZERO = {"ge": "always", "lt": "never"}
_WITH_ZERO = re.compile(r"(?:<|>=)\s*0\b|\b0\s*(?:>|<=)")
_REGISTERS = __name__.rpartition(".")[0]
_WIDE = {("u", 32): u32, ("u", 64): u64, ("s", 32): s32, ("s", 64): s64}


def binary(operation: str, left: Handle, right: object) -> Reg:
    """Emit the instructions of `left operation right` and return a fresh register with the result."""
    wider = (
        right if isinstance(right, Handle) and right.dtype.is_integer and right.dtype.bits > left.dtype.bits else None
    )
    typed = left if wider is None or operation in _SHIFTS else wider
    if _is_offset(operation, left, right, typed):
        return _offset(operation, left, right, typed)
    return plain(operation, left, right) if wider is None else _promoted(operation, left, wider)


def plain(operation: str, left: Handle, right: object, into: Reg | None = None) -> Reg:
    """Emit one instruction of the left operand's type; it writes `into` or, if None, a fresh register."""
    opcode = typed_words(operation, left, right)
    source = staged(left)
    operand = _shift_amount(source, right) if operation in _SHIFTS else _operand(operation, source, right)
    result = into if into is not None else left.trace.fresh(left.dtype)
    left.trace.emit(opcode, (result, source, operand))
    return result


def reflected(operation: str, left: object, right: Handle) -> Reg:
    """Emit the instructions of `number operation right` and return a fresh register with the result."""
    if operation not in _BINARY:
        raise refusal(operation, right, left)
    check_width(operation, right.dtype)
    number = _number(operation, left, right)
    if operation in _SHIFTS and right.dtype.bits != b32.bits:
        raise RegisterTypeError(
            f"number {SYMBOLS[operation]} {right.dtype} register: the shift amount must have 32 bits",
            help="convert the amount to u32 with ptx.cvt first",
        )
    if operation == "shl" or (operation == "sub" and in_step(right)):
        terms = (Term(None, number), _term(right, right.dtype.bits))
        return right.trace.offset(operation, words(operation, right.dtype), terms, right.dtype)
    source = staged(right)
    result = right.trace.fresh(right.dtype)
    right.trace.emit(words(operation, right.dtype), (result, whole_number(number), source))
    return result


def compare(relation: str, left: Handle, right: object, into: Reg) -> Reg:
    """Emit one `setp` that compares two operands and writes the predicate `into`; return `into`."""
    opcode = comparison(relation, left, right)
    if relation in _OF_ZERO and left.dtype.kind == "unsigned" and type(right) is int and right == 0:
        _warn_constant(relation, left)
    first = left
    if isinstance(right, Handle) and right.dtype.is_integer and right.dtype.bits > left.dtype.bits:
        check_width(relation, right.dtype)
        first = extended(left, right.dtype.bits)
    check_width(relation, first.dtype)
    source = staged(first)
    operand = _operand(relation, source, right)
    left.trace.emit(opcode, (into, source, operand))
    return into


def _warn_constant(relation: str, left: Handle) -> None:
    """Warn if the user's source line compares an unsigned register with a literal 0, not with a variable that is 0."""
    frame = sys._getframe(2)  # noqa: SLF001  the documented way to look at the caller's stack
    while str(frame.f_globals.get("__name__")).startswith(_REGISTERS) and frame.f_back is not None:
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    if is_machinery(frame) or not _WITH_ZERO.search(line):
        return
    message = (
        f"a comparison of {left.dtype} with `{SYMBOLS[relation]} 0` is {_OF_ZERO[relation]} "
        f"true\n{locate(frame)}\nhelp: declare values that may be negative as s32: reg.scalar(s32), or "
        "convert with ptx.cvt"
    )
    warnings.warn_explicit(message, ConstantConditionWarning, frame.f_code.co_filename, frame.f_lineno)


def typed_words(operation: str, left: Handle, right: object) -> tuple[str, ...]:
    """Return the opcode of an operator on these operands; raise RegisterTypeError if there is none."""
    if operation not in _BINARY:
        raise refusal(operation, left, right)
    check_width(operation, left.dtype)
    return words(operation, left.dtype, _common(operation, left.dtype, _type_of(right)))


def comparison(relation: str, left: Handle, right: object) -> tuple[str, ...]:
    """Return the opcode of the `setp` for a relation and two operands; raise RegisterTypeError if there is none."""
    return ("setp", relation, _common(relation, left.dtype, _type_of(right)))


@cache
def words(operation: str, dtype: PtxType, common: str | None = None) -> tuple[str, ...]:
    """Return the opcode of an integer operator for operands of type `dtype`, with `common` as its type modifier."""
    typed = common or type_word(dtype)
    if operation in _BITWISE or operation == "shl":
        return (operation, f"b{dtype.bits}")
    if operation in {"add", "sub"} and dtype.bits == s64.bits:
        # Signed and unsigned `add` and `sub` give the same bits; compilers emit pointer arithmetic as .s64.
        return (operation, "s64")
    if operation == "mul":
        return ("mul", "lo", typed)
    return (operation, typed)


@cache
def type_word(dtype: PtxType) -> str:
    """Return the type modifier of arithmetic instructions on `dtype` registers: `u32` for b32, `s32` for s32."""
    return ("s" if dtype.kind == "signed" else "u") + str(dtype.bits)


def check_width(operation: str, dtype: PtxType) -> None:
    """Raise RegisterTypeError for widths other than 16, 32 and 64 bits."""
    if dtype.bits not in _WIDTHS:
        raise RegisterTypeError(
            f"PTX has no {SYMBOLS[operation]} for {dtype}", help="convert to 16, 32 or 64 bits with ptx.cvt first"
        )


def check_range(dtype: PtxType, number: int) -> None:
    """Raise OperandError for an integer that does not fit in the type's bits, neither as signed nor as unsigned."""
    if not -(1 << (dtype.bits - 1)) <= number < 1 << dtype.bits:
        raise OperandError(
            f"{number} does not fit in {dtype.bits} bits", help=f"convert the {dtype} register to a wider type first"
        )


def staged(value: Handle) -> Handle:
    """Return a register; for a special register a copy by one `mov`, since ptxas accepts it only in `mov` and `cvt`."""
    if not value.readonly:
        return value
    result = value.trace.fresh(value.dtype)
    value.trace.emit(("mov", type_word(value.dtype)), (result, value))
    return result


def extended(value: Handle, bits: int) -> Handle:
    """Return a register widened by its own signedness: an unchanged offset's wider register, else emit one `cvt`."""
    if value.slot is not None and in_step(value):
        return value.slot.need(bits)
    check_width("add", value.dtype)
    result = value.trace.fresh(_WIDE["s" if value.dtype.kind == "signed" else "u", bits])
    value.trace.emit(extension(value, bits), (result, value))
    return result


def _type_of(value: object) -> PtxType | None:
    """Return the type of an integer register; None for any other value."""
    return value.dtype if isinstance(value, Handle) and value.dtype.is_integer else None


@cache
def _common(operation: str, left: PtxType, right: PtxType | None) -> str:
    """Return the type modifier for an operation on two types; raise RegisterTypeError if signedness is ambiguous.

    Untyped bits take the other operand's signedness. An unsigned register fits into any wider signed type. A signed
    register does not fit into an unsigned type.
    """
    if right is None:
        return type_word(left)
    wide, narrow = (left, right) if left.bits >= right.bits else (right, left)
    if operation not in _SIGN_MATTERS:
        return type_word(wide)
    if "signed" not in {wide.kind, narrow.kind}:
        return f"u{wide.bits}"
    exact = wide.kind != "unsigned" and (wide.bits > narrow.bits or narrow.kind != "unsigned")
    if not exact:
        written = f"setp.{operation}" if operation in {"lt", "le", "gt", "ge"} else operation
        raise RegisterTypeError(
            f"ambiguous signedness: {SYMBOLS[operation]} between {left} and {right}",
            help=f"use one type for both registers, or write the instruction: ptx.inst.{written}.…",
        )
    return f"s{wide.bits}"


def _operand(operation: str, left: Handle, right: object) -> object:
    """Return the right operand: a literal in the left one's range, or a register widened to the left one's width."""
    if not isinstance(right, Handle):
        return whole_number(_number(operation, right, left))
    if not right.dtype.is_integer:
        raise refusal(operation, left, right)
    if right.dtype.bits > left.dtype.bits:
        raise RegisterTypeError(
            f"the result of {left.dtype} {SYMBOLS[operation]} {right.dtype} does not fit in a {left.dtype} register",
            help="assign to a new name: value = value + other",
        )
    return extended(right, left.dtype.bits) if right.dtype.bits < left.dtype.bits else staged(right)


def _number(operation: str, value: object, register: Handle) -> int:
    """Return `value` as an int; raise an error unless it is an integer in the range of `register` for the operation."""
    number, dtype = as_integer(value), register.dtype
    if number is None:
        raise refusal(operation, register, value)
    check_range(dtype, number)
    if operation not in _SIGN_MATTERS:
        return number
    low, high = (-(1 << (dtype.bits - 1)), 1 << (dtype.bits - 1)) if dtype.kind == "signed" else (0, 1 << dtype.bits)
    if not low <= number < high:
        raise OperandError(
            f"{number} is out of range for {dtype} in {SYMBOLS[operation]}",
            help="use a signed register for negative numbers, an unsigned one for numbers above the signed range",
        )
    return number


def _shift_amount(left: Handle, right: object) -> object:
    """Return the operand of a shift amount: a number, or a register widened to the 32 bits that PTX requires."""
    if not isinstance(right, Handle):
        number = as_integer(right)
        if number is None:
            raise refusal("shl", left, right)
        if not 0 <= number < left.dtype.bits:
            raise OperandError(
                f"shift amount {number} is out of range for {left.dtype.bits} bits",
                help="use an amount below the width: for larger ones PTX returns 0 or copies of the sign bit",
            )
        return whole_number(number)
    if not right.dtype.is_integer or right.dtype.bits > b32.bits:
        raise RegisterTypeError(
            f"the shift amount must have 32 bits, got a {right.dtype} register",
            help="convert the amount to u32 with ptx.cvt first",
        )
    return extended(right, b32.bits) if right.dtype.bits < b32.bits else staged(right)


def _promoted(operation: str, left: Handle, right: Handle) -> Reg:
    """Emit `narrow operation wide`: widen the left operand; the result has the right operand's type."""
    if operation in _SHIFTS:
        return plain(operation, left, right)
    if operation not in _BINARY:
        raise refusal(operation, left, right)
    check_width(operation, right.dtype)
    opcode = words(operation, right.dtype, _common(operation, left.dtype, _type_of(right)))
    wide, source = extended(left, right.dtype.bits), staged(right)
    result = left.trace.fresh(right.dtype)
    left.trace.emit(opcode, (result, wide, source))
    return result


# --- offsets ----------------------------------------------------------------------------------------


def in_step(value: object) -> bool:
    """Return whether a value is an offset (OffsetSlot) not written since, so its wider registers equal it."""
    return isinstance(value, Handle) and value.slot is not None and not value.slot.stale


def negated(value: Handle) -> Reg:
    """Append an OffsetSlot with the negation of an offset to the trace; return its register."""
    opcode = ("neg", f"s{value.dtype.bits}")
    return value.trace.offset("neg", opcode, (_term(value, value.dtype.bits),), value.dtype)


def _is_offset(operation: str, left: Handle, right: object, typed: Handle) -> bool:
    """Return whether a result is an OffsetSlot: a 16- or 32-bit `*` or `<<`, or `+` or `-` with an OffsetSlot."""
    if typed.dtype.bits not in _NARROW or (isinstance(right, Handle) and not right.dtype.is_integer):
        return False
    return operation in _PRODUCTS or (operation in _SUMS and (in_step(left) or in_step(right)))


def _term(value: Handle, bits: int) -> Term:
    """Return a register as an operand of an OffsetSlot; unless it is an offset, a `cvt` widens it to `bits` bits."""
    if in_step(value):
        return Term(value, 0, value.slot)
    return Term(extended(value, bits) if value.dtype.bits < bits else staged(value))


def _offset(operation: str, left: Handle, right: object, typed: Handle) -> Reg:
    """Append an OffsetSlot for `left operation right` to the trace; later uses determine its instructions."""
    first = _term(left, typed.dtype.bits)
    if operation == "shl":
        amount = _shift_amount(left, right)
        second = Term(amount) if isinstance(amount, Handle) else Term(None, _number(operation, right, left))
    elif isinstance(right, Handle):
        second = _term(right, typed.dtype.bits)
    else:
        second = Term(None, _number(operation, right, left))
    return typed.trace.offset(operation, words(operation, typed.dtype), (first, second), typed.dtype)
