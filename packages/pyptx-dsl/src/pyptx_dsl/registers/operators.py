"""The PTX that each operator on registers emits; `docs/operators.md` lists it in tables.

An operator chooses its instruction by the types of its operands and computes nothing in Python. It first copies or
converts an operand where required: by one `mov` (special register, 16-bit float literal), one `cvt` (narrower register)
or one `not` (negated predicate). If PTX has no instruction with the meaning of the Python operator, the operator raises
an error at the user's line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ForeignRegisterError, OperandError, RegisterTypeError
from pyptx_dsl.registers import floats as float_operators
from pyptx_dsl.registers import integers as integer_operators
from pyptx_dsl.registers.exact import EXACT, Exact
from pyptx_dsl.registers.faults import SYMBOLS, refusal
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

_UNARY = frozenset({"abs", "neg", "not"})
_RELATIONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LITERALS = frozenset({"f16", "bf16", "tf32", "f32", "f64"})


def binary(operation: str, left: Reg, right: object) -> Reg:
    """Emit the instructions of `left operation right` and return a fresh register with the result."""
    exact = _own(left, right).notes.get(EXACT)
    if exact is not None:
        return _exact(exact, operation, left, (left, right))
    if _is_logic(left, right):
        return _logic(operation, left, right, None)
    if left.dtype.is_integer:
        return integer_operators.binary(operation, left, right)
    return float_operators.binary(operation, left, right)


def in_place(operation: str, left: Reg, right: object) -> Reg:
    """Emit the instructions of `left = left operation right`, and a `cvt` for each wider register of an OffsetSlot."""
    trace = _own(left, right)
    if left.readonly:
        raise RegisterTypeError(
            f"{left.raw_name} is read-only",
            help=f'copy the register first: value = reg.from_("{left.raw_name}", {left.dtype})',
        )
    exact = trace.notes.get(EXACT)
    if exact is not None:
        return _exact(exact, operation, left, (left, right), left)
    slot = left.slot
    behind: Mapping[int, OffsetForm] = {} if slot is None else slot.looped
    if slot is not None:
        # Later iterations of a loop may read wider copies of `left`. The write makes the copies stale: recompute them.
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
    """Emit `number operation right`, for operators that do not commute."""
    exact = _own(right, None).notes.get(EXACT)
    if exact is not None:
        return _exact(exact, operation, right, (left, right))
    if right.dtype.kind == "pred":
        raise refusal(operation, right, left)
    if right.dtype.is_integer:
        return integer_operators.reflected(operation, left, right)
    return float_operators.reflected(operation, left, right)


def unary(operation: str, value: Reg) -> Reg:
    """Emit `neg`, `abs` or `not` into a fresh register."""
    trace = _own(value, None)
    exact = trace.notes.get(EXACT)
    if exact is not None:
        return _exact(exact, operation, value, (value,))
    opcode = _unary_words(operation, value)
    if operation == "neg" and integer_operators.in_step(value):
        return integer_operators.negated(value)
    source = staged(value)
    result = trace.fresh(value.dtype)
    trace.emit(opcode, (result, source))
    return result


def compare(relation: str, left: Reg, right: object) -> Reg:
    """Emit one `setp` that compares two operands; return a fresh predicate."""
    trace = _own(left, right)
    exact = trace.notes.get(EXACT)
    if exact is not None:
        return _exact(exact, relation, left, (left, right))
    if _is_logic(left, right) or not (left.dtype.is_integer or left.dtype.is_float):
        raise refusal(relation, left, right)
    if left.dtype.is_float:
        return float_operators.compare(relation, left, right, trace.fresh(pred))
    return integer_operators.compare(relation, left, right, trace.fresh(pred))


def move(destination: Reg, value: object) -> None:
    """Emit one `mov` of a register or number to `destination`."""
    trace = _own(destination, value)
    exact = trace.notes.get(EXACT)
    if isinstance(exact, Exact):
        if exact.assign(destination, value):
            return
        spelled = exact.spelled("mov", destination.dtype)
        negated = getattr(value, "reg", None)
        if spelled is not None or negated is not None:
            words = ("not", "pred") if negated is not None else spelled or ()
            exact.emit(words, (value if negated is None else negated,), destination.dtype, destination)
            return
    word = destination.dtype.move
    if word is None:
        raise RegisterTypeError(f"{destination.dtype} registers have no mov", help="set the register with ld or cvt")
    if not isinstance(value, Handle):
        trace.emit(("mov", word), (destination, immediate(destination.dtype, value)))
        return
    if value.dtype.bits != destination.dtype.bits or (value.dtype.kind == "pred") != (word == "pred"):
        raise RegisterTypeError(
            f"cannot move a {value.dtype} register to a {destination.dtype} register",
            help="convert the value with ptx.cvt",
        )
    same = value.dtype.register == destination.dtype.register
    trace.emit(("mov", word if same else f"b{destination.dtype.bits}"), (destination, value))


def immediate(dtype: PtxType, value: object) -> Operand:
    """Return the literal for a number, as an operand of a `mov` or `st` of type `dtype`."""
    if dtype.name in _LITERALS:
        number = as_float(value)
        if number is None:
            raise OperandError(f"cannot store {value!r} in a {dtype} register", help="pass a number or a register")
        return Immediate(literal_text(dtype, number))
    whole = as_integer(value)
    if whole is None:
        raise OperandError(f"cannot store {value!r} in a {dtype} register", help="pass an integer or a register")
    if dtype.kind == "pred" and whole not in {0, 1}:
        raise OperandError(f"a predicate must be 0 or 1, got {value!r}")
    if dtype.kind != "pred":
        check_range(dtype, whole)
    return Immediate(str(whole))


# --- one instruction per operator -------------------------------------------------------------------


def _exact(exact: object, operation: str, typed: Reg, operands: tuple[object, ...], into: Reg | None = None) -> Reg:
    """Emit one instruction for `ptx.expr(temps=…)`; the type of operand `typed` selects the opcode."""
    if not isinstance(exact, Exact):
        raise TypeError(f"{exact!r} is not a state of ptx.expr")
    others = [value for value in operands if value is not typed]
    other = others[0] if others else None if len(operands) == 1 else typed
    spelled = exact.spelled(operation, typed.dtype)
    _refuse_staging(operation, typed, other, spelled=spelled is not None)
    return exact.emit(spelled or _exact_words(operation, typed, other), operands, typed.dtype, into)


def _exact_words(operation: str, typed: Handle, other: object) -> tuple[str, ...]:
    """Return the opcode of an operator for the types of its operands; neither operand is converted."""
    if typed.dtype.kind == "pred":
        if operation not in {"and", "or", "xor"}:
            raise refusal(operation, typed, other)
        return (operation, "pred")
    if operation in _UNARY:
        return _unary_words(operation, typed)
    if typed.dtype.is_integer:
        if operation in _RELATIONS:
            return integer_operators.comparison(operation, typed, other)
        return integer_operators.typed_words(operation, typed, other)
    if operation in _RELATIONS:
        return float_operators.comparison(operation, typed)
    return float_operators.words(operation, typed, other)


def _refuse_staging(operation: str, typed: Handle, other: object, *, spelled: bool) -> None:
    """Raise RegisterTypeError for operands that would need a `mov`, `cvt` or `not` before the instruction."""
    for value in (typed, other):
        if isinstance(value, Handle) and (value.readonly or hasattr(value, "reg")):
            raise RegisterTypeError(
                f"ptx.expr emits one instruction for {SYMBOLS[operation]}, but {value!r} would need another "
                "instruction first",
                help="copy the operand to a register first: r[i] = …",
            )
    number = as_integer(other) if typed.dtype.is_integer and not isinstance(other, Handle) else None
    if number is not None:
        check_range(typed.dtype, number)
    if spelled or not isinstance(other, Handle) or operation in {"shl", "shr"}:
        return
    if other.dtype.bits != typed.dtype.bits or other.dtype.is_integer != typed.dtype.is_integer:
        raise RegisterTypeError(
            f"ptx.expr does not convert: {SYMBOLS[operation]} is between {typed.dtype} and {other.dtype}",
            help="convert one operand with ptx.inst.cvt.…, or pass the opcode for this type in spelling=",
        )


def _is_logic(left: Handle, right: object) -> bool:
    return left.dtype.kind == "pred" or (isinstance(right, Handle) and right.dtype.kind == "pred")


def _logic(operation: str, left: Handle, right: object, into: Reg | None) -> Reg:
    """Emit `and.pred`, `or.pred` or `xor.pred` of two predicates."""
    if operation not in {"and", "or", "xor"} or not isinstance(right, Handle) or right.dtype is not left.dtype:
        raise refusal(operation, left, right)
    first, second = _positive(left), _positive(right)
    result = into if into is not None else left.trace.fresh(pred)
    left.trace.emit((operation, "pred"), (result, first, second))
    return result


def _positive(value: Handle) -> Handle:
    """Return a predicate register `p` itself, and for `~p` a fresh register set by `not.pred`."""
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
        raise RegisterTypeError(f"abs is not defined for the unsigned type {dtype}", help="use a signed type")
    if operation == "not" or dtype.kind == "pred":
        raise refusal(operation, value, None)
    float_operators.check(operation, dtype)
    return (operation, dtype.name)


def _own(left: Handle, right: object) -> Trace:
    """Return the trace of the operands; raise ForeignRegisterError unless it is the active trace."""
    here = current()
    if left.trace is not here:
        raise ForeignRegisterError(left.raw_name, left.trace.name, None if here is None else here.name)
    if isinstance(right, Handle) and right.trace is not here:
        raise ForeignRegisterError(right.raw_name, right.trace.name, left.trace.name)
    return left.trace
