"""Operands that may be the address of a name. Manual: "mov", "cvta", "Labels and Function Names as Operands"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.addresses import spaces_named
from pyptx_ir.isa.kinds.kind import ADDRESS_SPACE, OPERAND_KIND, OPERAND_TYPE, Kind, Mismatch, Use
from pyptx_ir.isa.kinds.scalars import type_mismatch
from pyptx_ir.isa.limits import Limits, limits_of_type
from pyptx_ir.isa.scalar_types import is_bits, is_float, is_integer

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_HANDLES = (".texref", ".samplerref", ".surfref")
_PLACES = (".label", ".targets")


def _mismatch_sum(type_name: str, shape: Shape) -> Mismatch | None:
    """Check a sum of a register and a number: ptxas checks the register's class (integer or float), not its width."""
    register = str(shape[2]) if shape[0] == "symbol" and len(shape) > 2 else ""
    fits = register != "pred" and not (is_integer(type_name) and is_float(register))
    return None if fits else Mismatch("a sum with an integer or untyped register", OPERAND_TYPE)


def _mismatch_movable(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a source of mov: a value of the type, or the address of a variable or function, as an integer."""
    type_name = use.word(argument)
    if shape[0] not in ("symbol", "element"):
        return type_mismatch(argument, shape, use)
    what = str(shape[1])
    if what in _PLACES:
        return Mismatch("a value, or the name of a variable or function, not a label", OPERAND_KIND)
    if what in _HANDLES:
        return None if type_name == "u64" else Mismatch("a .u64 handle: mov.u64", OPERAND_TYPE)
    if is_integer(type_name) or is_bits(type_name):
        return _mismatch_sum(type_name, shape)
    return Mismatch("a value: addresses are integers", OPERAND_TYPE)


def _mismatch_variable(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check an address in a state space: a register or constant, or the name of a variable in that space."""
    if shape[0] not in ("symbol", "element"):
        return type_mismatch(argument, shape, use)
    what, spaces = str(shape[1]).removeprefix("."), spaces_named(use)
    if not what or what in spaces:
        return _mismatch_sum(use.word(argument), shape)
    return Mismatch(f"a variable in {' or '.join('.' + space for space in sorted(spaces))} memory", ADDRESS_SPACE)


def _register(argument: str, use: Use, index: int) -> tuple[str, ...]:
    return (f"%{use.word(argument)}_{index}",)


def _limits(argument: str, use: Use) -> Limits | None:
    return limits_of_type(use.word(argument))


KINDS = (
    Kind(
        "movable",
        "a register, literal or special register of type {}, or the name of a variable or function",
        _mismatch_movable,
        _register,
        _limits,
        types=lambda argument, use: (use.word(argument),),
    ),
    Kind(
        "variable",
        "a register or literal of type {}, or the name of a variable in the state space of the opcode",
        _mismatch_variable,
        _register,
        _limits,
    ),
)
