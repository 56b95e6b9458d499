"""Values of literals. Manual: "Constants"."""

from __future__ import annotations

from pyptx_ir.isa.constant_values import fault_of_integer, literal_value
from pyptx_sim.errors import ProgramError


def parse_literal(text: str) -> int | float:
    """Return the value of a literal; `0f` and `0d` literals become Python floats (NaN bits: `literal_bits`).

    Raises ProgramError for an integer of more than 64 bits, and for `08`, which is not octal.
    """
    value = literal_value(text)
    if value is None:
        raise ProgramError(fault_of_integer(text) or f"expected a number, got {text}")
    return value


def literal_bits(text: str) -> tuple[int, int] | None:
    """Return `(bits, byte size)` of a `0f` or `0d` literal, exact for every NaN, or None for any other literal."""
    negative, body = (True, text[1:]) if text.startswith("-") else (False, text)
    sizes = {"0f": (4, 10), "0d": (8, 18)}
    size, length = sizes.get(body[:2].lower(), (0, 0))
    if not size or len(body) != length:
        return None
    sign = 1 << (size * 8 - 1) if negative else 0
    return int.from_bytes(bytes.fromhex(body[2:])) ^ sign, size
