"""Check initializers: position, shape and type. Measured on ptxas 13.5; manual: "Initializers"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.constants import ADDRESS, FLOAT, FUNCTION, INTEGER, MASKED, of_literal, of_value
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.opaque_fields import OPAQUE, fault_of_fields
from pyptx_ir.isa.modules.scopes import UNDECLARED
from pyptx_ir.isa.modules.sizes import value_of
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Immediate, Vector

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Declarator, Variable
    from pyptx_ir.syntax.operands import Operand

_SPACES = frozenset({"global", "const"})
_LENGTHS = {"v2": 2, "v4": 4}
_WORDS = {FLOAT: "floating-point number", FUNCTION: "function's address"}
# Kinds of initializer values that a variable's type accepts. Untyped bits accept numbers; few types accept addresses.
_NUMBERS, _ADDRESSES = frozenset({INTEGER, FLOAT}), frozenset({INTEGER, ADDRESS, FUNCTION, MASKED})
_TAKEN: dict[str, frozenset[str]] = {
    **dict.fromkeys(("u32", "u64"), _ADDRESSES),
    "u8": frozenset({INTEGER, MASKED}),
    **dict.fromkeys(("u16", "s8", "s16", "s32", "s64"), frozenset({INTEGER})),
    **dict.fromkeys(("f32", "f64"), frozenset({FLOAT})),
}


def initializer(walk: Walk, node: Variable) -> None:
    """Check the initializers of a declaration, including the names in them."""
    for entry in node.declarators:
        if entry.initializer is None:
            continue
        names = names_of(entry.initializer)
        for name in names:
            if walk.scope[name] == UNDECLARED and name != entry.name:
                message = f"'{name}' is not declared before its use in an initializer"
                walk.report(Finding("undefined-variable", message, "declare the name above, or correct it", word=name))
        message = _fault(node, entry, {name: walk.scope[name] or "" for name in names})
        if message:
            help = "correct the initializer, or store the values in the kernel"
            walk.report(Finding("initializer", message, help, word=entry.name))


def _fault(node: Variable, entry: Declarator, kinds: dict[str, str]) -> str:
    value = entry.initializer
    if value is None:
        return ""
    if entry.count is not None:
        return f"initializer of '{entry.name}<{entry.count}>': a declaration of several variables cannot have one"
    if node.type in OPAQUE:
        return fault_of_fields(value, node.type, entry.name)
    if node.space.partition("[")[0] not in _SPACES or node.linking == "extern":
        where = "is .extern" if node.linking == "extern" else f"is in .{node.space}"
        return f"'{entry.name}' can't be initialized: it {where}"
    if node.type in ("f16", "f16x2"):
        bits = "b16" if node.type == "f16" else "b32"
        return f"'{entry.name}' can't be initialized: ptxas has no .{node.type} literals; declare it .{bits}"
    # An array with 0 as first dimension is like one with empty brackets: any number of initializer elements is valid.
    sizes: list[int | None] = [value_of(size) or (None if i == 0 else 0) for i, size in enumerate(entry.dimensions)]
    if node.vector:
        sizes.append(_LENGTHS.get(node.vector))
    return _shape(value, sizes, entry.name, is_vector=bool(node.vector)) or _values(value, entry.name, node.type, kinds)


def _shape(value: Operand, sizes: list[int | None], name: str, *, is_vector: bool) -> str:
    """Compare one level of braces with one array dimension; the last dimension of a vector must be full."""
    if not sizes:
        return f"initializer of '{name}' has more braces than dimensions" if isinstance(value, Vector) else ""
    if not isinstance(value, Vector):
        return f"'{name}' is an array: its initializer needs one pair of braces per dimension"
    count = len(value.elements)
    if sizes[0] is not None and count > sizes[0]:
        return f"too many initializer values for '{name}': expected {sizes[0]}, got {count}"
    if len(sizes) > 1:
        inner = (_shape(element, sizes[1:], name, is_vector=is_vector) for element in value.elements)
        return next((fault for fault in inner if fault), "")
    if is_vector and count != sizes[0]:
        return f"wrong number of initializer values for vector '{name}': expected {sizes[0]}, got {count}"
    nested = any(isinstance(element, Vector) for element in value.elements)
    return f"initializer of '{name}' has more braces than dimensions" if nested else ""


def _values(value: Operand, name: str, type_name: str, kinds: dict[str, str]) -> str:
    """Check the numbers and addresses in an initializer; each of several equal literals is checked once."""
    taken = _TAKEN.get(type_name, _NUMBERS)
    for one in _different(value):
        kind, fault = of_literal(one.text) if isinstance(one, Immediate) else of_value(one, kinds)
        if not kind:
            return f"'{name}' can't be initialized: {fault}"
        if kind in taken:
            continue
        spelt = one.text if isinstance(one, Immediate) else "the initializer"
        if kind == INTEGER and isinstance(one, Immediate):
            return f"'{name}' is .{type_name}, but {spelt} is an integer: write {spelt}.0"
        article = "an" if kind[0] in "aeiou" else "a"
        return f"'{name}' is .{type_name}, but {spelt} is {article} {_WORDS.get(kind, kind)}"
    return ""


def _different(value: Operand) -> list[Operand]:
    """Return the elements in the braces of an initializer, with equal literals only once."""
    literals: dict[str, Operand] = {}
    others: list[Operand] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Vector):
            pending += one.elements
        elif isinstance(one, Immediate):
            literals[one.text] = one
        else:
            others.append(one)
    return [*literals.values(), *others]
