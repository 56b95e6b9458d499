"""Modules that are not another one any more: one statement of one function has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pyptx_ir.syntax import evolve, walk
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax import operands as o

from .names import registers

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Edit: TypeAlias = "Callable[[list[n.Instruction], int, Random], list[n.Instruction] | None]"
TYPES = ("s32", "u32", "b32", "s64", "u64", "b64", "f32", "f64", "u16", "s16", "b16", "f16")
DIRECTIONS = ("global", "shared", "local", "param", "lo", "hi", "wide", "lt", "gt", "le", "ge", "eq", "ne", "rn", "rz")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change, what kind of change it is, and the statements that it is about on either side."""

    kind: str
    module: n.Module
    before: n.Instruction
    after: n.Instruction | None


def constant(body: list[n.Instruction], at: int, chance: Random) -> n.Instruction | None:
    """Write one more digit."""
    node = body[at]
    places = [i for i, one in enumerate(node.operands) if isinstance(one, o.Immediate) and one.text.isdecimal()]
    if not places:
        return None
    i = chance.choice(places)
    return _with(node, i, o.Immediate(f"{node.operands[i].text}1"))  # an octal number stays one


def offset(body: list[n.Instruction], at: int, _: Random) -> n.Instruction | None:
    """Move an address."""
    node = body[at]
    for i, one in enumerate(node.operands):
        if isinstance(one, o.Address) and one.offset is None:
            return _with(node, i, o.Address(one.base, o.Immediate("4")))
    return None


def swapped(body: list[n.Instruction], at: int, _: Random) -> n.Instruction | None:
    """Exchange the last two operands."""
    node = body[at]
    if len(node.operands) < 3 or node.operands[-1] == node.operands[-2]:
        return None
    return evolve(node, operands=(*node.operands[:-2], node.operands[-1], node.operands[-2]))


def another_register(body: list[n.Instruction], at: int, chance: Random) -> n.Instruction | None:
    """Read or write another register."""
    node = body[at]
    others = [one for each in body for one in each.operands if isinstance(one, o.Register) and "." not in one.name]
    places = [i for i, one in enumerate(node.operands) if isinstance(one, o.Register)]
    if not places or not others:
        return None
    return _with(node, chance.choice(places), chance.choice(others))


def another_type(body: list[n.Instruction], at: int, chance: Random) -> n.Instruction | None:
    """Write another type into the opcode."""
    return _another_word(body[at], TYPES, chance)


def another_word(body: list[n.Instruction], at: int, chance: Random) -> n.Instruction | None:
    """Write another state space, comparison or rounding into the opcode."""
    return _another_word(body[at], DIRECTIONS, chance)


def negated(body: list[n.Instruction], at: int, _: Random) -> n.Instruction | None:
    """Negate a guard."""
    guard = body[at].guard
    return None if guard is None else evolve(body[at], guard=n.Guard(guard.register, not guard.negated))


def unguarded(body: list[n.Instruction], at: int, _: Random) -> n.Instruction | None:
    """Take a guard away."""
    return None if body[at].guard is None else evolve(body[at], guard=None)


def retargeted(body: list[n.Instruction], at: int, chance: Random) -> n.Instruction | None:
    """Branch to where another branch goes."""
    node = body[at]
    targets = [each.operands[0] for each in body if each.opcode[0] == "bra"]
    return evolve(node, operands=(chance.choice(targets),)) if node.opcode[0] == "bra" else None


CHANGES = (*(constant, offset, swapped, another_register, another_type, another_word, negated, unguarded, retargeted),)


def _with(node: n.Instruction, i: int, operand: o.Operand) -> n.Instruction:
    return evolve(node, operands=(*node.operands[:i], operand, *node.operands[i + 1 :]))


def _another_word(node: n.Instruction, words: tuple[str, ...], chance: Random) -> n.Instruction | None:
    places = [i for i, word in enumerate(node.opcode) if i and word in words]
    if not places:
        return None
    i = chance.choice(places)
    word = chance.choice([word for word in words if word != node.opcode[i]])
    return evolve(node, opcode=(*node.opcode[:i], word, *node.opcode[i + 1 :]))


def mutant(module: n.Module, chance: Random) -> Mutant | None:
    """Change one statement of one function; None if the draw does not fit."""
    functions = [i for i, node in enumerate(module.body) if isinstance(node, n.Function) and node.body is not None]
    if not functions:
        return None
    place = chance.choice(functions)
    function: Any = module.body[place]
    body = [node for node in walk(function) if isinstance(node, n.Instruction)]
    if len(body) < 3:
        return None
    at = chance.randrange(len(body))
    kind = chance.choice(("dropped", "doubled", "moved", *(change.__name__ for change in CHANGES)))
    made = _structural(kind, body, at, chance) or _changed(kind, body, at, chance)
    if made is None:
        return None
    edits, before, after = made
    statements = (*module.body[:place], evolve(function, body=_edited(function.body, edits)), *module.body[place + 1 :])
    return Mutant(kind, replace(module, body=statements), before, after)


_Made: TypeAlias = "tuple[dict[int, list[n.Instruction]], n.Instruction, n.Instruction | None]"


def _changed(kind: str, body: list[n.Instruction], at: int, chance: Random) -> _Made | None:
    for change in CHANGES:
        if change.__name__ == kind:
            new = change(body, at, chance)
            return None if new is None or new == body[at] else ({id(body[at]): [new]}, body[at], new)
    return None


def _structural(kind: str, body: list[n.Instruction], at: int, chance: Random) -> _Made | None:
    node = body[at]
    copy = replace(node)
    match kind:
        case "dropped":
            return {id(node): []}, node, None
        case "doubled":
            return {id(node): [node, copy]}, node, copy
        case "moved":
            to = body[chance.randrange(len(body))]
            return None if to is node else ({id(node): [], id(to): [to, copy]}, node, copy)
        case _:
            return None


def _edited(block: n.Block, edits: dict[int, list[n.Instruction]]) -> n.Block:
    """Put other statements in the place of some, told by identity."""
    body: list[n.Statement] = []
    for node in block.body:
        if isinstance(node, n.Block):
            body.append(_edited(node, edits))
        else:
            body += edits.get(id(node), [node])
    return replace(block, body=tuple(body))


def declared(function: n.Function) -> dict[str, str]:
    """Return the type of each register of a function."""
    return {name: f"{node.vector}.{node.type}" for name, node in registers(function).items()}
