"""What each operator on registers emits; `docs/operators.md` is the same as one table.

Operators are helpers: they choose the instruction by the types of their operands, at most stage an operand first (a special
register by one `mov`, a narrower register by one `cvt`, a 16-bit float literal by one `mov`), and never compute anything in
Python. Where PTX has no instruction that means what Python says, the operator is an error at the user's line.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import Immediate, Operand

from pyptx_dsl.errors import ForeignRegisterError, OperandError, RegisterTypeError
from pyptx_dsl.handle import Handle
from pyptx_dsl.offsets import OffsetSlot, Term
from pyptx_dsl.operands import as_float, as_integer, float_text
from pyptx_dsl.trace_context import current
from pyptx_dsl.types import b32, pred, s64, u32, u64

if TYPE_CHECKING:
    from pyptx_dsl.register import Reg
    from pyptx_dsl.trace import Trace
    from pyptx_dsl.types import PtxType

_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "div": "//", "rem": "%", "shl": "<<", "shr": ">>", "and": "&"},
    **{"or": "|", "xor": "^", "max": "max", "min": "min", "neg": "-", "abs": "abs", "not": "~"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}
_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr"})
_INTEGER = frozenset({"add", "sub", "mul", "div", "rem", "shl", "shr", "and", "or", "xor", "max", "min"})
_FLOAT = frozenset({"add", "sub", "mul", "truediv", "max", "min"})
_SIGN_MATTERS = frozenset({"div", "rem", "max", "min", "lt", "le", "gt", "ge"})
_OFFSET = frozenset({"add", "sub", "mul", "shl"})
_ARITHMETIC_BITS = (16, 32, 64)


# --- entry points -----------------------------------------------------------------------------------


def binary(operation: str, left: Reg, right: object) -> Reg:
    """Emit `left operation right` into a fresh register."""
    trace = _own(left)
    if isinstance(right, Handle):
        _own(right)
    if left.dtype.kind == "pred" or (isinstance(right, Handle) and right.dtype.kind == "pred"):
        return _logic(operation, left, right, trace.fresh(pred))
    if not left.dtype.is_integer:
        return _float_binary(operation, left, right, None)
    if isinstance(right, Handle) and right.dtype.is_integer and right.dtype.bits > left.dtype.bits:
        return _promoted(operation, left, right)
    if operation in _OFFSET and left.dtype.bits == b32.bits:
        return _maybe_offset(operation, staged(left), right)
    return _integer_binary(operation, left, right, None)


def in_place(operation: str, left: Reg, right: object) -> Reg:
    """Emit `left = left operation right`."""
    trace = _own(left)
    if left.readonly:
        raise RegisterTypeError(
            f"{left.raw_name} is read-only", hint=f"copy it first: value = reg.from_({left.raw_name[1:]}, u32)"
        )
    slot = left.slot
    refresh = None
    if slot is not None and slot.is_looped:
        # The write below would leave a 64-bit form behind that a loop may read: keep both in step.
        refresh, slot.wide = slot.wide, None
    if left.dtype.kind == "pred":
        _logic(operation, left, right, left)
    elif left.dtype.is_integer:
        _integer_binary(operation, left, right, left)
    else:
        _float_binary(operation, left, right, left)
    if slot is not None and refresh is not None:
        slot.wide = refresh
        words = ("cvt", "s64", "s32") if left.dtype.kind == "signed" else ("cvt", "u64", "u32")
        trace.emit(words, (refresh, left))
        slot.stale = True
    return left


def reflected(operation: str, left: object, right: Reg) -> Reg:
    """Emit `number operation right`, for the operators that don't commute."""
    trace = _own(right)
    if right.dtype.kind == "pred":
        raise _refusal(operation, right, left)
    if not right.dtype.is_integer:
        return _float_reflected(operation, left, right)
    dtype = right.dtype
    if operation == "truediv":
        raise _refusal(operation, right, left)
    _check_width(operation, right)
    number = _number(operation, left, right)
    if operation == "sub" and right.slot is not None and not right.slot.stale:
        return _offset("sub", Term(None, number, None), _term(right), right)
    if operation in _SHIFTS and dtype.bits == u64.bits:
        raise RegisterTypeError(
            f"number {_SYMBOLS[operation]} {dtype} register: PTX shifts by 32-bit amounts",
            hint="convert the amount with ptx.cvt(u32, u64, …) first",
        )
    amount = staged(right)
    result = trace.fresh(dtype)
    trace.emit(_integer_words(operation, dtype), (result, Immediate(str(number)), amount))
    return result


def unary(operation: str, value: Reg) -> Reg:
    """Emit `neg`, `abs` or `not` into a fresh register."""
    trace = _own(value)
    source = staged(value)
    result = trace.fresh(value.dtype)
    trace.emit(_unary_words(operation, value), (result, source))
    return result


def compare(relation: str, left: Reg, right: object) -> Reg:
    """Emit one `setp` into a fresh predicate."""
    trace = _own(left)
    if isinstance(right, Handle):
        _own(right)
    if left.dtype.is_float:
        dtype = _float_type(relation, left)
        operand = _float_operand(relation, left, right)
        words = ("setp", "neu" if relation == "ne" else relation, dtype.name)
        result = trace.fresh(pred)
        trace.emit(words, (result, left, operand))
        return result
    if not left.dtype.is_integer:
        raise _refusal(relation, left, right)
    first: Handle = left
    if isinstance(right, Handle) and right.dtype.is_integer and right.dtype.bits > left.dtype.bits:
        _check_width(relation, right)
        first = _extended(left, right.dtype.bits)
    _check_width(relation, first)
    source = staged(first)
    operand = _integer_operand(relation, source, right)
    word = _common(relation, source, right)
    result = trace.fresh(pred)
    trace.emit(("setp", relation, word), (result, source, operand))
    return result


def move(destination: Reg, value: object) -> None:
    """Emit one `mov` of a register or number into `destination`."""
    trace = _own(destination)
    word = destination.dtype.move
    if word is None:
        raise RegisterTypeError(f"there is no mov for {destination.dtype} registers")
    if isinstance(value, Handle):
        _own(value)
        if value.dtype.bits != destination.dtype.bits or (value.dtype.kind == "pred") != (word == "pred"):
            raise RegisterTypeError(
                f"cannot move a {value.dtype} register into a {destination.dtype} one", hint="convert with ptx.cvt"
            )
        same = value.dtype.register == destination.dtype.register
        trace.emit(("mov", word if same else f"b{destination.dtype.bits}"), (destination, value))
        return
    trace.emit(("mov", word), (destination, immediate(destination.dtype, value)))


def immediate(dtype: PtxType, value: object) -> Operand:
    """Spell a number as the literal that `mov` into a register of `dtype` takes."""
    if dtype.kind == "pred":
        whole = as_integer(value)
        if whole not in {0, 1}:
            raise OperandError(f"a predicate is 0 or 1, not {value!r}")
        return Immediate(str(whole))
    if dtype.is_float and dtype.name not in {"ue8m0", "e4m3", "e5m2", "e2m1", "e2m3", "e3m2"}:
        number = as_float(value)
        if number is None:
            raise OperandError(f"cannot put {value!r} into a {dtype} register", hint="pass a number or a register")
        return Immediate(_float_bits(dtype, number))
    whole = as_integer(value)
    if whole is None:
        raise OperandError(f"cannot put {value!r} into a {dtype} register", hint="pass an integer or a register")
    _check_range(dtype, whole)
    return Immediate(str(whole))


# --- predicates -------------------------------------------------------------------------------------


def _logic(operation: str, left: Handle, right: object, result: Reg) -> Reg:
    """Emit `and.pred`, `or.pred` or `xor.pred`."""
    if operation not in _BITWISE or not isinstance(right, Handle) or right.dtype is not left.dtype:
        raise _refusal(operation, left, right)
    first, second = _positive(left), _positive(right)
    result.trace.emit((operation, "pred"), (result, first, second))
    return result


def _positive(value: Handle) -> Handle:
    """Return a predicate; of a negated one, a fresh register set by `not.pred`."""
    positive = getattr(value, "reg", None)
    if positive is None:
        return value
    result = value.trace.fresh(pred)
    value.trace.emit(("not", "pred"), (result, positive))
    return result


# --- integers ---------------------------------------------------------------------------------------


def _integer_binary(operation: str, left: Handle, right: object, into: Reg | None) -> Reg:
    if operation not in _INTEGER:
        raise _refusal(operation, left, right)
    _check_width(operation, left)
    source = staged(left)
    operand = _shift_amount(source, right) if operation in _SHIFTS else _integer_operand(operation, source, right)
    words = _integer_words(operation, left.dtype, _common(operation, source, right))
    result = into if into is not None else left.trace.fresh(left.dtype)
    left.trace.emit(words, (result, source, operand))
    return result


def _integer_words(operation: str, dtype: PtxType, common: str | None = None) -> tuple[str, ...]:
    """Return the opcode of an integer operator in a type."""
    typed = common or _typed(dtype)
    if operation in _BITWISE or operation == "shl":
        return (operation, f"b{dtype.bits}")
    if operation == "shr":
        return ("shr", typed)
    if operation in {"add", "sub"} and dtype.bits == s64.bits:
        # Same bits for both signs; compilers write pointer arithmetic as .s64.
        return (operation, "s64")
    if operation == "mul":
        return ("mul", "lo", typed)
    return (operation, typed)


def _typed(dtype: PtxType) -> str:
    """Return `u32` or `s32`: untyped bits count as unsigned."""
    return ("s" if dtype.kind == "signed" else "u") + str(dtype.bits)


def _common(operation: str, left: Handle, right: object) -> str:
    """Return the type word for two operands; refuse to order signed against unsigned."""
    kinds = {left.dtype.kind}
    if isinstance(right, Handle) and right.dtype.bits == left.dtype.bits:
        kinds.add(right.dtype.kind)
    if operation in _SIGN_MATTERS and {"signed", "unsigned"} <= kinds:
        assert isinstance(right, Handle)  # noqa: S101  two kinds need two registers
        raise RegisterTypeError(
            f"{_SYMBOLS[operation]} between {left.dtype} and {right.dtype}: signed or unsigned?",
            hint="give both registers one type, or write the instruction: "
            f"ptx.inst.{'setp.' + operation if operation in {'lt', 'le', 'gt', 'ge'} else operation}.…",
        )
    if operation in _SIGN_MATTERS and "signed" in kinds:
        return f"s{left.dtype.bits}"
    return _typed(left.dtype)


def _integer_operand(operation: str, left: Handle, right: object) -> object:
    """Return the right operand: a literal that fits, or a register of the left one's width."""
    if isinstance(right, Handle):
        if not right.dtype.is_integer:
            raise _refusal(operation, left, right)
        if right.dtype.bits > left.dtype.bits:
            raise RegisterTypeError(
                f"cannot put {left.dtype} {_SYMBOLS[operation]} {right.dtype} into a {left.dtype} register",
                hint="assign to a new name: value = value + other",
            )
        if right.dtype.bits < left.dtype.bits:
            return _extended(right, left.dtype.bits)
        return staged(right)
    return Immediate(str(_number(operation, right, left)))


def _number(operation: str, value: object, register: Handle) -> int:
    """Return a Python or NumPy integer that fits beside `register`."""
    number = as_integer(value)
    if number is None:
        raise _refusal(operation, register, value)
    dtype = register.dtype
    _check_range(dtype, number)
    if operation in _SIGN_MATTERS:
        low = -(1 << (dtype.bits - 1)) if dtype.kind == "signed" else 0
        high = (1 << (dtype.bits - 1)) - 1 if dtype.kind == "signed" else (1 << dtype.bits) - 1
        if not low <= number <= high:
            raise OperandError(
                f"{number} is no value of {dtype}, so {_SYMBOLS[operation]} with it would mean something else",
                hint="use a register of the other signedness",
            )
    return number


def _check_range(dtype: PtxType, number: int) -> None:
    if not -(1 << (dtype.bits - 1)) <= number < 1 << dtype.bits:
        raise OperandError(
            f"{number} does not fit into {dtype.bits} bits", hint=f"convert the {dtype} register to a wider type first"
        )


def _shift_amount(left: Handle, right: object) -> object:
    """Return a shift amount: PTX wants a 32-bit register or a number."""
    if not isinstance(right, Handle):
        number = as_integer(right)
        if number is None:
            raise _refusal("shl", left, right)
        if not 0 <= number < left.dtype.bits:
            raise OperandError(f"cannot shift {left.dtype.bits} bits by {number}", hint="PTX would give 0 or sign bits")
        return Immediate(str(number))
    if not right.dtype.is_integer or right.dtype.bits > b32.bits:
        raise RegisterTypeError(
            f"a {right.dtype} register cannot be a shift amount: PTX wants 32 bits", hint="convert it with ptx.cvt first"
        )
    return _extended(right, b32.bits) if right.dtype.bits < b32.bits else staged(right)


def _check_width(operation: str, value: Handle) -> None:
    if value.dtype.bits not in _ARITHMETIC_BITS:
        raise RegisterTypeError(
            f"PTX has no {_SYMBOLS[operation]} for {value.dtype}", hint="convert to 16, 32 or 64 bits with ptx.cvt first"
        )


def staged(value: Handle) -> Handle:
    """Copy a special register, which ptxas takes in `mov` and `cvt` only, by one `mov`."""
    if not value.readonly:
        return value
    result = value.trace.fresh(value.dtype)
    value.trace.emit(("mov", _typed(value.dtype)), (result, value))
    return result


def _extended(value: Handle, bits: int) -> Handle:
    """Widen by the value's own sign; an offset whose 64-bit form is asked for gives that."""
    if value.slot is not None and bits == s64.bits and not value.slot.stale:
        return value.slot.need_wide()
    _check_width("add", value)
    letter = "s" if value.dtype.kind == "signed" else "u"
    wide = {("u", 32): u32, ("u", 64): u64, ("s", 32): u32, ("s", 64): s64}[letter, bits]
    result = value.trace.fresh(wide)
    value.trace.emit(("cvt", f"{letter}{bits}", f"{letter}{value.dtype.bits}"), (result, value))
    return result


def _promoted(operation: str, left: Reg, right: Handle) -> Reg:
    """Emit `narrow operation wide`: widen the left one, give the result the right one's type."""
    if operation in _SHIFTS:
        return _integer_binary(operation, left, right, None)
    _check_width(operation, right)
    wide = _extended(left, right.dtype.bits)
    common = _common(operation, right, wide) if left.dtype.kind == "signed" else _typed(right.dtype)
    source = staged(right)
    result = left.trace.fresh(right.dtype)
    left.trace.emit(_integer_words(operation, right.dtype, common), (result, wide, source))
    return result


# --- offsets ----------------------------------------------------------------------------------------


def _term(value: Handle) -> Term:
    """Describe a register inside an offset, with its own 64-bit form while that is in step."""
    return Term(value, 0, None if value.slot is None or value.slot.stale else value.slot)


def _maybe_offset(operation: str, left: Handle, right: object) -> Reg:
    """Emit a 32-bit `+ - * <<`: a slot for products, and for sums with an offset in them."""
    if isinstance(right, Handle):
        if not right.dtype.is_integer:
            raise _refusal(operation, left, right)
        if right.dtype.bits < b32.bits:
            return _integer_binary(operation, left, right, None)
        second = _term(staged(right))
    elif operation == "shl":
        _shift_amount(left, right)
        second = Term(None, as_integer(right) or 0, None)
    else:
        second = Term(None, _number(operation, right, left), None)
    first = _term(left)
    if operation in {"add", "sub"} and first.slot is None and second.slot is None:
        return _integer_binary(operation, left, right, None)
    return _offset(operation, first, second, left)


def _offset(operation: str, first: Term, second: Term, typed: Handle) -> Reg:
    words = _integer_words(operation, typed.dtype)
    return typed.trace.offset(operation, words, first, second, typed.dtype)


# --- floats -----------------------------------------------------------------------------------------


def _float_binary(operation: str, left: Handle, right: object, into: Reg | None) -> Reg:
    dtype = _float_type(operation, left)
    if operation not in _FLOAT or (operation == "truediv" and dtype.name not in {"f32", "f64"}):
        raise _refusal(operation, left, right)
    operand = _float_operand(operation, left, right)
    result = into if into is not None else left.trace.fresh(dtype)
    left.trace.emit(_float_words(operation, dtype), (result, left, operand))
    return result


def _float_reflected(operation: str, left: object, right: Reg) -> Reg:
    dtype = _float_type(operation, right)
    if operation not in _FLOAT or (operation == "truediv" and dtype.name not in {"f32", "f64"}):
        raise _refusal(operation, right, left)
    operand = _float_operand(operation, right, left)
    result = right.trace.fresh(dtype)
    right.trace.emit(_float_words(operation, dtype), (result, operand, right))
    return result


def _float_words(operation: str, dtype: PtxType) -> tuple[str, ...]:
    """Return the opcode; `.rn` is written out, because without it ptxas may fuse a product into a sum."""
    if operation in {"max", "min"}:
        return (operation, dtype.name)
    return ("div" if operation == "truediv" else operation, "rn", dtype.name)


def _float_type(operation: str, value: Handle) -> PtxType:
    if value.dtype.name in {"f16", "bf16", "f32", "f64"}:
        return value.dtype
    if value.dtype.name in {"f16x2", "bf16x2", "f32x2"} and operation in {"add", "sub", "mul"}:
        return value.dtype
    if value.dtype.name in {"f16x2", "bf16x2"} and operation in {"max", "min", "neg", "abs"}:
        return value.dtype
    raise RegisterTypeError(
        f"PTX has no {_SYMBOLS[operation]} for {value.dtype}", hint="convert to f32 with ptx.cvt, or use ptx.inst.…"
    )


def _float_operand(operation: str, left: Handle, right: object) -> object:
    """Return the other operand: a register of the same type, or a literal (16-bit ones by one `mov`)."""
    if isinstance(right, Handle):
        if right.dtype is not left.dtype:
            raise RegisterTypeError(
                f"{_SYMBOLS[operation]} between {left.dtype} and {right.dtype}", hint="convert one of them with ptx.cvt"
            )
        return right
    number = None if left.dtype.kind == "packed" else as_float(right)
    if number is None:
        raise _refusal(operation, left, right)
    if left.dtype.bits in {32, 64}:
        return Immediate(float_text(number, left.dtype.bits))
    result = left.trace.fresh(left.dtype)
    left.trace.emit(("mov", "b16"), (result, Immediate(_float_bits(left.dtype, number))))
    return result


def _float_bits(dtype: PtxType, number: float) -> str:
    """Spell a number as `mov` into a floating-point register takes it, rounded to nearest even."""
    if dtype.name in {"f32", "f64"}:
        return float_text(number, dtype.bits)
    if dtype.name == "f16":
        try:
            return "0x" + struct.pack(">e", number).hex().upper()
        except OverflowError:
            return "0x7C00" if number > 0 else "0xFC00"
    bits = int(float_text(number, 32)[2:], 16)
    if dtype.name == "tf32":
        return f"0x{bits:08X}"
    if number != number:  # noqa: PLR0124  NaN: rounding could carry its payload away
        return "0x7FFF"
    return f"0x{(bits + 0x7FFF + (bits >> 16 & 1)) >> 16:04X}"


def _unary_words(operation: str, value: Handle) -> tuple[str, ...]:
    dtype = value.dtype
    if dtype.is_integer:
        _check_width(operation, value)
        if operation == "not":
            return ("not", f"b{dtype.bits}")
        if operation == "neg" or dtype.kind == "signed":
            return (operation, f"s{dtype.bits}")
        raise RegisterTypeError(f"abs of {dtype}: it has no sign", hint="use a signed type")
    if operation == "not" or dtype.kind == "pred":
        raise _refusal(operation, value, None)
    return (operation, _float_type(operation, value).name)


# --- checks -----------------------------------------------------------------------------------------


def _own(value: Handle) -> Trace:
    """Return the register's trace, which must be the active one."""
    here = current()
    if here is not value.trace:
        raise ForeignRegisterError(value.raw_name, value.trace.name, None if here is None else here.name)
    return value.trace


_HINTS = {
    "truediv": "integers divide with // (PTX div); f16 and bf16 have no division: convert to f32",
    "pred": "predicates have & | ^ ~; compare registers to make them, and pass reg.PipeRef(p, q) for a pair p|q",
    "number": "operands are registers and numbers",
}


def _refusal(operation: str, left: Handle, right: object) -> RegisterTypeError:
    """Return the error for an operator that these operands have not."""
    other = f" and {right.dtype}" if isinstance(right, Handle) else "" if right is None else f" and {right!r}"
    if left.dtype.kind == "pred" or (isinstance(right, Handle) and right.dtype.kind == "pred"):
        hint = _HINTS["pred"]
    elif operation == "truediv":
        hint = _HINTS["truediv"]
    elif isinstance(right, float) and left.dtype.is_integer:
        hint = "convert the register to f32 with ptx.cvt first"
    else:
        hint = _HINTS["number"] if not isinstance(right, Handle) else "convert one of them with ptx.cvt"
    return RegisterTypeError(f"{_SYMBOLS[operation]} is not defined for {left.dtype}{other}", hint=hint)
