"""Operands that are registers or literals of one type. Manual: "Operand Type Checking", "Constants"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import OPERAND_KIND, OPERAND_TYPE, Kind, Mismatch, Use
from pyptx_ir.isa.limits import Limits, limits_of_type
from pyptx_ir.isa.scalar_types import HELD_BY, SIZES, doubled, is_bits, is_float, is_integer, takes, takes_immediate

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_INT32 = ("b32", "u32", "s32")
_POINTERS = (*_INT32, "b64", "u64", "s64", "")


def type_mismatch(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a register or literal of exactly the type in the operand kind's argument."""
    return _mismatch(use.word(argument), shape, use, relaxed=False)


def _mismatch_relaxed(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return _mismatch(use.word(argument), shape, use, relaxed=True)


def _mismatch_wide(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return _mismatch(doubled(use.word(argument)), shape, use, relaxed=False)


def _mismatch(type_name: str, shape: Shape, use: Use, *, relaxed: bool) -> Mismatch | None:
    fits = False
    if shape[0] == "register":
        fits = shape[1] == "" or takes(type_name, str(shape[1]), relaxed=relaxed)
    elif shape[0] == "literal":
        fits = not use.place.written and takes_immediate(type_name, str(shape[1]))
    elif shape[0] == "special":
        fits = use.place.special and not use.place.written and _takes_special(type_name, shape[1:], relaxed=relaxed)
    if fits:
        return None
    code = OPERAND_TYPE if _is_value(shape, use) else OPERAND_KIND
    return Mismatch(f"a {_registers(type_name, relaxed=relaxed)}{_literals(type_name, use)}", code)


def _is_value(shape: Shape, use: Use) -> bool:
    """Return whether an operand is a register, or a literal that the instruction only reads."""
    return shape[0] == "register" or (shape[0] == "literal" and not use.place.written)


def _takes_special(type_name: str, special: Shape, *, relaxed: bool) -> bool:
    """Return whether an operand of `type_name` accepts a special register, given its type and former types."""
    return not is_float(type_name) and any(takes(type_name, str(each), relaxed=relaxed) for each in special)


def _mismatch_bits(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check an untyped register of exactly `argument` bits."""
    if shape[0] == "register" and shape[1] in (f"b{argument}", ""):
        return None
    return Mismatch(f"a .b{argument} register", OPERAND_TYPE if shape[0] in ("register", "literal") else OPERAND_KIND)


def _registers(type_name: str, *, relaxed: bool) -> str:
    held = HELD_BY.get(type_name) or tuple(name for name in SIZES if takes(type_name, name) and name != "f16x2")
    wider = " (or wider)" if relaxed and type_name not in HELD_BY else ""
    return f"{' or '.join('.' + name for name in held)} register{wider}"


def _literals(type_name: str, use: Use) -> str:
    if use.place.written:
        return ""
    if is_bits(type_name):
        return " or a literal"
    if is_integer(type_name) or type_name == "pred":
        return " or an integer literal"
    return " or a floating-point literal (1.0, 0f3F800000)" if is_float(type_name) else ""


def _register(type_name: str, index: int) -> tuple[str, ...]:
    return (f"%{HELD_BY[type_name][-1] if type_name in HELD_BY else type_name}_{index}",)


def _limits(argument: str, use: Use) -> Limits | None:
    return limits_of_type(use.word(argument))


def _mismatch_any(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    return None if shape[0] in ("register", "literal") else Mismatch("a register or a literal")


def _mismatch_imm(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    return None if shape == ("literal", "int") else Mismatch("an integer constant")


def _mismatch_pointer(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    if shape[0] == "register" and shape[1] in _POINTERS:
        return None
    code = OPERAND_TYPE if shape[0] == "register" else OPERAND_KIND
    return Mismatch("an integer register of 32 or 64 bits", code)


def _mismatch_int32(_argument: str, shape: Shape, use: Use) -> Mismatch | None:
    if shape == ("literal", "int") and not use.place.written:
        return None
    if shape[0] == "register" and shape[1] in (*_INT32, ""):
        return None
    code = OPERAND_TYPE if _is_value(shape, use) else OPERAND_KIND
    return Mismatch(f"a 32-bit integer register{'' if use.place.written else ' or literal'}", code)


KINDS = (
    Kind(
        "typed",
        "a register or literal of type {}",
        type_mismatch,
        lambda argument, use, index: _register(use.word(argument), index),
        _limits,
        types=lambda argument, use: (use.word(argument),),
    ),
    Kind(
        "bits",
        "an untyped register of {} bits",
        _mismatch_bits,
        lambda argument, _use, index: (f"%b{argument}_{index}",),
        types=lambda argument, _use: (f"b{argument}",),
    ),
    Kind(
        "relaxed",
        "a register or literal of type {}, or a wider register",
        _mismatch_relaxed,
        lambda argument, use, index: _register(use.word(argument), index),
        _limits,
        types=lambda argument, use: (use.word(argument),),
    ),
    Kind(
        "wide",
        "a register or literal of twice the width of {}",
        _mismatch_wide,
        lambda argument, use, index: _register(doubled(use.word(argument)), index),
        types=lambda argument, use: (doubled(use.word(argument)),),
    ),
    Kind("any", "a register or literal of any type", _mismatch_any, lambda _argument, _use, index: (f"%u32_{index}",)),
    Kind(
        "imm",
        "an integer constant",
        _mismatch_imm,
        lambda _argument, use, _index: _constants(use, "1"),
    ),
    Kind(
        "pointer",
        "an integer register that can hold an address",
        _mismatch_pointer,
        lambda _argument, _use, index: (f"%u64_{index}",),
    ),
    Kind(
        "int32",
        "a 32-bit integer register or constant",
        _mismatch_int32,
        lambda _argument, use, index: (f"%u32_{index}", *(_constants(use, "") if use.place.limits else ())),
        lambda _argument, _use: limits_of_type("b32"),
        types=lambda _argument, _use: ("u32",),
    ),
)


def _constants(use: Use, otherwise: str) -> tuple[str, ...]:
    limits = use.place.limits
    return tuple(map(str, limits.inside())) if limits else (otherwise,)
