"""The names of registers and symbols in an operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Pair,
    Parenthesized,
    Register,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

# Operators in initializers that are spelled like names.
_OPERATORS = frozenset({"generic"})


def names_of(operand: Operand) -> tuple[str, ...]:
    """Return the names of all registers and symbols in `operand`, in order."""
    found: list[str] = []
    _collect(operand, found)
    return tuple(found)


def _collect(operand: Operand, found: list[str]) -> None:
    match operand:
        case Register(name) | Symbol(name):
            found.append(name)
        case Immediate():
            pass
        case Address(base, offset):
            _collect(base, found)
            if offset is not None:
                _collect(offset, found)
        case Vector(elements) | CallList(elements) | TensorAddress(elements):
            for element in elements:
                if element.__class__ is not Immediate:  # skip literals, of which an initializer may have thousands
                    _collect(element, found)
        case Pair(first, second) | Index(first, second):
            _collect(first, found)
            _collect(second, found)
        case Binary(op, left, right):
            if op != "=":
                _collect(left, found)
                _collect(right, found)
        case Unified(inner) | Negated(inner) | Unary(_, inner) | Parenthesized(inner):
            _collect(inner, found)
        case Ternary(condition, then, otherwise):
            for part in (condition, then, otherwise):
                _collect(part, found)
        case Apply(function, inner):
            found.extend(name for name in names_of(function) if name not in _OPERATORS)
            _collect(inner, found)
        case _:
            pass
