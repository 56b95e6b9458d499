"""Mutations that change the order of instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import evolve
from pyptx_ir.syntax.nodes import Empty, Instruction
from pyptx_ir.syntax.operands import Address, Pair, Register, TensorAddress, Vector
from pyptx_sim.extension.registry import step_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Statement
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension.mutation import Change, Edit, MutationSite

__all__ = ["behind", "beside", "later", "nothing", "sooner"]

_STAYS = frozenset({"bra", "ret", "exit", "bar", "barrier", "mbarrier", "elect"})
"""First opcode parts of instructions across which no mutation moves another instruction up."""


def nothing(node: Statement) -> Empty:
    """Return the replacement of a removed instruction: an empty statement (`;`)."""
    return Empty(leading_trivia=node.leading_trivia, raw=";")


def beside(node: Instruction) -> Instruction:
    """Return a copy of an instruction, formatted to follow another statement on the same line."""
    return evolve(node, leading_trivia=" ")


def later(site: MutationSite) -> Iterator[Change]:
    """Exchange the instruction with the following instruction."""
    behind = site.neighbor(1)
    if behind is not None and behind.opcode[0] not in {"bra", "ret", "exit"} and not _feeds(site.instruction, behind):
        yield _swapped(site, site.at, site.at + 1)


def sooner(site: MutationSite) -> Iterator[Change]:
    """Move the instruction up, before memory accesses on which it does not depend, at most to a label or branch."""
    at = site.at
    passed = False
    while at > 0:
        before = site.body[at - 1]
        if not isinstance(before, Instruction) or before.opcode[0] in _STAYS or _feeds(before, site.instruction):
            break
        passed |= _reaches_memory(before)
        at -= 1
    if passed:
        yield _moved_up(site, at)


def behind(*opcode: str) -> Edit:
    """Move the instruction after the next instruction whose opcode starts with `opcode`.

    Yield nothing if a label or branch precedes that instruction.
    """

    def edit(site: MutationSite) -> Iterator[Change]:
        for distance in range(1, len(site.body) - site.at):
            node = site.neighbor(distance)
            if node is None or node.opcode[0] in _STAYS or _feeds(site.instruction, node):
                return
            if node.opcode[: len(opcode)] == opcode:
                yield {
                    site.at: (nothing(site.instruction),),
                    site.at + distance: (node, beside(site.instruction)),
                }
                return

    return edit


def _reaches_memory(node: Instruction) -> bool:
    """Return whether an instruction accesses memory, or issues or groups asynchronous operations that do."""
    step = step_of(node.opcode)
    return step is not None and step.effect in {"access", "issue"}


def _feeds(first: Instruction, second: Instruction) -> bool:
    """Return whether `second` uses a register that `first` writes: in its first operand, if that is not an address."""
    written = first.operands[:1] if first.operands and not isinstance(first.operands[0], Address) else ()
    names = {name for operand in written for name in _registers(operand)}
    used = {name for operand in second.operands for name in _registers(operand)}
    return not names.isdisjoint(used) or (second.guard is not None and second.guard.register in names)


def _registers(operand: Operand) -> Iterator[str]:
    match operand:
        case Register(name):
            yield name
        case Vector(elements) | TensorAddress(elements):
            yield from (name for element in elements for name in _registers(element))
        case Pair(first, second):
            yield from (*_registers(first), *_registers(second))
        case Address(base):
            yield from _registers(base)
        case _:
            return


def _swapped(site: MutationSite, first: int, second: int) -> Change:
    one, other = site.body[first], site.body[second]
    return {
        first: (evolve(other, leading_trivia=one.leading_trivia),),
        second: (evolve(one, leading_trivia=other.leading_trivia),),
    }


def _moved_up(site: MutationSite, to: int) -> Change:
    """Return the change that moves the instruction of `site` up, before the statement at index `to` and on its line."""
    there = site.body[to]
    return {
        to: (evolve(site.instruction, leading_trivia=there.leading_trivia), evolve(there, leading_trivia=" ")),
        site.at: (nothing(site.instruction),),
    }
