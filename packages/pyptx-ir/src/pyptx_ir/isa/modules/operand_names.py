"""The names in an operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
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

# Functions of initialisers that look like names.
_OPERATORS = frozenset({"generic"})


def names_of(operand: Operand) -> tuple[str, ...]:
    """Return every register and symbol in `operand`, in order."""
    match operand:
        case Register(name) | Symbol(name):
            return (name,)
        case Address(base, offset):
            return names_of(base) if offset is None else names_of(base) + names_of(offset)
        case Vector(elements) | CallList(elements) | TensorAddress(elements):
            return tuple(name for element in elements for name in names_of(element))
        case Pair(first, second) | Index(first, second):
            return names_of(first) + names_of(second)
        case Binary(op, left, right):
            return () if op == "=" else names_of(left) + names_of(right)
        case Unified(inner) | Negated(inner) | Unary(_, inner) | Parenthesized(inner):
            return names_of(inner)
        case Ternary(condition, then, otherwise):
            return names_of(condition) + names_of(then) + names_of(otherwise)
        case Apply(function, inner):
            return tuple(name for name in names_of(function) if name not in _OPERATORS) + names_of(inner)
        case _:
            return ()
