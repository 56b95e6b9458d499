"""Operands of bulk copies: optional operands, and sizes."""

from __future__ import annotations

from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.operands import as_integer

__all__ = ["copied_bytes", "present"]

_UNIT = 16


def present(*operands: object | None) -> tuple[object, ...]:
    """Return the optional operands that are given (not None)."""
    return tuple([operand for operand in operands if operand is not None])


def copied_bytes(size: object) -> object:
    """Return the size operand of a bulk copy; raise OperandError for an invalid constant, but not for a register."""
    number = as_integer(size)
    if number is not None and (number % _UNIT or number < 0):
        raise OperandError(f"invalid size of a bulk copy: {size!r} bytes", help=f"use a multiple of {_UNIT}")
    return size
