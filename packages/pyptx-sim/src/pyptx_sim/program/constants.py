"""Literals, constant expressions and initializers. Manual: "Constants", "Constant Expressions", "Initializers"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pyptx_ir.isa.constant_values import evaluated
from pyptx_ir.isa.modules.constants import of_value
from pyptx_ir.isa.shapes import shape_of
from pyptx_ir.syntax.operands import Apply, Immediate, Symbol, Vector
from pyptx_sim.errors import ProgramError
from pyptx_sim.literals import literal_bits, parse_literal
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

# `AddressOf`: function that returns the address of a symbol, relative to its state space or as a generic address.
Form: TypeAlias = Literal["relative", "generic"]
AddressOf: TypeAlias = Callable[[str, Form], int]


def evaluate(operand: Operand, address_of: AddressOf) -> int | float:
    """Return the value of a constant expression; the value of a symbol is its address.

    Like ptxas, raise ProgramError for operators on addresses and registers except `variable+n`, for integer operators
    on floats, and for literals without a value.
    """
    if not isinstance(operand, Immediate | Symbol):
        kind, fault = of_value(operand, {})
        if not kind:
            raise ProgramError(fault)
    return _evaluated(operand, address_of)


def _evaluated(operand: Operand, address_of: AddressOf) -> int | float:
    def other(inner: Operand) -> int | float:
        match inner:
            case Immediate(text):
                return parse_literal(text)
            case Symbol(name):
                return address_of(name, "relative")
            case Apply(function, argument):
                return _apply(function, argument, address_of)
            case _:
                raise ProgramError(f"expected a constant expression, got {inner!r}")

    value = evaluated(operand, other)
    if value is None:
        raise ProgramError("division by zero in a constant expression")
    return value


def integer_constant(operand: Operand) -> int | None:
    """Return the value of an integer, or of a constant expression of integers; None for any other operand."""
    if shape_of(operand, _undeclared)[0] != "literal":
        return None
    value = evaluate(operand, _placed_nowhere)
    return value if isinstance(value, int) else None


def _undeclared(_name: str) -> None:
    """Return None for every name, so that every symbol counts as undeclared: integer constants contain no symbols."""


def _placed_nowhere(name: str, _form: Form) -> int:
    raise ProgramError(f"expected a constant, got {name}")


def _apply(function: Operand, inner: Operand, address_of: AddressOf) -> int | float:
    """Evaluate `generic(sym)`, or `0xFF00(sym)`, which extracts the masked bits of the address and shifts them down."""
    if isinstance(function, Symbol) and function.name == "generic":
        return _evaluated(inner, lambda name, _form: address_of(name, "generic"))
    mask = int(_evaluated(function, address_of))
    shift = (mask & -mask).bit_length() - 1
    return (int(_evaluated(inner, address_of)) & mask) >> shift


def encode(value: int | float, ptx_type: str) -> bytes:
    """Return the bytes that store `value` in memory as one element of `ptx_type`."""
    size = byte_size(ptx_type)
    if ptx_type in {"f16", "f32", "f64"}:
        return _float_bytes(float(value), size)
    if isinstance(value, float):
        return _float_bytes(value, 4 if size <= 4 else 8)[:size].ljust(size, b"\0")
    return (int(value) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _float_bytes(value: float, size: int) -> bytes:
    """Return the bytes of `value` as a float of `size` bytes; a value that is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.array(value, np.float64).astype(f"<f{size}").tobytes()


def _encode_element(operand: Operand, ptx_type: str, address_of: AddressOf) -> bytes:
    size = byte_size(ptx_type)
    exact = literal_bits(operand.text) if isinstance(operand, Immediate) else None
    if exact is not None and exact[1] <= size:  # like ptxas, keep a literal's bits: 0f… is not converted to .f64
        return exact[0].to_bytes(size, "little")
    return encode(evaluate(operand, address_of), ptx_type)


def encode_initializer(
    initializer: Operand, ptx_type: str, dimensions: tuple[int, ...], address_of: AddressOf
) -> bytes:
    """Return the initial bytes of a variable; nested braces fill their dimension, omitted elements are zero."""
    size = byte_size(ptx_type)
    if not isinstance(initializer, Vector):
        return _encode_element(initializer, ptx_type, address_of)
    inner = dimensions[1:]
    stride = size
    for extent in inner:
        stride *= extent
    if not stride:
        raise ProgramError("an array of size 0 cannot have an initializer")
    image = bytearray()
    for element in initializer.elements:
        if isinstance(element, Vector):
            image += b"\0" * (-len(image) % stride)
            image += encode_initializer(element, ptx_type, inner, address_of).ljust(stride, b"\0")
        else:
            image += _encode_element(element, ptx_type, address_of)
    return bytes(image)
