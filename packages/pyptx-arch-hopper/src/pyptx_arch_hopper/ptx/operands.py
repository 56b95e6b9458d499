"""Operands of bulk copies: those that may be left out, and sizes."""

from __future__ import annotations

from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.operands import as_integer

__all__ = ["copied_bytes", "present"]

_UNIT = 16


def present(*operands: object | None) -> tuple[object, ...]:
    """Return the operands that are given."""
    return tuple([operand for operand in operands if operand is not None])


def copied_bytes(size: object) -> object:
    """Refuse a constant size that no bulk copy has; one in a register is the user's promise."""
    number = as_integer(size)
    if number is not None and (number % _UNIT or number < 0):
        raise OperandError(f"a bulk copy of {size!r} bytes", hint=f"it copies multiples of {_UNIT}")
    return size
