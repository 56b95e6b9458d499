"""What stands in the brackets of an address, and constants without a value. Manual: "Addresses as Operands".

Asked of ptxas 13.5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import constant_value
from pyptx_ir.isa.modules.constants import FLOAT, of_literal, of_value
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.places import operand_in, without_comments
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import (
    Address,
    Binary,
    Immediate,
    Index,
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
_FORM = "an address is [register], [register+constant], [variable] or [variable+constant]"
_DECIMAL = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+")
_SUBTRACTION = re.compile(r"[^+\s\[(]\s*-")


def is_suspect(operand: Operand) -> bool:
    """Tell whether an operand may be an address, or a number, of a form that `fault_in` refuses, wherever it stands."""
    if isinstance(operand, Vector):
        return any(isinstance(one, _CONSTANTS) for one in operand.elements)
    if not isinstance(operand, Address):
        return isinstance(operand, (*_CONSTANTS, Index)) or _is_decimal(operand)
    offset = operand.offset
    if _is_no_base(operand.base):
        return True
    return offset is not None and (_is_negative(offset) or constant_value(offset) is None)


def fault_in(node: Instruction, index: int, operand: Operand) -> Finding | None:
    """Return what is wrong with the form of an address, or with a constant expression, or None.

    It depends on how the statement is spelt, too: the same operand may be right in another.
    """
    if isinstance(operand, Vector):
        found = (fault_in(node, index, one) for one in operand.elements if isinstance(one, _CONSTANTS))
        return next((fault for fault in found if fault is not None), None)
    constant = operand.index if isinstance(operand, Index) else operand
    if isinstance(constant, _CONSTANTS) or (constant is not operand and isinstance(constant, Immediate)):
        if names_of(constant):
            return None
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
    elif offset is not None and constant_value(offset) is None:
        message, hint = "the offset of an address is an integer constant", f"{_FORM}; add the rest beforehand"
    elif isinstance(offset, Immediate) and _is_negative(offset) and _is_subtracted(node, index):
        message, hint = "ptxas reads no '-' behind the base of an address", f"write +{offset.text}"
    return Finding("operand-kind", message, hint, operand=index) if message else None


def _is_no_base(base: Operand) -> bool:
    return isinstance(base, Sink | Index) or (isinstance(base, Register | Symbol) and "." in base.name)


def _is_decimal(operand: Operand) -> bool:
    """Tell whether an operand is a floating-point number in decimal notation, whose exponent may be too large."""
    return isinstance(operand, Immediate) and _DECIMAL.fullmatch(operand.text) is not None


def _is_negative(offset: Operand) -> bool:
    return isinstance(offset, Immediate) and offset.text.startswith("-")


def _is_subtracted(node: Instruction, index: int) -> bool:
    """Tell whether a negative offset is spelt `[r-4]`; the tree holds the same for `[r+-4]`, which is right."""
    if node.raw is None:
        return False
    text = without_comments(node.raw)
    start, end = operand_in(text, index)
    return _SUBTRACTION.search(text, start, end) is not None
