"""What stands in the brackets of an address, and constants without a value. Manual: "Addresses as Operands".

Asked of ptxas 13.5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import constant_value, fault_of_integer
from pyptx_ir.isa.modules.constants import FLOAT, is_offset, of_literal, of_value
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.places import operand_in, without_comments
from pyptx_ir.isa.shapes import literal_kind
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    Ternary,
    Unary,
    Vector,
)

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

_CONSTANTS = (Binary, Ternary, Unary, Parenthesized)
_NO_OPERATOR = "a constant expression may contain numbers, and the address of a variable as its first summand"
_SUM = "write variable+n, or compute the value with instructions"
_FORM = "an address is [register], [register+constant], [variable] or [variable+constant]"
_DECIMAL = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+")
_SUBTRACTION = re.compile(r"[^+\s\[(]\s*-")


def is_suspect(operand: Operand) -> bool:
    """Tell whether an operand may be an address, or a number, of a form that `fault_in` refuses, wherever it stands."""
    if isinstance(operand, Vector | CallList):
        return any(is_suspect(one) for one in operand.elements)
    if not isinstance(operand, Address):
        return isinstance(operand, (*_CONSTANTS, Apply, Index)) or _may_have_no_value(operand)
    offset = operand.offset
    if _is_no_base(operand.base):
        return True
    return offset is not None and (_is_negative(offset) or not _is_integer(offset))


def fault_in(node: Instruction, index: int, operand: Operand) -> Finding | None:
    """Return what is wrong with the form of an address, or with a constant expression, or None.

    It depends on how the statement is spelt, too: the same operand may be right in another.
    """
    if isinstance(operand, Vector | CallList):
        found = (fault_in(node, index, one) for one in operand.elements)
        return next((fault for fault in found if fault is not None), None)
    if isinstance(operand, Apply):
        return Finding("operand-kind", _NO_OPERATOR, _SUM, operand=index)
    constant = operand.index if isinstance(operand, Index) else operand
    if isinstance(constant, _CONSTANTS) or (constant is not operand and isinstance(constant, Immediate)):
        if names_of(constant):
            return None if constant is not operand else _fault_of_sum(operand, index)
        kind, fault = of_value(constant, {})
        if kind == FLOAT and constant is not operand:
            fault = "the index of an element is an integer"
        return Finding("operand-kind", fault, "correct the constant expression", operand=index) if fault else None
    if isinstance(operand, Immediate):
        _, fault = of_literal(operand.text)
        return Finding("operand-kind", fault, "write what the type can hold", operand=index) if fault else None
    if not isinstance(operand, Address):
        return None
    offset = operand.offset
    message = hint = ""
    if _is_no_base(operand.base):
        message, hint = "this can't be the base of an address", _FORM
    elif offset is not None and not _is_integer(offset):
        message, hint = "the offset of an address is an integer constant", f"{_FORM}; add the rest beforehand"
    elif isinstance(offset, Immediate) and _is_negative(offset) and _is_subtracted(node, index):
        message, hint = "ptxas reads no '-' behind the base of an address", f"write +{offset.text}"
    return Finding("operand-kind", message, hint, operand=index) if message else None


def _fault_of_sum(operand: Operand, index: int) -> Finding | None:
    """Refuse operators on names, except `variable+n` and the sign of a register (video instructions)."""
    is_minus = isinstance(operand, Unary) and operand.op == "-" and isinstance(operand.operand, Symbol | Register)
    return None if is_minus or is_offset(operand) else Finding("operand-kind", _NO_OPERATOR, _SUM, operand=index)


def _is_no_base(base: Operand) -> bool:
    if isinstance(base, Register | Symbol):
        return "." in base.name
    if isinstance(base, Immediate):
        return _may_have_no_value(base)
    return isinstance(base, (Sink, Index, Negated)) or (isinstance(base, _CONSTANTS) and bool(names_of(base)))


def _may_have_no_value(operand: Operand) -> bool:
    """Return whether an operand is a number that may be invalid: too large, or not octal."""
    if not isinstance(operand, Immediate):
        return False
    if literal_kind(operand.text) == "int":
        return not _is_integer(operand)
    return _DECIMAL.fullmatch(operand.text) is not None


def _is_integer(operand: Operand) -> bool:
    """Return whether a constant has a value; a literal must fit in 64 bits."""
    if constant_value(operand) is None:
        return False
    return not (isinstance(operand, Immediate) and fault_of_integer(operand.text))


def _is_negative(offset: Operand) -> bool:
    return isinstance(offset, Immediate) and offset.text.startswith("-")


def _is_subtracted(node: Instruction, index: int) -> bool:
    """Tell whether a negative offset is spelt `[r-4]`; the tree holds the same for `[r+-4]`, which is right."""
    if node.raw is None:
        return False
    text = without_comments(node.raw)
    start, end = operand_in(text, index)
    return _SUBTRACTION.search(text, start, end) is not None
