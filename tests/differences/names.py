"""Names of a module's functions, found and rewritten without the code under test."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax import operands as o
from pyptx_ir.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NUMBERED = re.compile(r"(.*?)([0-9]+)")


def registers(function: n.Function) -> dict[str, n.RegisterDeclaration]:
    """Return the registers that a function declares, each with its declaration; register groups are expanded."""
    found: dict[str, n.RegisterDeclaration] = {}
    for node in walk(function):
        if isinstance(node, n.RegisterDeclaration):
            for one in node.names:
                listed = [one.name] if one.count is None else [f"{one.name}{i}" for i in range(one.count)]
                found |= dict.fromkeys(listed, node)
    return found


def labels(function: n.Function) -> list[str]:
    return [node.name for node in walk(function) if isinstance(node, n.Label)]


def memory(function: n.Function) -> list[str]:
    """Return the names of a function's parameters and variables, without parameterized variables (`v<4>`)."""
    named = [one.name for one in (*function.returns, *(function.parameters or ())) if one.name not in ("", "_")]
    variables = (node for node in walk(function) if isinstance(node, n.Variable))
    return named + [one.name for node in variables for one in node.declarators if one.count is None]


def private(module: n.Module) -> list[str]:
    """Return the functions and variables of a module that are not visible to other modules."""
    functions = [node for node in module.body if isinstance(node, n.Function)]
    public = {node.name for node in functions if node.linking or node.kind == "entry"}
    defined = {node.name for node in functions if node.body is not None} - public
    variables = [node for node in module.body if isinstance(node, n.Variable)]
    linked = {one.name for node in variables if node.linking for one in node.declarators}
    own = {one.name for node in variables for one in node.declarators if one.count is None} - linked
    return sorted(defined | own)


def rewritten(tree: Any, name: Callable[[str], str], literal: Callable[[str], str] = str) -> Any:
    """Return a node, an operand or a tuple of them with renamed identifiers and rewritten literals."""
    match tree:
        case tuple():
            return tuple([rewritten(one, name, literal) for one in tree])
        case o.Immediate(text):
            return o.Immediate(literal(text))
        case o.Register(text) | o.Symbol(text):
            return o.Register(name(text)) if name(text)[0] == "%" else o.Symbol(name(text))
        case n.Guard(register, negated):
            return n.Guard(name(register), negated)
        case n.BranchTargets(targets) | n.CallTargets(targets):
            return type(tree)(tuple(map(name, targets)))
        case n.Alias(one, aliasee):
            return n.Alias(name(one), name(aliasee))
        case _ if is_dataclass(tree) and not isinstance(tree, type):
            return _with_fields(tree, name, literal)
        case _:
            return tree


def _with_fields(tree: Any, name: Callable[[str], str], literal: Callable[[str], str]) -> Any:
    trivia = {"leading_trivia", "raw", "head", "closing_trivia"}
    changes = {one.name: rewritten(getattr(tree, one.name), name, literal) for one in fields(tree) if one.compare}
    if isinstance(tree, n.Label | n.Declarator | n.Parameter | n.Function) and tree.name not in ("", "_"):
        changes["name"] = name(tree.name)
    return replace(tree, **changes, **dict.fromkeys(trivia & {one.name for one in fields(tree)}))


def expanded(names: Iterable[tuple[str, n.RegisterDeclaration]]) -> list[n.RegisterDeclaration]:
    """Return one `.reg` declaration per register name, with the type of the declaration paired with the name."""
    return [
        n.RegisterDeclaration(like.type, (n.RegisterName(name),), like.vector, like.alignment) for name, like in names
    ]


def usual(name: str) -> str:
    """Return a register's name as a group declares it: `%r12` for `%r012`."""
    found = NUMBERED.fullmatch(name)
    return name if found is None else f"{found[1]}{int(found[2])}"
