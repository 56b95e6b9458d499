"""Check bracketed addresses, and constants without a value. Manual: "Addresses as Operands".

Measured on ptxas 13.5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import constant_value
from pyptx_ir.isa.modules.constants import FLOAT, INTEGER, is_offset, of_literal, of_value
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.part_spans import operand_in, without_comments
from pyptx_ir.isa.shapes import literal_kind
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Parenthesized,
    Register,
    Symbol,
    Ternary,
    Unary,
    Unified,
    Vector,
)

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

_CONSTANTS = (Binary, Ternary, Unary, Parenthesized)
_NO_OPERATOR = "invalid constant expression: expected numbers, or variable + numbers"
_SUM = "write variable+n, or compute the value with instructions"
_FORM = "write [register], [register+constant], [variable] or [variable+constant]"
_DECIMAL = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+")
_SUBTRACTION = re.compile(r"\s*\[\s*[\w$%]+\s*-")
_NO_INDEX = "invalid element index"
_INDEX = "use a register, an integer constant, or register+constant"
_NO_BASE = "invalid base of an address"


def is_suspect(operand: Operand) -> bool:
    """Return whether an operand contains an address or number in a form that `fault_in` might reject."""
    if isinstance(operand, Vector | CallList):
        return any(is_suspect(one) for one in operand.elements)
    if isinstance(operand, Unified):
        return is_suspect(operand.address)
    if not isinstance(operand, Address):
        return isinstance(operand, (*_CONSTANTS, Apply, Index)) or _may_have_no_value(operand)
    offset = operand.offset
    if offset is not None and not (isinstance(offset, Immediate) and offset.text.isdecimal()):
        return True
    return _has_no_value(offset) or bool(_fault_of_base(operand.base))


def fault_in(node: Instruction, index: int, operand: Operand) -> Finding | None:
    """Return the fault in the form of an address or in a constant expression, or None.

    The fault also depends on the source text of the statement: the same operand may be valid in another statement.
    """
    if isinstance(operand, Vector | CallList):
        found = (fault_in(node, index, one) for one in operand.elements)
        return next((fault for fault in found if fault is not None), None)
    if isinstance(operand, Apply):
        return Finding("operand-kind", _NO_OPERATOR, _SUM, operand=index)
    constant = operand.index if isinstance(operand, Index) else operand
    if constant is not operand and not isinstance(constant, (*_CONSTANTS, Immediate, Register, Symbol)):
        return Finding("operand-kind", _NO_INDEX, _INDEX, operand=index)
    if isinstance(constant, _CONSTANTS) or (constant is not operand and isinstance(constant, Immediate)):
        if names_of(constant):
            return _fault_of_index(constant, index) if constant is not operand else _fault_of_sum(operand, index)
        kind, fault = of_value(constant, {})
        if kind == FLOAT and constant is not operand:
            fault = "element index must be an integer"
        return Finding("operand-kind", fault, "correct the constant expression", operand=index) if fault else None
    if isinstance(operand, Immediate):
        _, fault = of_literal(operand.text)
        return (
            Finding("operand-kind", fault, "use a value that the type can represent", operand=index) if fault else None
        )
    if isinstance(operand, Unified):
        return fault_in(node, index, operand.address)
    return _fault_of_address(node, index, operand) if isinstance(operand, Address) else None


def _fault_of_address(node: Instruction, index: int, operand: Address) -> Finding | None:
    message = _fault_of_base(operand.base)
    help = _FORM
    if not message and operand.offset is not None:
        kind, _ = of_value(operand.offset, {})
        if kind != INTEGER:
            message = "address offset must be an integer constant"
            help = f"{_FORM}; add other terms to a register first"
        elif isinstance(operand.base, Register | Symbol) and _is_subtracted(node, index):
            message, help = (
                "'-' after the base of an address: ptxas does not accept it",
                "write +- instead of -, as in [register+-4]",
            )
    return Finding("operand-kind", message, help, operand=index) if message else None


def _fault_of_sum(operand: Operand, index: int) -> Finding | None:
    """Reject operators on names, except `variable+n` and the sign of a register (video instructions)."""
    is_minus = isinstance(operand, Unary) and operand.op == "-" and isinstance(operand.operand, Symbol | Register)
    is_sum = is_offset(operand) and not any("." in name for name in names_of(operand))
    return None if is_minus or is_sum else Finding("operand-kind", _NO_OPERATOR, _SUM, operand=index)


def _fault_of_index(constant: Operand, index: int) -> Finding | None:
    """Reject operators on names in the index of an array element, except `register+n`."""
    return None if is_offset(constant) else Finding("operand-kind", _NO_INDEX, _INDEX, operand=index)


def _fault_of_base(base: Operand) -> str:
    """Return the fault of an address's base, which must be a name, or an integer constant for local memory."""
    if isinstance(base, Register | Symbol):
        return _NO_BASE if "." in base.name else ""
    if isinstance(base, Immediate) and literal_kind(base.text) != "int":
        # Report only malformed numeric literals here: the instruction table rejects each floating-point number used as
        # an address.
        return of_literal(base.text)[1]
    if not isinstance(base, (Immediate, *_CONSTANTS)) or names_of(base):
        return _NO_BASE
    kind, fault = of_value(base, {})
    return fault or ("" if kind == INTEGER else _NO_BASE)


def _may_have_no_value(operand: Operand) -> bool:
    """Return whether an operand is a number that may be invalid: too large or small, not octal, or `-0f3f800000`."""
    if not isinstance(operand, Immediate):
        return False
    kind = literal_kind(operand.text)
    if kind == "int":
        return _has_no_value(operand)
    return (kind == "single" and operand.text[0] == "-") or _DECIMAL.fullmatch(operand.text) is not None


def _has_no_value(operand: Operand | None) -> bool:
    return operand is not None and constant_value(operand) is None


def _is_subtracted(node: Instruction, index: int) -> bool:
    """Return whether an offset is written `[r-4]`, which ptxas rejects; the tree of the valid `[r+-4]` is the same."""
    if node.raw is None:
        return False
    text = without_comments(node.raw)
    start, end = operand_in(text, index)
    return _SUBTRACTION.match(text, start, end) is not None
