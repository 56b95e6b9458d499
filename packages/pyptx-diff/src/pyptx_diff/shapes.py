"""Shape of an operand: two operands of one shape differ only in names.

A shape is a nested tuple, compared and hashed. A literal is represented by its value, so that all notations of a value
have one shape. A name is represented by its selector (`.x` of `%tid.x`), or by nothing.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_ir.syntax.lexemes import integer
from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Operand,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Shape: TypeAlias = "Hashable"

NUMBER = "#"  # first element of a tuple that is the shape of a numeric literal
_NAME = "name"
_ZERO = (NUMBER, 0)
_TYPE = re.compile(r"(?:[busf]|bf|tf)[0-9]\w*|e[0-9]m[0-9]\w*")


def shape_of(operand: Operand, names: list[str], *, single: bool = False) -> Shape:
    """Return the shape of an operand and append its names to `names`, from left to right.

    In a `single` instruction every number is an `.f32`: `1.0` and `0f3F800000` are equal there.
    """
    match operand:
        case Register(name) | Symbol(name):
            return named(name, names)
        case Immediate(text):
            return literal(text, single=single)
        case Address(base, offset):
            # [a] is [a+0]. Manual: "Addresses as Operands"
            distance = _ZERO if offset is None else shape_of(offset, names)
            return ("[", shape_of(base, names), distance)
        case Vector(elements) | CallList(elements) | TensorAddress(elements):
            return (operand.__class__.__name__, *_all(elements, names, single=single))
        case Parenthesized(inner):
            return shape_of(inner, names, single=single)
        case Sink():
            return "_"
        case Negated(inner):
            return ("!", shape_of(inner, names))
        case Unified(inner):
            return ("unified", shape_of(inner, names))
        case _:
            return _expression(operand, names)


def named(name: str, names: list[str]) -> Shape:
    """Return the shape of a name and append it without its selector to `names`."""
    dot = name.find(".", 1)  # the leading dot of a section's name does not begin a selector
    if dot < 0:
        names.append(name)
        return _NAME
    names.append(name[:dot])
    return (_NAME, name[dot:])


def _all(operands: Sequence[Operand], names: list[str], *, single: bool = False) -> list[Shape]:
    return [shape_of(each, names, single=single) for each in operands]


def _expression(operand: Operand, names: list[str]) -> Shape:
    """Return the shape of an operand with an operator, such as `a+4`."""
    match operand:
        case Immediate(text):
            # `U` makes operators unsigned. Manual: "Constant Expression Evaluation"
            return (*literal(text), text[-1:] == "U")
        case Parenthesized(inner):
            return _expression(inner, names)
        case Unary(op, inner):
            return (op, _expression(inner, names))
        case Binary(op, left, right):
            return (op, _expression(left, names), _expression(right, names))
        case Ternary(condition, then, otherwise):
            return ("?", *(_expression(each, names) for each in (condition, then, otherwise)))
        case Pair(first, second):
            return ("|", shape_of(first, names), shape_of(second, names))
        case Index(base, index):
            return ("[]", shape_of(base, names), shape_of(index, names))
        case Apply(function, inner):
            return ("()", shape_of(function, names), shape_of(inner, names))
        case _:
            return shape_of(operand, names)


@lru_cache(maxsize=1 << 14)
def literal(text: str, *, single: bool = False) -> tuple[Hashable, ...]:
    """Return the value of a literal, tagged with its kind.

    Integers by value; `0f…` by its 32 bits; `0d…` and decimal floats by the 64 bits of the double. In a `single`
    instruction, a double that is exactly a single-precision number becomes that number.
    """
    digits = text.removeprefix("-")
    sign = "-" if digits != text else ""
    kind = digits[:2].lower()
    if kind == "0f":
        return (NUMBER, "f32", sign, int(f"0x{digits[2:]}", 0))
    if kind == "0d":
        return _double(sign, int(f"0x{digits[2:]}", 0), single=single)
    if digits == "WARP_SZ":
        return (NUMBER, text)
    if kind not in {"0x", "0b"} and not digits.removesuffix("U").isdecimal():
        return _double(sign, _bits("<d", "<Q", float(digits)), single=single)
    return (NUMBER, -integer(digits) if sign else integer(digits))


def _double(sign: str, bits: int, *, single: bool) -> tuple[Hashable, ...]:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    if single and value == value and abs(value) < _LARGEST_SINGLE:  # noqa: PLR0124 - a NaN is not itself
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
        if rounded == value:
            return (NUMBER, "f32", sign, _bits("<f", "<I", value))
    return (NUMBER, "f64", sign, bits)


_LARGEST_SINGLE = 2.0**128


def _bits(written: str, read: str, value: float) -> int:
    (bits,) = struct.unpack(read, struct.pack(written, value))
    return int(bits)


@lru_cache(maxsize=1 << 12)
def is_single(opcode: tuple[str, ...]) -> bool:
    """Return whether the number literals of an instruction are `.f32`: its opcode has no other type."""
    return {word for word in opcode if _TYPE.fullmatch(word)} == {"f32"}


def without_numbers(shape: Shape) -> Shape:
    """Return a shape with all literals replaced by the same value."""
    if not isinstance(shape, tuple):
        return shape
    parts = cast("tuple[Shape, ...]", shape)
    return NUMBER if parts[:1] == (NUMBER,) else tuple(map(without_numbers, parts))
