"""Initialisers: where there may be one, of which shape, of which type. Asked of ptxas 13.5; manual: "Initializers"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.limits import constant_value
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.operand_names import names_of
from pyptx_ir.isa.modules.scopes import UNDECLARED
from pyptx_ir.isa.modules.sizes import value_of
from pyptx_ir.isa.scalar_types import is_float
from pyptx_ir.syntax.operands import Immediate, Vector

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Declarator, Variable
    from pyptx_ir.syntax.operands import Operand

_SPACES = frozenset({"global", "const"})
_OPAQUE = frozenset({"texref", "samplerref", "surfref"})
_LENGTHS = {"v2": 2, "v4": 4}


def initializer(walk: Walk, node: Variable) -> None:
    """Check the initialisers of a declaration, the names in them included."""
    for entry in node.declarators:
        if entry.initializer is None:
            continue
        for name in names_of(entry.initializer):
            if walk.scope[name] == UNDECLARED:
                message = f"'{name}' is not declared above the variable that it initialises"
                walk.report(Finding("undefined-variable", message, "declare it above, or correct the name", word=name))
        message = _fault(node, entry)
        if message:
            hint = "correct the initialiser, or store the values from the program"
            walk.report(Finding("initializer", message, hint, word=entry.name))


def _fault(node: Variable, entry: Declarator) -> str:
    value = entry.initializer
    if value is None or node.type in _OPAQUE:
        return ""
    if node.space.partition("[")[0] not in _SPACES or node.linking == "extern":
        where = "an .extern variable" if node.linking == "extern" else f".{node.space} memory"
        return f"'{entry.name}' can't be initialised: {where} has no contents of its own"
    if node.type == "f16":
        return f"'{entry.name}' can't be initialised: ptxas has no literals of .f16; declare it .b16"
    sizes: list[int | None] = [value_of(size) for size in entry.dimensions]
    if node.vector:
        sizes.append(_LENGTHS.get(node.vector))
    return _shape(value, sizes, entry.name, node.type)


def _shape(value: Operand, sizes: list[int | None], name: str, type_name: str) -> str:
    """Compare one level of braces with one dimension."""
    if not sizes:
        if isinstance(value, Vector):
            return f"'{name}' has more braces than dimensions"
        if is_float(type_name) and isinstance(value, Immediate) and constant_value(value) is not None:
            return f"'{name}' is .{type_name}, and {value.text} an integer: write {value.text}.0"
        return ""
    if not isinstance(value, Vector):
        return f"'{name}' is an array: its initialiser stands in braces, one pair for each dimension"
    if sizes[0] is not None and len(value.elements) > sizes[0]:
        return f"'{name}' has {sizes[0]} elements, and its initialiser {len(value.elements)}"
    if len(sizes) == 1 and not is_float(type_name):
        nested = any(isinstance(element, Vector) for element in value.elements)
        return f"'{name}' has more braces than dimensions" if nested else ""
    return next((fault for element in value.elements if (fault := _shape(element, sizes[1:], name, type_name))), "")
