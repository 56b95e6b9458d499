"""Scalar types, and the registers that an operand of a type accepts.

Manual: "Operand Type Checking", "Operand Size Exceeding Instruction-Type Size" (tables of relaxed type checking),
"Packed Data Types". The rules were measured on ptxas 13.0 for each register type. Where ptxas is less strict than the
manual (an `.f16x2` register as a predicate), the rule is the manual's.
"""

from __future__ import annotations

SIZES: dict[str, int] = {
    f"{kind}{bits}": bits
    for kind, sizes in (("b", (8, 16, 32, 64, 128)), ("u", (8, 16, 32, 64)), ("s", (8, 16, 32, 64)))
    for bits in sizes
} | {"f16": 16, "f32": 32, "f64": 64, "f16x2": 32}

# PTX types that no register can be declared with, and the types of the registers that hold their values.
HELD_BY: dict[str, tuple[str, ...]] = {
    "pred": ("pred",),
    "f16x2": ("f16x2", "b32"),
    "u16x2": ("f16x2", "b32"),
    "s16x2": ("f16x2", "b32"),
    "u8x4": ("b32",),
    "s8x4": ("b32",),
    "bf16": ("b16",),
    "bf16x2": ("b32",),
    "f32x2": ("b64",),
    "tf32": ("b32",),
    "e4m3x2": ("b16",),
    "e5m2x2": ("b16",),
    "e2m3x2": ("b16",),
    "e3m2x2": ("b16",),
    "ue8m0x2": ("b16",),
    "ue5m3x2": ("b16",),
    "s2f6x2": ("b16",),
    "e2m1x2": ("b8",),
    "e4m3x4": ("b32",),
    "e5m2x4": ("b32",),
    "e2m3x4": ("b32",),
    "e3m2x4": ("b32",),
    "e2m1x4": ("b16",),
    "e2m1p4x4": ("b32",),
    "ue8m0x4": ("b32",),
}

# Matrix element types, single or packed, and block scale factor types; no register has such a type.
_ELEMENTS: dict[str, int] = {
    "b1": 1,
    **dict.fromkeys(("u2", "s2"), 2),
    **dict.fromkeys(("u4", "s4", "e2m1"), 4),
    **dict.fromkeys(("e3m2", "e2m3"), 6),
    **dict.fromkeys(("e4m3", "e5m2", "ue8m0", "ue4m3"), 8),
}

WIDTHS: dict[str, int] = SIZES | _ELEMENTS | {name: SIZES.get(held[-1], 1) for name, held in HELD_BY.items()}
"""Bits of every type; a packed type has the bits of its register, a predicate has one bit."""

TYPES: frozenset[str] = frozenset(WIDTHS)

_INTEGERS = ("u", "s")


def is_float(name: str) -> bool:
    """Return whether `name` is a floating-point type of registers."""
    return name in ("f16", "f32", "f64")


def is_integer(name: str) -> bool:
    """Return whether `name` is a signed or unsigned integer type."""
    return name in SIZES and name[0] in _INTEGERS


def is_bits(name: str) -> bool:
    """Return whether `name` is an untyped-bits type."""
    return name in SIZES and name[0] == "b"


def doubled(name: str) -> str:
    """Return the type of twice the width of a type: `u32` of `u16`."""
    return f"{name[0]}{2 * SIZES[name]}"


def takes(type_name: str, register: str, *, relaxed: bool = False) -> bool:
    """Return whether an operand of `type_name` accepts a register of type `register`.

    `relaxed` is the rule of ld, st and cvt: the register may be wider than the type.
    """
    if type_name in HELD_BY:
        return register in HELD_BY[type_name] or (relaxed and type_name == "f16x2" and register == "b64")
    if register not in SIZES or not _fits(type_name, register, relaxed=relaxed):
        return False
    if is_bits(type_name):
        return True
    if is_float(type_name):
        return register == type_name or is_bits(register)
    return not is_float(register)


def _fits(type_name: str, register: str, *, relaxed: bool) -> bool:
    if relaxed:
        return SIZES[register] >= SIZES[type_name]
    return SIZES[register] == SIZES[type_name]


def takes_immediate(type_name: str, literal: str) -> bool:
    """Return whether an operand of `type_name` accepts a literal: `"int"`, `"single"` (`0f…`) or `"double"`."""
    if literal == "single":
        return type_name in ("f32", "f64", "b32")
    if literal == "double":
        return type_name in ("f32", "f64", "b64")
    return is_integer(type_name) or is_bits(type_name) or type_name == "pred"
