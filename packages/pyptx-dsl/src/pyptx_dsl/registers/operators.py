"""What each operator on registers emits; `docs/operators.md` is the same as one table.

Operators are helpers: they choose the instruction by the types of their operands, at most stage an operand first (a
special register by one `mov`, a narrower register by one `cvt`, a 16-bit float literal by one `mov`, a negated
predicate by one `not`), and never compute anything in Python. Where PTX has no instruction that means what Python
says, the operator is an error at the user's line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ForeignRegisterError, OperandError, RegisterTypeError
from pyptx_dsl.registers import floats as float_operators
from pyptx_dsl.registers import integers as integer_operators
from pyptx_dsl.registers.faults import refusal
from pyptx_dsl.registers.floats import literal_text
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.integers import check_range, staged
from pyptx_dsl.registers.offsets import extension
from pyptx_dsl.registers.operands import as_float, as_integer
from pyptx_dsl.trace_context import current
from pyptx_dsl.types import pred
from pyptx_ir.syntax.operands import Immediate, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.registers.offsets import OffsetForm
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["binary", "compare", "immediate", "in_place", "move", "reflected", "staged", "unary"]

_LITERALS = frozenset({"f16", "bf16", "tf32", "f32", "f64"})


def binary(operation: str, left: Reg, right: object) -> Reg:
    """Emit `left operation right` into a fresh register."""
    _own(left, right)
    if _is_logic(left, right):
        return _logic(operation, left, right, None)
    if left.dtype.is_integer:
        return integer_operators.binary(operation, left, right)
    return float_operators.binary(operation, left, right)


def in_place(operation: str, left: Reg, right: object) -> Reg:
    """Emit `left = left operation right`."""
    trace = _own(left, right)
    if left.readonly:
        raise RegisterTypeError(
            f"{left.raw_name} is read-only", hint=f'copy it first: value = reg.from_("{left.raw_name}", {left.dtype})'
        )
    slot = left.slot
    behind: Mapping[int, OffsetForm] = {} if slot is None else slot.looped
    if slot is not None:
        # The write below would leave wider forms behind that a loop may read again: keep all in step.
        slot.detach(behind)
    if _is_logic(left, right):
        _logic(operation, left, right, left)
    elif left.dtype.is_integer:
        integer_operators.plain(operation, left, right, left)
    else:
        float_operators.binary(operation, left, right, left)
    if slot is not None:
        slot.attach(behind)
    for bits, form in behind.items():
        trace.emit(extension(left, bits), (form.register, left))
    return left


def reflected(operation: str, left: object, right: Reg) -> Reg:
    """Emit `number operation right`, for the operators that don't commute."""
    _own(right, None)
    if right.dtype.kind == "pred":
        raise refusal(operation, right, left)
    if right.dtype.is_integer:
        return integer_operators.reflected(operation, left, right)
    return float_operators.reflected(operation, left, right)


def unary(operation: str, value: Reg) -> Reg:
    """Emit `neg`, `abs` or `not` into a fresh register."""
    trace = _own(value, None)
    opcode = _unary_words(operation, value)
    if operation == "neg" and integer_operators.in_step(value):
        return integer_operators.negated(value)
    source = staged(value)
    result = trace.fresh(value.dtype)
    trace.emit(opcode, (result, source))
    return result


def compare(relation: str, left: Reg, right: object) -> Reg:
    """Emit one `setp` into a fresh predicate."""
    trace = _own(left, right)
    if _is_logic(left, right) or not (left.dtype.is_integer or left.dtype.is_float):
        raise refusal(relation, left, right)
    if left.dtype.is_float:
        return float_operators.compare(relation, left, right, trace.fresh(pred))
    return integer_operators.compare(relation, left, right, trace.fresh(pred))


def move(destination: Reg, value: object) -> None:
    """Emit one `mov` of a register or number into `destination`."""
    trace = _own(destination, value)
    word = destination.dtype.move
    if word is None:
        raise RegisterTypeError(f"there is no mov for {destination.dtype} registers", hint="load or convert into it")
    if not isinstance(value, Handle):
        trace.emit(("mov", word), (destination, immediate(destination.dtype, value)))
        return
    if value.dtype.bits != destination.dtype.bits or (value.dtype.kind == "pred") != (word == "pred"):
        raise RegisterTypeError(
            f"cannot move a {value.dtype} register into a {destination.dtype} one", hint="convert with ptx.cvt"
        )
    same = value.dtype.register == destination.dtype.register
    trace.emit(("mov", word if same else f"b{destination.dtype.bits}"), (destination, value))


def immediate(dtype: PtxType, value: object) -> Operand:
    """Spell a number as the literal that `mov` or `st` of a register of `dtype` takes."""
    if dtype.name in _LITERALS:
        number = as_float(value)
        if number is None:
            raise OperandError(f"cannot put {value!r} into a {dtype} register", hint="pass a number or a register")
        return Immediate(literal_text(dtype, number))
    whole = as_integer(value)
    if whole is None:
        raise OperandError(f"cannot put {value!r} into a {dtype} register", hint="pass an integer or a register")
    if dtype.kind == "pred" and whole not in {0, 1}:
        raise OperandError(f"a predicate is 0 or 1, not {value!r}")
    if dtype.kind != "pred":
        check_range(dtype, whole)
    return Immediate(str(whole))


def _is_logic(left: Handle, right: object) -> bool:
    return left.dtype.kind == "pred" or (isinstance(right, Handle) and right.dtype.kind == "pred")


def _logic(operation: str, left: Handle, right: object, into: Reg | None) -> Reg:
    """Emit `and.pred`, `or.pred` or `xor.pred`."""
    if operation not in {"and", "or", "xor"} or not isinstance(right, Handle) or right.dtype is not left.dtype:
        raise refusal(operation, left, right)
    first, second = _positive(left), _positive(right)
    result = into if into is not None else left.trace.fresh(pred)
    left.trace.emit((operation, "pred"), (result, first, second))
    return result


def _positive(value: Handle) -> Handle:
    """Return a predicate; of a negated one, a fresh register set by `not.pred`."""
    positive = getattr(value, "reg", None)
    if positive is None:
        return value
    result = value.trace.fresh(pred)
    value.trace.emit(("not", "pred"), (result, positive))
    return result


def _unary_words(operation: str, value: Handle) -> tuple[str, ...]:
    dtype = value.dtype
    if dtype.is_integer:
        integer_operators.check_width(operation, dtype)
        if operation == "not":
            return ("not", f"b{dtype.bits}")
        if operation == "neg" or dtype.kind == "signed":
            return (operation, f"s{dtype.bits}")
        raise RegisterTypeError(f"abs of {dtype}: it has no sign", hint="use a signed type")
    if operation == "not" or dtype.kind == "pred":
        raise refusal(operation, value, None)
    float_operators.check(operation, dtype)
    return (operation, dtype.name)


def _own(left: Handle, right: object) -> Trace:
    """Return the trace of the operands, which must be the active one."""
    here = current()
    if left.trace is not here:
        raise ForeignRegisterError(left.raw_name, left.trace.name, None if here is None else here.name)
    if isinstance(right, Handle) and right.trace is not here:
        raise ForeignRegisterError(right.raw_name, right.trace.name, left.trace.name)
    return left.trace
