"""Conversion of users' values to operands of the tree.

| value | operand |
|---|---|
| a register | `%r1` |
| `int`, or anything with `__index__` (NumPy integers) | `12`; in a floating-point instruction `0f41400000` |
| `float` | `0f…` or `0d…`, depending on the instruction's type |
| `str` | parsed as PTX: `"%tid.x"`, `"symbol"`, `"symbol+4"`, `"-1"`, `"_"` |
| list, RegArray | vector `{a, b}` |
| tuple | argument list of a call `(a, b)` |
| `ptx.addr(…)` | `[base+offset]` |
| `PipeRef(p, q)` | `p|q` |
| `NegPred(p)`, `~p` | `!p` |
| shared allocations, barriers, tensors | the result of their `__ptx_operand__` |
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.types import PtxType
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import address, immediate, vector
from pyptx_ir.syntax.operands import Operand
from pyptx_ir.values import Unique, value

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*\Z", re.ASCII)
_REGISTER = re.compile(r"%[\w$]+(\.\w+)*\Z", re.ASCII)
_LITERAL = re.compile(r"-?(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+U?)\Z", re.ASCII)
_NODES: tuple[type, ...] = (
    *(tree.Register, tree.Symbol, tree.Immediate, tree.Sink, tree.Unary, tree.Binary, tree.Ternary, tree.Parenthesized),
    *(tree.Index, tree.Apply, tree.Address, tree.TensorAddress, tree.Unified, tree.Vector, tree.Pair, tree.Negated),
    tree.CallList,
)


_WHOLE = frozenset({tree.Register, tree.Symbol, tree.Immediate})


class PtxValue(Protocol):
    """A Python object with a method that converts it to a PTX operand."""

    def __ptx_operand__(self, trace: Trace) -> Operand:
        """Return the PTX operand for this object in `trace`."""
        ...


@value
class PipeRef(Unique):
    """A pair of destinations `p|q`, as `setp`, `shfl.sync` and `elect.sync` accept."""

    left: Reg | str | Sequence[object]
    right: Reg | str

    def __ptx_operand__(self, trace: Trace) -> Operand:
        """Return the operand `p|q`."""
        return tree.Pair(lower(self.left, trace), lower(self.right, trace))


@value
class AddressOperand(Unique):
    """`[base+offset]`; `base` is any value that converts to an operand, `offset` is in bytes and may be negative."""

    base: object
    offset: object | None = None

    def __ptx_operand__(self, trace: Trace) -> Operand:
        """Return the operand `[base+offset]`; the offset of a shared slice as base is added to `offset`."""
        base = lower(self.base, trace)
        if trace.exact and type(base) in _WHOLE:
            return address(base, _offset(self.offset, trace))
        if isinstance(base, tree.Address):
            return address(base.base, _sum(base.offset, _offset(self.offset, trace)))
        if isinstance(base, tree.Binary) and base.op == "+" and isinstance(base.right, tree.Immediate):
            return address(base.left, _sum(base.right, _offset(self.offset, trace)))
        return address(base, _sum(None, _offset(self.offset, trace)))

    def __add__(self, offset: int) -> AddressOperand:
        """Return an address operand `offset` bytes higher; nothing is emitted."""
        more = as_integer(offset)
        if more is None or not (self.offset is None or as_integer(self.offset) is not None):
            raise OperandError(f"cannot add {offset!r} to an address", help="add an integer")
        return AddressOperand(self.base, (as_integer(self.offset) or 0) + more)


def _offset(value: object | None, trace: Trace) -> Operand | None:
    """Return the operand for the offset of an address: an integer, a constant expression, or a symbol."""
    if value is None:
        return None
    lowered = lower(value, trace)
    if isinstance(lowered, tree.Register):
        raise OperandError(
            "the offset of an address must be a constant, got a register",
            help="add the register first: ptx.addr(base + offset)",
        )
    return lowered


def _sum(first: Operand | None, second: Operand | None) -> Operand | None:
    """Return the sum of two address offsets: a number if both are numbers, None if the sum is 0."""
    if first is None or second is None:
        total = second if first is None else first
        return None if isinstance(total, tree.Immediate) and total.text == "0" else total
    if isinstance(first, tree.Immediate) and isinstance(second, tree.Immediate):
        number = int(first.text, 0) + int(second.text, 0)
        return tree.Immediate(str(number)) if number else None
    return tree.Binary("+", first, second)


def as_integer(value: object) -> int | None:
    """Return an integer of Python or NumPy, or a bool, as an int; None for any other value."""
    if isinstance(value, int):
        return int(value)
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def as_count(value: object) -> int | None:
    """Return a size or an index as an int; None for a bool, which cannot be a size, and for any other value."""
    return None if isinstance(value, bool) else as_integer(value)


def alignment(value: object) -> int | None:
    """Return `value`, an alignment in bytes or None; raise OperandError unless it is None or a power of two."""
    if value is None:
        return None
    number = as_count(value)
    if number is None or number < 1 or number & (number - 1):
        raise OperandError(f"align must be a power of two, got {value!r}", help="pass an alignment in bytes")
    return number


_LISTS = (list, tuple)  # argument of isinstance: `list | tuple` would create a union object in each call


def as_items(value: object) -> list[object] | None:
    """Return the items of a list or tuple, or None for anything else."""
    return list(cast("Sequence[object]", value)) if isinstance(value, _LISTS) else None


def as_float(value: object) -> float | None:
    """Return a number of Python or NumPy as a float; None for any other value."""
    if isinstance(value, float):
        return float(value)
    whole = as_integer(value)
    if whole is not None:
        return float(whole)
    convert = getattr(type(value), "__float__", None)
    return None if convert is None else float(convert(value))


def float_text(value: float, bits: int) -> str:
    """Return the exact literal of a float: `0f3F800000` for 32 bits, `0d3FF0000000000000` for 64.

    A finite value beyond the range of 32 bits becomes an infinity, as in every IEEE conversion.
    """
    if bits == 64:
        return "0d" + struct.pack(">d", value).hex().upper()
    try:
        packed = struct.pack(">f", value)
    except OverflowError:
        packed = struct.pack(">f", float("inf") if value > 0 else float("-inf"))
    return "0f" + packed.hex().upper()


# Opcodes whose integer arguments are values of the instruction's floating-point type, never counts or selectors.
NUMERIC = frozenset(
    [
        "mov",
        "add",
        "sub",
        "mul",
        "fma",
        "mad",
        "div",
        "rem",
        "min",
        "max",
        "abs",
        "neg",
        "setp",
        "set",
        "selp",
        "slct",
        "st",
        "atom",
        "red",
        "copysign",
        "rcp",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "lg2",
        "ex2",
        "tanh",
        "testp",
        "cvt",
    ]
)


@lru_cache(maxsize=4096)
def literal_bits(opcode: tuple[str, ...]) -> int:
    """Return 32 or 64 if the source operands of an opcode are f32 or f64 numbers, else 0."""
    last = next((word for word in reversed(opcode) if word in {"f32", "f64", "f32x2"} or _TYPE_WORD.match(word)), "")
    return {"f32": 32, "f64": 64}.get(last, 0)


_TYPE_WORD = re.compile(r"[busf]\d+(x\d)?\Z|bf16(x2)?\Z|tf32\Z|pred\Z|e\dm\d(x\d)?\Z|ue8m0(x2)?\Z")


@lru_cache(maxsize=8192)
def whole_number(value: int) -> tree.Immediate:
    """Return the decimal literal of an integer."""
    return immediate(str(value))


@lru_cache(maxsize=4096)
def parse_text(text: str) -> Operand:
    """Return the operand that a string contains; raise OperandError unless it contains exactly one operand."""
    if text == "_":
        return tree.Sink()
    if _REGISTER.match(text):
        return tree.Register(text)
    if _IDENTIFIER.match(text):
        return tree.Symbol(text) if text != "WARP_SZ" else tree.Immediate(text)
    if _LITERAL.match(text):
        return tree.Immediate(text)
    from pyptx_ir.syntax import PtxSyntaxError, parse_operand

    try:
        return parse_operand(text)
    except PtxSyntaxError as error:
        help = error.help or "write one operand per string: a name, a number, an expression"
        if "Reg(" in text:  # the operand is an f-string that formatted a register
            help = "pass registers themselves, not strings: ptx.addr(p + offset), pred=p, pred=~p"
        raise OperandError(f"invalid operand {text!r}: {error.message}", help=help) from None


def _lower_int(value: int, _trace: Trace, opcode: tuple[str, ...]) -> Operand:
    if opcode and opcode[0] in NUMERIC:
        bits = literal_bits(opcode)
        if bits:
            return tree.Immediate(float_text(float(value), bits))
    return whole_number(value)


def _lower_bool(value: bool, trace: Trace, opcode: tuple[str, ...]) -> Operand:  # noqa: FBT001  a value, not a switch
    return _lower_int(int(value), trace, opcode)


def _lower_float(value: float, _trace: Trace, opcode: tuple[str, ...]) -> Operand:
    bits = literal_bits(opcode) if opcode else 64
    if not bits:
        raise OperandError(
            f"{'.'.join(opcode)} does not support floating-point literals ({value!r}): PTX has them for f32 "
            "and f64 only",
            help="put the number into a register first: reg.scalar(dtype, init=…)",
        )
    return tree.Immediate(float_text(value, bits))


def _lower_text(value: str, trace: Trace, _opcode: tuple[str, ...]) -> Operand:
    if not value:
        raise OperandError("an empty string is not an operand")
    operand = parse_text(value)
    trace.mention(operand)
    return operand


def _lower_list(value: Sequence[object], trace: Trace, opcode: tuple[str, ...]) -> Operand:
    return vector(trace.lowered(value, opcode))


def _lower_tuple(value: Sequence[object], trace: Trace, opcode: tuple[str, ...]) -> Operand:
    return tree.CallList(trace.lowered(value, opcode))


def _lower_constant(value: Operand, _trace: Trace, _opcode: tuple[str, ...]) -> Operand:
    return value


def _lower_node(value: Operand, trace: Trace, _opcode: tuple[str, ...]) -> Operand:
    trace.mention(value)
    return value


def _lower_value(value: PtxValue, trace: Trace, _opcode: tuple[str, ...]) -> Operand:
    return value.__ptx_operand__(trace)


_Lowering = Callable[[Any, "Trace", tuple[str, ...]], Operand]
_LOWERINGS: dict[type, _Lowering] = {
    int: _lower_int,
    bool: _lower_bool,
    float: _lower_float,
    str: _lower_text,
    list: _lower_list,
    tuple: _lower_tuple,
    **dict.fromkeys(_NODES, _lower_node),
    tree.Immediate: _lower_constant,
    tree.Sink: _lower_constant,
}


@lru_cache(maxsize=1024)
def _lowering_of(kind: type) -> _Lowering:
    """Return the function that converts values of a Python type to operands; cached by type."""
    lowering = _LOWERINGS.get(kind)
    if lowering is not None:
        return lowering
    return _lower_value if hasattr(kind, "__ptx_operand__") else _lower_other


class TypeOperandError(OperandError):
    """Error for a PtxType passed as an operand; `mistakes.calling` suggests the correct call."""

    def __init__(self, dtype: PtxType, opcode: tuple[str, ...]) -> None:
        """Store the PtxType that was passed as an operand, and the opcode of the call."""
        name = ".".join(opcode)
        super().__init__(f"{name}: expected an operand, got the type {dtype}", help="the type is part of the opcode")
        self.dtype, self.opcode = dtype, opcode


def lower(value: object, trace: Trace, opcode: tuple[str, ...] = ()) -> Operand:
    """Return the operand for a value; `opcode` determines the format of numeric literals.

    Raise OperandError for an invalid operand, and ForeignRegisterError for a register of another trace.
    """
    kind: type = type(value)
    return _lowering_of(kind)(value, trace, opcode)


def lower_selected(values: Sequence[object], trace: Trace, opcode: tuple[str, ...]) -> list[object]:
    """Return the operands of `slct.type.ctype d, a, b, c` with literals of `type` for `a` and `b`.

    `lower` uses an instruction's last type for literals, which is right for `c`. Manual: "Comparison and Selection
    Instructions: slct".
    """
    return [lower(value, trace, opcode[:-1]) if at in {1, 2} else value for at, value in enumerate(values)]


def _lower_other(value: object, trace: Trace, opcode: tuple[str, ...]) -> Operand:
    """Return the operand for a value of another type that behaves like a number or list: NumPy scalars, subclasses."""
    if isinstance(value, PtxType):
        raise TypeOperandError(value, opcode)
    if callable(value) and not hasattr(value, "__len__"):
        raise OperandError(f"expected an operand, got the function {_called(value)}", help=f"write {_called(value)}()")
    whole = as_integer(value)
    if whole is not None:
        return _lower_int(whole, trace, opcode)
    if isinstance(value, str):
        return _lower_text(str(value), trace, opcode)
    number = None if hasattr(value, "__len__") else as_float(value)
    if number is not None:
        return _lower_float(number, trace, opcode)
    if isinstance(value, tuple):
        return _lower_tuple(cast("Sequence[object]", value), trace, opcode)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return _lower_list(cast("Sequence[object]", value), trace, opcode)
    raise OperandError(
        f"expected an operand, got {type(value).__name__} {value!r}",
        help="use registers, numbers, strings (symbols), lists (vectors), ptx.addr(…) or shared allocations",
    )


def _called(value: object) -> str:
    """Return the name of a function or, with its object's name, of a method, for messages."""
    owner, name = getattr(value, "__self__", None), getattr(value, "__name__", None)
    return repr(value) if name is None else name if owner is None else f"{owner!r}.{name}"
