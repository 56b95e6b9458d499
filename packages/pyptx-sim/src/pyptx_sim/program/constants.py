"""Literals, constant expressions and initialisers. Manual: "Constants", "Constant Expressions", "Initializers"."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyptx_ir.syntax.operands import (
    Apply,
    Binary,
    Immediate,
    Parenthesized,
    Symbol,
    Ternary,
    Unary,
    Vector,
)
from pyptx_sim.errors import ProgramError
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

WARP_SIZE = 32
_MASK64 = (1 << 64) - 1

# Returns the address that a symbol stands for, relative to its space or as a generic one.
Form: TypeAlias = Literal["relative", "generic"]
AddressOf: TypeAlias = Callable[[str, Form], int]


def parse_literal(text: str) -> int | float:
    """Return the value of a literal; `0f` and `0d` become floats (their bits survive: see `literal_bits`)."""
    negative, body = (True, text[1:]) if text.startswith("-") else (False, text)
    value = _parse_magnitude(body)
    return -value if negative else value


def _parse_magnitude(body: str) -> int | float:
    lowered = body.lower()
    if lowered == "warp_sz":
        return WARP_SIZE
    if lowered.startswith("0f") and len(body) == 10:
        return float(struct.unpack(">f", bytes.fromhex(body[2:]))[0])
    if lowered.startswith("0d") and len(body) == 18:
        return float(struct.unpack(">d", bytes.fromhex(body[2:]))[0])
    if lowered.startswith("0x"):
        return int(lowered.rstrip("u"), 16)
    if "." in body or "e" in lowered:
        return float(body)
    digits = lowered.rstrip("u")
    if digits.startswith("0b"):
        return int(digits, base=0)
    return int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)


def literal_bits(text: str) -> tuple[int, int] | None:
    """Return `(bits, byte size)` of a `0f` or `0d` literal, exact for every NaN, or None for any other literal."""
    negative, body = (True, text[1:]) if text.startswith("-") else (False, text)
    sizes = {"0f": (4, 10), "0d": (8, 18)}
    size, length = sizes.get(body[:2].lower(), (0, 0))
    if not size or len(body) != length:
        return None
    sign = 1 << (size * 8 - 1) if negative else 0
    return int.from_bytes(bytes.fromhex(body[2:])) ^ sign, size


def _quotient(left: int | float, right: int | float) -> int | float:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    if right == 0:
        raise ProgramError("division by zero in a constant expression")
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _remainder(left: int | float, right: int | float) -> int | float:
    return left - _quotient(left, right) * right


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _remainder,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
    "&": int.__and__,
    "|": int.__or__,
    "^": int.__xor__,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}


def _to_s64(value: int | float) -> int:
    wrapped = int(value) & _MASK64
    return wrapped - (1 << 64) if wrapped >> 63 else wrapped


_UNARY: dict[str, Callable[[Any], Any]] = {
    "+": operator.pos,
    "-": operator.neg,
    "!": lambda a: int(not a),
    "~": operator.invert,
    "(.s64)": _to_s64,
    "(.u64)": lambda a: int(a) & _MASK64,
}


def evaluate(operand: Operand, address_of: AddressOf) -> int | float:
    """Return the value of a constant expression; symbols stand for their addresses."""
    match operand:
        case Immediate(text):
            return parse_literal(text)
        case Parenthesized(inner):
            return evaluate(inner, address_of)
        case Unary(op, inner) if op.replace(" ", "") in _UNARY:
            return _number(_UNARY[op.replace(" ", "")](evaluate(inner, address_of)))
        case Binary(op, left, right) if op in _BINARY:
            return _number(_BINARY[op](evaluate(left, address_of), evaluate(right, address_of)))
        case Ternary(condition, then, otherwise):
            return evaluate(then if evaluate(condition, address_of) else otherwise, address_of)
        case Symbol(name):
            return address_of(name, "relative")
        case Apply(function, inner):
            return _apply(function, inner, address_of)
        case _:
            raise ProgramError(f"{operand!r} is not a constant expression")


def _number(value: Any) -> int | float:  # noqa: ANN401 - what an operator makes of two numbers
    return value if isinstance(value, float) else int(value)


def _apply(function: Operand, inner: Operand, address_of: AddressOf) -> int | float:
    """Evaluate `generic(sym)`, or `0xFF00(sym)`, which picks the bytes under the mask."""
    if isinstance(function, Symbol) and function.name == "generic":
        return evaluate(inner, lambda name, _form: address_of(name, "generic"))
    mask = int(evaluate(function, address_of))
    if mask == 0:
        raise ProgramError("the byte mask of an initialiser is zero")
    shift = (mask & -mask).bit_length() - 1
    return (int(evaluate(inner, address_of)) & mask) >> shift


def encode(value: int | float, ptx_type: str) -> bytes:
    """Return the bytes in memory of one element of `ptx_type`."""
    size = byte_size(ptx_type)
    if ptx_type in {"f16", "f32", "f64"}:
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], float(value))
    if ptx_type == "bf16" and isinstance(value, float):
        return struct.pack("<f", value)[2:]
    if isinstance(value, float):
        bits = struct.pack("<f" if size <= 4 else "<d", value)
        return bits[:size].ljust(size, b"\0")
    return (int(value) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _encode_element(operand: Operand, ptx_type: str, address_of: AddressOf) -> bytes:
    exact = literal_bits(operand.text) if isinstance(operand, Immediate) else None
    if exact is not None and exact[1] == byte_size(ptx_type):
        return exact[0].to_bytes(exact[1], "little")
    return encode(evaluate(operand, address_of), ptx_type)


def encode_initializer(
    initializer: Operand, ptx_type: str, dimensions: tuple[int, ...], address_of: AddressOf
) -> bytes:
    """Return the image of a variable: nested braces fill their dimension, what they leave out is zero."""
    size = byte_size(ptx_type)
    if not isinstance(initializer, Vector):
        return _encode_element(initializer, ptx_type, address_of)
    inner = dimensions[1:]
    stride = size
    for extent in inner:
        stride *= extent
    image = bytearray()
    for element in initializer.elements:
        if isinstance(element, Vector):
            image += b"\0" * (-len(image) % stride)
            image += encode_initializer(element, ptx_type, inner, address_of).ljust(stride, b"\0")
        else:
            image += _encode_element(element, ptx_type, address_of)
    return bytes(image)
