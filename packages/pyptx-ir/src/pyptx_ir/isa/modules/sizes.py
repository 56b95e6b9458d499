"""Sizes of declarations in bytes. Manual: "State Spaces, Types, and Variables"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import constant_value, fault_of_integer
from pyptx_ir.isa.modules.scopes import Storage
from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.nodes import Parameter, Variable
    from pyptx_ir.syntax.operands import Operand

_VECTOR = {None: 1, "v2": 2, "v4": 4, "v8": 8}
_OPAQUE = {"texref": 8, "samplerref": 8, "surfref": 8}  # bytes of a variable of each opaque type: a 64-bit handle


def type_bytes(type_name: str, vector: str | None = None) -> int | None:
    """Return the size in bytes of one element of a type; None if unknown."""
    bits = SIZES.get(type_name)
    if bits is None:
        return _OPAQUE.get(type_name)
    return bits // 8 * _VECTOR.get(vector, 1)


def storage_of(
    space: str,
    node: Variable | Parameter,
    dimensions: Sequence[Operand | None],
    *,
    header: bool = False,
    is_input: bool = False,
) -> Storage:
    """Return the `Storage` of one declared name."""
    element = type_bytes(node.type, node.vector)
    counts = [value_of(dimension) for dimension in dimensions]
    known = [count for count in counts if count is not None]
    size = element * math.prod(known) if element is not None and len(known) == len(counts) else None
    return Storage(space, size, node.alignment or element or 1, bool(dimensions), header, is_input, node.type)


def plain_number(operand: Operand | str | None) -> int | None:
    """Return the value of a number in a size or directive: an unsigned integer literal; None otherwise."""
    if not isinstance(operand, Immediate) or operand.text.startswith("-"):
        return None
    value = constant_value(operand)
    return None if value is None or fault_of_integer(operand.text) else value


def value_of(operand: Operand | None) -> int | None:
    """Return the value of an integer constant; None for any other operand or an empty bracket."""
    return None if operand is None else constant_value(operand)
