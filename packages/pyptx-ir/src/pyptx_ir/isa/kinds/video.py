"""Operands of video instructions: 32-bit registers, or parts of them. Manual: "Video Instructions".

The argument of each operand kind is a regular expression for the selectors that may follow the register.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.kind import OPERAND_TYPE, Kind, Mismatch, Use

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_REGISTERS = ("b32", "u32", "s32")
_EXAMPLES = ("b0", "h1", "h10", "b3210", "h23", "b7564")


def _mismatch_part(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check a 32-bit register, or the byte or half of a register that a selector names."""
    if shape[0] not in ("register", "part"):
        return Mismatch("a 32-bit integer register, or a part of one")
    if shape[0] == "register" and len(shape) > 2:
        return Mismatch("a scalar register, not a component of a vector register", OPERAND_TYPE)
    register, selector = str(shape[1]), str(shape[2]) if shape[0] == "part" else ""
    if register and register not in _REGISTERS:
        return Mismatch("a 32-bit integer register", OPERAND_TYPE)
    if selector and not re.fullmatch(argument, selector):
        return Mismatch(
            f"a register with a selector that fits {argument}" if argument else "a whole register, without a selector"
        )
    return None


def _mismatch_part_or_constant(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return None if shape == ("literal", "int") else _mismatch_part(argument, shape, use)


def _mismatch_signed(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    inner = cast("Shape", shape[1]) if shape[0] == "minus" else shape
    return _mismatch_part_or_constant(argument, inner, use)


def _mismatch_negative(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    if shape[0] != "minus":
        return Mismatch("a register with a minus sign")
    return _mismatch_part(argument, cast("Shape", shape[1]), use)


def _parts(argument: str, _use: Use, index: int) -> tuple[str, ...]:
    fitting = [selector for selector in _EXAMPLES if re.fullmatch(argument, selector)]
    return (f"%u32_{index}", *(f"%u32_{index}.{selector}" for selector in fitting))


def _negatives(argument: str, use: Use, index: int) -> tuple[str, ...]:
    return tuple(f"-{part}" for part in _parts(argument, use, index))


def _whole(_argument: str, _use: Use) -> tuple[str, ...]:
    """Return the type of an operand's register, also if the operand is a byte or half of it."""
    return ("b32",)


KINDS = (
    Kind("part", "a 32-bit register{}", _mismatch_part, _parts, types=_whole),
    Kind(
        "part_or_constant",
        "a 32-bit register{}, or a constant",
        _mismatch_part_or_constant,
        _parts,
        types=_whole,
    ),
    Kind(
        "signed_part",
        "a 32-bit register{}, optionally with a minus sign, or a constant",
        _mismatch_signed,
        lambda argument, use, index: (*_parts(argument, use, index), *_negatives(argument, use, index)),
        types=_whole,
    ),
    Kind(
        "negative_part",
        "a 32-bit register{}, with a minus sign",
        _mismatch_negative,
        _negatives,
        types=_whole,
    ),
)
