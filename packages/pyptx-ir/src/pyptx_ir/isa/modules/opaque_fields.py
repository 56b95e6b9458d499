"""Check fields of textures, samplers and surfaces in initializers. Measured on ptxas 13.0.

Manual: "Texture Sampler and Surface Types".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.suggestions import close_names
from pyptx_ir.syntax.operands import Binary, Symbol, Vector

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

_ADDRESSED = ("addr_mode_0", "addr_mode_1", "addr_mode_2")
_SIZES = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size")

FIELDS: dict[str, tuple[str, ...]] = {
    "texref": (*_SIZES, "normalized_coords", "filter_mode", *_ADDRESSED, "num_mipmap_levels", "num_samples"),
    "samplerref": ("force_unnormalized_coords", "filter_mode", *_ADDRESSED),
    "surfref": (*_SIZES, "memory_layout"),
}
"""Names of the fields of each opaque type."""

OPAQUE = frozenset(FIELDS)
"""Opaque types, whose variables are handles and have no numeric value."""

_WORDS = {
    "filter_mode": ("nearest", "linear"),
    **dict.fromkeys(_ADDRESSED, ("wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border")),
}


def fault_of_fields(value: Operand, type_name: str, name: str) -> str:
    """Return the fault of an initializer of an opaque type, or an empty string."""
    if not isinstance(value, Vector):
        return f"'{name}' is .{type_name}: its initializer must list fields in braces"
    return next((fault for part in value.elements if (fault := _fault(part, type_name, name))), "")


def _fault(part: Operand, type_name: str, name: str) -> str:
    match part:
        case Binary("=", Symbol(field), given):
            pass
        case _:
            return f"'{name}' is .{type_name}: its initializer must list fields as name = value"
    known = FIELDS[type_name]
    if field not in known:
        near = close_names(field, known, most=1)
        return f".{type_name} has no field '{field}'" + (f": did you mean {near[0]}?" if near else "")
    words = _WORDS.get(field, ())
    if words and isinstance(given, Symbol) and given.name not in words:
        return f"{field} must be {' or '.join(words)}, got {given.name}"
    return ""
