"""Mutants of a module: one statement of one function is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pyptx_ir.syntax import evolve, walk
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax import operands as o

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

# Result of a change: all statements of the changed PTX block, and the changed one (None if the change removed it).
Changed: TypeAlias = "tuple[list[n.Statement], n.Instruction | None]"
Edit: TypeAlias = "Callable[[n.Instruction, list[n.Instruction], Random], n.Instruction | None]"
TYPES = ("s32", "u32", "b32", "s64", "u64", "b64", "f32", "f64", "u16", "s16", "b16", "f16")
WORDS = ("global", "shared", "local", "param", "lo", "hi", "wide", "lt", "gt", "le", "ge", "eq", "ne", "rn", "rz")
DRAWS = 20  # number of random statements on which each kind of change is tried


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant: the module with one change, the kind of the change, and the statement before and after the change."""

    kind: str
    module: n.Module
    before: n.Instruction
    after: n.Instruction | None


# --- one statement becomes another ------------------------------------------------------------------


def constant(node: n.Instruction, _: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Append a digit to a decimal literal; an octal literal stays octal."""
    places = [i for i, one in enumerate(node.operands) if isinstance(one, o.Immediate) and one.text.isdecimal()]
    return _at_one(node, places, lambda one: o.Immediate(f"{one.text}1"), chance)


def offset(node: n.Instruction, _: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Add an offset to an address operand."""
    places = [i for i, one in enumerate(node.operands) if isinstance(one, o.Address) and one.offset is None]
    return _at_one(node, places, lambda one: o.Address(one.base, o.Immediate("4")), chance)


def swapped(node: n.Instruction, _: list[n.Instruction], __: Random) -> n.Instruction | None:
    """Swap the last two operands of an instruction."""
    if len(node.operands) < 3:
        return None
    return evolve(node, operands=(*node.operands[:-2], node.operands[-1], node.operands[-2]))


def another_register(node: n.Instruction, others: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Replace one register operand by another register of the function."""
    plain = [one for each in others for one in each.operands if isinstance(one, o.Register) and "." not in one.name]
    places = [i for i, one in enumerate(node.operands) if isinstance(one, o.Register)]
    return _at_one(node, places if plain else [], lambda _: chance.choice(plain), chance)


def retargeted(node: n.Instruction, others: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Replace a branch's target by the target of another branch."""
    targets = [each.operands[0] for each in others if each.opcode[0] == "bra"]
    return evolve(node, operands=(chance.choice(targets),)) if node.opcode[0] == "bra" else None


def another_type(node: n.Instruction, _: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Replace a type modifier in the opcode."""
    return _another_word(node, TYPES, chance)


def another_word(node: n.Instruction, _: list[n.Instruction], chance: Random) -> n.Instruction | None:
    """Replace a state space, comparison or rounding mode in the opcode."""
    return _another_word(node, WORDS, chance)


def negated(node: n.Instruction, _: list[n.Instruction], __: Random) -> n.Instruction | None:
    """Negate an instruction's guard."""
    guard = node.guard
    return None if guard is None else evolve(node, guard=n.Guard(guard.register, not guard.negated))


def unguarded(node: n.Instruction, _: list[n.Instruction], __: Random) -> n.Instruction | None:
    """Remove an instruction's guard."""
    return None if node.guard is None else evolve(node, guard=None)


def _at_one(
    node: n.Instruction, places: Sequence[int], made: Callable[[Any], o.Operand], chance: Random
) -> n.Instruction | None:
    """Replace the operand at one of the indices `places` by the result of `made` for this operand."""
    if not places:
        return None
    i = chance.choice(places)
    return evolve(node, operands=(*node.operands[:i], made(node.operands[i]), *node.operands[i + 1 :]))


def _another_word(node: n.Instruction, words: tuple[str, ...], chance: Random) -> n.Instruction | None:
    places = [i for i, word in enumerate(node.opcode) if i and word in words]
    if not places:
        return None
    i = chance.choice(places)
    word = chance.choice([word for word in words if word != node.opcode[i]])
    return evolve(node, opcode=(*node.opcode[:i], word, *node.opcode[i + 1 :]))


# --- statements are dropped, doubled and moved ------------------------------------------------------


def dropped(body: list[n.Statement], at: int, _: Random) -> Changed | None:
    """Remove a statement of a block."""
    return [*body[:at], *body[at + 1 :]], None


def doubled(body: list[n.Statement], at: int, _: Random) -> Changed | None:
    """Repeat a statement of a block."""
    copy: Any = replace(body[at])
    return [*body[: at + 1], copy, *body[at + 1 :]], copy


def moved(body: list[n.Statement], at: int, chance: Random) -> Changed | None:
    """Move a statement to another position in its block, after the declarations."""
    first = next(i for i, node in enumerate(body) if isinstance(node, n.Instruction))
    rest, node = [*body[:at], *body[at + 1 :]], body[at]
    to = chance.randrange(first, len(rest) + 1)
    copy: Any = replace(node)
    return [*rest[:to], copy, *rest[to:]], copy


def _in_place(edit: Edit) -> Callable[[list[n.Statement], int, Random], Changed | None]:
    def change(body: list[n.Statement], at: int, chance: Random) -> Changed | None:
        node: Any = body[at]
        new = edit(node, [each for each in body if isinstance(each, n.Instruction)], chance)
        return None if new is None or new == node else ([*body[:at], new, *body[at + 1 :]], new)

    return change


EDITS: tuple[Edit, ...] = (
    *(constant, offset, swapped, another_register, retargeted, another_type, another_word, negated, unguarded),
)
CHANGES: dict[str, Callable[[list[n.Statement], int, Random], Changed | None]] = {
    **{edit.__name__: _in_place(edit) for edit in EDITS},
    **{change.__name__: change for change in (dropped, doubled, moved)},
}


def mutant(module: n.Module, chance: Random) -> Mutant | None:
    """Change one statement of one function; return None if none of the randomly drawn statements can be changed."""
    functions = [i for i, node in enumerate(module.body) if isinstance(node, n.Function) and node.body is not None]
    if not functions:
        return None
    place = chance.choice(functions)
    function: Any = module.body[place]
    blocks = [node for node in walk(function) if isinstance(node, n.Block)]
    places = [(block, at) for block in blocks for at, node in enumerate(block.body) if isinstance(node, n.Instruction)]
    kind = chance.choice(sorted(CHANGES))
    for block, at in chance.sample(places, min(len(places), DRAWS)):
        made = CHANGES[kind](list(block.body), at, chance)
        if made is not None:
            body = _edited(function.body, block, made[0])
            statements = (*module.body[:place], evolve(function, body=body), *module.body[place + 1 :])
            before: Any = block.body[at]
            return Mutant(kind, replace(module, body=statements), before, made[1])
    return None


def _edited(block: n.Block, old: n.Block, body: list[n.Statement]) -> n.Block:
    """Return `block` with the statements of the nested block `old` replaced; blocks are compared by identity."""
    if block is old:
        return replace(block, body=tuple(body))
    inside = [_edited(node, old, body) if isinstance(node, n.Block) else node for node in block.body]
    return replace(block, body=tuple(inside))
