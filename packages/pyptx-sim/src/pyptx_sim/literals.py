"""The values of literals. Manual: "Constants"."""

from __future__ import annotations

import struct

from pyptx_ir.isa.limits import fault_of_integer
from pyptx_ir.syntax import lexemes
from pyptx_sim.errors import ProgramError

WARP_SIZE = 32
_MASK64 = (1 << 64) - 1
_MOST64 = _MASK64 >> 1  # of .s64


class Unsigned(int):
    """An integer constant of type .u64; any other integer is .s64. Manual: "Integer Constants"."""

    __slots__ = ()


def integer(value: int, *, unsigned: bool) -> int:
    """Return the value of 64 bits as one of the two types of integers."""
    value &= _MASK64
    if unsigned:
        return Unsigned(value)
    return value - (1 << 64) if value > _MOST64 else value


def parse_literal(text: str) -> int | float:
    """Return the value of a literal; `0f` and `0d` become floats (their bits survive: see `literal_bits`).

    Raises ProgramError for an integer of more than 64 bits, and for `08`, which is not octal.
    """
    negative, body = (True, text[1:]) if text.startswith("-") else (False, text)
    value = _parse_magnitude(body)
    if isinstance(value, int):
        unsigned = value > _MOST64 or body[-1] in "uU"
        return integer(-value if negative else value, unsigned=unsigned)
    return -value if negative else value


def _parse_magnitude(body: str) -> int | float:
    lowered = body.lower()
    if lowered == "warp_sz":
        return WARP_SIZE
    if lowered.startswith("0f") and len(body) == 10:
        return float(struct.unpack(">f", bytes.fromhex(body[2:]))[0])
    if lowered.startswith("0d") and len(body) == 18:
        return float(struct.unpack(">d", bytes.fromhex(body[2:]))[0])
    if not lowered.startswith("0x") and ("." in body or "e" in lowered):
        return float(body)
    fault = fault_of_integer(lowered.rstrip("u"))
    if fault:
        raise ProgramError(fault)
    return lexemes.integer(lowered.rstrip("u"))


def literal_bits(text: str) -> tuple[int, int] | None:
    """Return `(bits, byte size)` of a `0f` or `0d` literal, exact for every NaN, or None for any other literal."""
    negative, body = (True, text[1:]) if text.startswith("-") else (False, text)
    sizes = {"0f": (4, 10), "0d": (8, 18)}
    size, length = sizes.get(body[:2].lower(), (0, 0))
    if not size or len(body) != length:
        return None
    sign = 1 << (size * 8 - 1) if negative else 0
    return int.from_bytes(bytes.fromhex(body[2:])) ^ sign, size
