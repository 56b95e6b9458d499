"""Operands, and the arguments of declarations, as Python expressions of public names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = re.compile(r"(0|-?[1-9]\d*)\Z", re.ASCII)
_FLOATS = frozenset({"f32", "f64", "f32x2"})
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d*)\Z", re.ASCII)


class Registers:
    """Which Python expression holds a register, scope by scope."""

    def __init__(self) -> None:
        """Start outside of all functions."""
        self._scopes: list[dict[str, tuple[str, int | None]]] = [{}]

    def enter(self) -> None:
        """Open a scope."""
        self._scopes.append({})

    def leave(self) -> None:
        """Close a scope."""
        self._scopes.pop()

    def declare(self, name: str, count: int | None, variable: str) -> None:
        """Note that a variable holds a register, or a bank."""
        self._scopes[-1][name] = (variable, count)

    def find(self, name: str) -> str | None:
        """Return the expression of a register, or None."""
        for scope in reversed(self._scopes):
            if (held := scope.get(name)) and held[1] is None:
                return held[0]
            for stem, number in _split(name):
                held = scope.get(stem)
                if held and held[1] is not None and number < held[1]:
                    return f"{held[0]}[{number}]"
        return None

    def expression(self, operand: tree.Operand, opcode: tuple[str, ...] = ()) -> str:
        """Return what is written for an operand of an instruction."""
        match operand:
            case tree.Register(name) | tree.Symbol(name):
                return self.find(name) or repr(name)
            case tree.Immediate(text):
                return text if WHOLE.match(text) and _FLOATS.isdisjoint(opcode) else repr(text)
            case tree.Vector(elements):
                return f"[{self.expressions(elements, opcode)}]"
            case tree.CallList(elements):
                return f"({self.expressions(elements, opcode)}{',' if len(elements) == 1 else ''})"
            case tree.Pair(first, second):
                return f"reg.pair({self.expression(first)}, {self.expression(second)})"
            case tree.Negated(tree.Register(name) | tree.Symbol(name)):
                found = self.find(name)
                return f"~{found}" if found else repr(f"!{name}")
            case tree.Address(base=tree.Register() | tree.Symbol() as base, offset=offset):
                more = "" if offset is None else f", {self.expression(offset)}"
                return f"ptx.addr({self.expression(base)}{more})"
            case tree.TensorAddress(elements):
                return f"ptx.tensor_addr({self.expressions(elements)})"
            case tree.Unified(address):
                return f"ptx.unified({self.expression(address)})"
            case _:
                return repr(spell(operand))

    def expressions(self, operands: Iterable[tree.Operand], opcode: tuple[str, ...] = ()) -> str:
        """Return operands with commas between them."""
        return ", ".join([self.expression(each, opcode) for each in operands])


def _split(name: str) -> Iterable[tuple[str, int]]:
    """Yield the banks that a name may belong to: of `%r12`, the 12th of `%r` and the second of `%r1`."""
    digits = len(name) - len(name.rstrip("0123456789"))
    for length in range(digits, 0, -1):
        number = name[-length:]
        if number == "0" or number[0] != "0":
            yield name[:-length], int(number)


def constant(operand: tree.Operand | str | None) -> str:
    """Return what is written for a constant of a declaration; a dimension that is left open is 0."""
    match operand:
        case None:
            return "0"
        case str():
            return repr(f'"{operand}"')
        case tree.Immediate(text) if WHOLE.match(text):
            return text
        case tree.Vector(elements) if any(isinstance(each, tree.Binary) and each.op == "=" for each in elements):
            return f"{{{', '.join(f'{spell(each.left)!r}: {constant(each.right)}' for each in elements)}}}"
        case tree.Vector(elements):
            return f"[{', '.join(map(constant, elements))}]"
        case _:
            return repr(spell(operand))


def texts(values: Iterable[str]) -> str:
    """Return strings with commas between them."""
    return ", ".join(map(repr, values))


def arguments_of(node: nodes.Directive) -> str:
    """Return the name and the arguments of a directive."""
    return ", ".join([repr(node.name), *map(constant, node.arguments)])


def function(node: nodes.Function) -> str:
    """Return the arguments of a function behind its name."""
    kept = keywords(linking=node.linking) + attributes(node.attributes)
    given = parameters(node, "m.param")
    return (given if node.kind == "func" or node.body is None else given.replace(", returns=[]", "")) + kept


def parameters(node: nodes.Function | nodes.CallPrototype, call: str) -> str:
    """Return the parameters, returned ones and directives of a header."""
    listed = "None" if node.parameters is None else f"[{', '.join(parameter(each, call) for each in node.parameters)}]"
    returns = ", ".join(parameter(each, call) for each in node.returns)
    rows = ", ".join(f"({each.name!r}, {value(each)})" for each in node.directives)
    return f"{listed}, returns=[{returns}]" + (f", directives=[{rows}]" if rows else "")


def value(node: nodes.HeaderDirective) -> str:
    """Return the arguments of a directive of a header, or that it has none."""
    rows = [repr(each) if isinstance(each, str) else constant(each) for each in node.arguments]
    return f"({', '.join(rows)},)" if rows else "True"


def parameter(node: nodes.Parameter, call: str) -> str:
    """Return the call that makes a parameter."""
    at = node.pointer
    pointer = "" if at is None else keywords(ptr=at.space or True, ptr_align=at.alignment)
    vector = node.vector and int(node.vector[1:])
    kept = keywords(align=node.alignment, vector=vector, space=None if node.space == "param" else node.space)
    return f"{call}({node.name!r}, {kind(node.type)}, {size(node)}{pointer}{kept}{attributes(node.attributes)})"


def variable(node: nodes.Variable, owner: str) -> str:
    """Return the arguments of a variable behind its state space."""
    first, *others = node.declarators
    named = [repr(first.name), kind(node.type)]
    init = "" if first.initializer is None else f", init={constant(first.initializer)}"
    also = f", also=[{', '.join(declarator(each, owner) for each in others)}]" if others else ""
    vector = node.vector and int(node.vector[1:])
    kept = keywords(align=node.alignment, linking=node.linking, count=first.count, vector=vector)
    listed = ", ".join(named if owner == "m" else named[::-1])
    return f"{listed}, {'' if owner == 'm' else 'size='}{size(first)}{init}{kept}{attributes(node.attributes)}{also}"


def declarator(node: nodes.Declarator, owner: str) -> str:
    """Return the call that makes a further name of a declaration."""
    init = "" if node.initializer is None else f", init={constant(node.initializer)}"
    return f"{owner}.declarator({node.name!r}, {size(node)}{init}{keywords(count=node.count)})"


def kind(name: str) -> str:
    """Return a type; those without a name in Python are strings."""
    return name if name in BY_NAME else repr(name)


def size(node: nodes.Declarator | nodes.Parameter) -> str:
    """Return the dimensions of an array."""
    return f"({', '.join(map(constant, node.dimensions))},)" if node.dimensions else "None"


def attributes(given: tuple[nodes.Attribute, ...]) -> str:
    """Return the keyword of `.attribute(…)`."""
    rows = [f"({each.name!r}, {''.join(f'{constant(one)}, ' for one in each.arguments)})" for each in given]
    return f", attributes=[{', '.join(rows)}]" if rows else ""


def keywords(**values: object) -> str:
    """Return the keywords that have a value."""
    return "".join([f", {name}={value!r}" for name, value in values.items() if value is not None])
