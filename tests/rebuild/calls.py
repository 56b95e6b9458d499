"""Calls as Python text. Arguments are values whose `repr` is Python: numbers, strings, lists, other calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyptx import types
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Mapping

_INTEGER = re.compile(r"(0|-?[1-9]\d*)\Z", re.ASCII)
_FLOATS = frozenset({"f32", "f64", "f32x2"})


class Code(str):
    """Python source text; its `repr` is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


def call(function: str, *arguments: object, **keywords: object) -> Code:
    """Return a Python call; keywords whose value is None are omitted."""
    given = [repr(each) for each in arguments]
    given += [f"{name}={value!r}" for name, value in keywords.items() if value is not None]
    return Code(f"{function}({', '.join(given)})")


def expression(operand: tree.Operand, names: Mapping[str, Code], opcode: tuple[str, ...] = ()) -> object:
    """Return an instruction's operand as Python; `names` maps registers to Python expressions."""
    match operand:
        case tree.Register(name) | tree.Symbol(name):
            return names.get(name, name)
        case tree.Immediate(text) if _INTEGER.match(text) and _FLOATS.isdisjoint(opcode):
            return int(text)
        case tree.Vector(elements):
            return [expression(each, names, opcode) for each in elements]
        case tree.CallList(elements):
            return tuple([expression(each, names) for each in elements])
        case tree.Pair(first, second):
            return call("reg.pair", expression(first, names), expression(second, names))
        case tree.Negated(tree.Register(name) | tree.Symbol(name)):
            return Code(f"~{names[name]}") if name in names else f"!{name}"
        case tree.Address(base=tree.Register() | tree.Symbol() as base, offset=offset):
            given = [] if offset is None else [expression(offset, names)]
            return call("ptx.addr", expression(base, names), *given)
        case tree.TensorAddress(elements):
            return call("ptx.tensor_addr", *[expression(each, names) for each in elements])
        case tree.Unified(address):
            return call("ptx.unified", expression(address, names))
        case _:
            return spell(operand)


def constant(operand: tree.Operand | str | None) -> object:
    """Return a declaration's constant as Python; strings get quotes, and a dimension without a size is 0."""
    match operand:
        case None:
            return 0
        case str():
            return f'"{operand}"'
        case tree.Vector((tree.Binary(op="="), *_) as fields):
            return {spell(each.left): constant(each.right) for each in fields if isinstance(each, tree.Binary)}
        case _:
            return expression(operand, {})


def dtype(name: str) -> object:
    """Return a PTX type as Python; a type without a Python name is a string."""
    return Code(name) if hasattr(types, name) else name


def variable(node: nodes.Variable) -> Code:
    """Return the Python call that declares a variable."""
    first, *others = node.declarators
    also = [call("ptx.declarator", each.name, **_declared(each)) for each in others]
    options = _options(node) | {"linking": node.linking, "also": also or None}
    return call("var", node.space, name=first.name, dtype=dtype(node.type), **_declared(first), **options)


def parameter(node: nodes.Parameter) -> Code:
    """Return the Python call that declares a parameter in a function header."""
    pointer = node.pointer
    options = _options(node)
    if pointer is not None:
        options |= {"ptr": pointer.space or True, "ptr_align": pointer.alignment}
    return call("ptx.parameter", node.name, dtype(node.type), size=_size(node), space=node.space, **options)


def header(function: str, *first: object, node: nodes.Function | nodes.CallPrototype, **options: object) -> Code:
    """Return the Python call that writes the header of a kernel entry, a function, or a prototype."""
    if isinstance(node, nodes.Function):
        options |= {"linking": node.linking, "attributes": _attributes(node.attributes)}
    given = None if node.parameters is None else [parameter(each) for each in node.parameters]
    directives = [(each.name, _value(each)) for each in node.directives]
    returns = [parameter(each) for each in node.returns]
    return call(function, *first, given, returns=returns or None, directives=directives or None, **options)


def _declared(node: nodes.Declarator) -> dict[str, object]:
    init = None if node.initializer is None else constant(node.initializer)
    return {"size": _size(node), "init": init, "count": node.count}


def _options(node: nodes.Variable | nodes.Parameter) -> dict[str, Any]:
    vector = None if node.vector is None else int(node.vector[1:])
    return {"align": node.alignment, "vector": vector, "attributes": _attributes(node.attributes)}


def _size(node: nodes.Declarator | nodes.Parameter) -> object:
    return tuple([constant(each) for each in node.dimensions]) or None


def _attributes(given: tuple[nodes.Attribute, ...]) -> object:
    return [(each.name, *map(constant, each.arguments)) for each in given] or None


def _value(node: nodes.HeaderDirective) -> object:
    """Return the arguments of a header directive; True if the directive has no argument."""
    return tuple([each if isinstance(each, str) else constant(each) for each in node.arguments]) or True
