"""Operand shapes: hashable values with the properties that checks use, so that results are cached per shape.

A shape is a tuple: `("register", type)`, `("register", type, "component")` (of a vector register), `("special", type,
former types…)` (`"v4"` for `%tid` as a whole), `("literal", "int" | "single" | "double")`, `("symbol", what)`
(`("symbol", "", type)` of a register plus a number), `("element", what)` (of an array; `("element", what, type)` if the
index is a register of an invalid type), `("address", type or what)`, `("address", "literal", "int" | …)`, `("unified",
shape)` (of an address), `("bracket", shape, …)`, `("sink",)`, `("negated", shape)`, `("minus", shape)` (of a register),
`("part", type, selector)` (of a scalar register, in video instructions), `("pair", shape, shape)`, `("vector", shape,
…)`, `("list", shape, …)`. A register of unknown type has the type `""`, which matches everywhere. The *what* of a
symbol is `".shared"` (a variable there), `".label"`, `".func"`, … or `""`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax.operands import (
    Address,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Operand,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Former types of special registers, which are still accepted: %tid, … until PTX 2.0, %gridid until 3.0.
_FORMER_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("%tid", "%ntid", "%ctaid", "%nctaid"), ("u16",)),
    "%gridid": ("u32", "u16"),
}

# Register types that are invalid as an array index: neither integers nor untyped bits of 16, 32 or 64.
_NO_INDICES = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "pred", "b128", "part"})

_CODE = frozenset({".label", ".targets", ".func", ".entry"})
_NAMES = (Register, Symbol)  # a tuple for isinstance: the union `Register | Symbol` would be built at each call

Shape: TypeAlias = "tuple[str | Shape, ...]"
Declared: TypeAlias = "Callable[[str], str | None]"


def shape_of(operand: Operand, declared: Declared) -> Shape:
    """Return the shape (a hashable tuple, see the module) of `operand`.

    `declared(name)` is the type of a register, `"u32"`, or `"v4.u32"` for a vector register, whose shape is that of its
    elements in braces. For other names it is the kind with a leading dot (`".global"`, …, `".label"`, `".func"`,
    `".entry"`, `".targets"`, `".texref"`, `".samplerref"`, `".surfref"`); None if the name is unknown.
    """
    return _SHAPES.get(operand.__class__, _other)(operand, declared)


def literal_kind(text: str) -> str:
    """Return the kind of a literal: `"int"`, `"single"` (`0f…`) or `"double"` (`0d…`, or with point or exponent)."""
    digits = text.lstrip("+-").lower()
    if digits.startswith("0f"):
        return "single"
    if digits.startswith("0x") or digits == "warp_sz":
        return "int"
    return "double" if digits.startswith("0d") or "." in digits or "e" in digits else "int"


def _named(name: str, declared: Declared, otherwise: str) -> Shape:
    known = declared(name)
    if known == "" and "." in name:
        return _part(name, declared)
    if known is not None:
        if known[:1] == ".":
            return ("symbol", known)
        length, _, element = known.partition(".")
        if element:
            return ("vector", *[("register", element)] * int(length[1:]))
        return ("register", known, "component") if "." in name else ("register", known)
    base, point, _ = name.partition(".")
    if point and declared(base) is not None:
        return _part(name, declared)
    special = special_registers().get(name)
    if special is not None:
        return ("special", special, *_FORMER_TYPES.get(base, ()))
    if f"{name}.x" in special_registers():
        return ("special", "v4")
    return ("register", "") if otherwise == "register" else ("symbol", "")


def _part(name: str, declared: Declared) -> Shape:
    """Return the shape of a byte or half of a scalar register, or of a component of a vector register."""
    base, _, selector = name.partition(".")
    whole = declared(base)
    return ("part", whole, selector) if whole and whole[0] != "." else ("register", "")


def _address(operand: Address, declared: Declared) -> Shape:
    base = operand.base
    if isinstance(base, _NAMES):
        return ("address", declared(base.name) or "")
    constant = shape_of(base, declared)
    return ("address", *constant) if constant[0] == "literal" else ("address", "")


def _listed(word: str, elements: tuple[Operand, ...], declared: Declared) -> Shape:
    return (word, *[_SHAPES.get(element.__class__, _other)(element, declared) for element in elements])


def _unary(operand: Unary, declared: Declared) -> Shape:
    if operand.op == "-" and isinstance(operand.operand, Register | Symbol):
        return ("minus", shape_of(operand.operand, declared))
    return _constant(operand, declared)


def _constant(operand: Operand, declared: Declared) -> Shape:
    if _is_constant(operand):
        return ("literal", _constant_kind(operand))
    while isinstance(operand, Binary):
        operand = operand.left
    if not isinstance(operand, _NAMES):
        return ("symbol", "")
    known = declared(operand.name)
    if known is None:
        return ("symbol", ".special") if operand.name in special_registers() else ("symbol", "")
    # ptxas adds integers to the address of a variable, but not of a function or label: those have the shape of a label.
    if known in _CODE:
        return ("symbol", ".label")
    if known[:1] != ".":
        return ("symbol", "", known) if known else ("symbol", "")
    # A texture, sampler or surface is a variable in .global; only its plain name is its handle.
    return ("symbol", ".global" if known.endswith("ref") else known)


def _constant_kind(operand: Operand) -> str:
    """Return the literal kind of a constant expression's value; comparisons of floats are integers."""
    match operand:
        case Immediate(text):
            return literal_kind(text)
        case Parenthesized(inner):
            return _constant_kind(inner)
        case Unary("+" | "-", inner) | Binary("+" | "-" | "*" | "/", inner, _):
            return "int" if _constant_kind(inner) == "int" else "double"
        case _:
            return "int"


def _element(operand: Index, declared: Declared) -> Shape:
    index = operand.index.left if isinstance(operand.index, Binary) else operand.index
    what = (declared(operand.base.name) or "") if isinstance(operand.base, _NAMES) else ""
    if not isinstance(index, _NAMES):
        return ("element", what)
    known = "part" if "." in index.name else declared(index.name) or ""
    return (
        ("element", what, known)
        if known in _NO_INDICES or known in _CODE or known.startswith("v")
        else ("element", what)
    )


def _other(_operand: Operand, _declared: Declared) -> Shape:
    return ("symbol", "")


def _is_constant(operand: Operand) -> bool:
    """Return whether a constant expression is a number that does not depend on the address of a variable."""
    match operand:
        case Immediate():
            return True
        case Unary(_, inner) | Parenthesized(inner):
            return _is_constant(inner)
        case Binary(_, left, right):
            return _is_constant(left) and _is_constant(right)
        case Ternary(condition, then, otherwise):
            return _is_constant(condition) and _is_constant(then) and _is_constant(otherwise)
        case Index():
            return False
        case _:
            return False


# Any: the function stored for an operand class takes only that class, which a dictionary's type cannot express.
_SHAPES: dict[type, Callable[[Any, Declared], Shape]] = {
    Register: lambda operand, declared: _named(operand.name, declared, "register"),
    Symbol: lambda operand, declared: _named(operand.name, declared, "symbol"),
    Immediate: lambda operand, _: ("literal", literal_kind(operand.text)),
    Address: _address,
    Unified: lambda operand, declared: ("unified", shape_of(operand.address, declared)),
    TensorAddress: lambda operand, declared: _listed("bracket", operand.elements, declared),
    Vector: lambda operand, declared: _listed("vector", operand.elements, declared),
    Pair: lambda operand, declared: _listed("pair", (operand.first, operand.second), declared),
    Negated: lambda operand, declared: ("negated", shape_of(operand.operand, declared)),
    Sink: lambda _, __: ("sink",),
    CallList: lambda operand, declared: _listed("list", operand.elements, declared),
    Unary: _unary,
    Binary: _constant,
    Ternary: _constant,
    Parenthesized: _constant,
    Index: _element,
}
