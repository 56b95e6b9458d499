"""Static analysis of mbarrier waits whose predicate no later instruction reads.

A simulated run alone may not reveal such waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import Address, Negated, Pair, Register, Symbol, Vector
from pyptx_sim.program.scopes import LabelBinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.syntax.nodes import Guard
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.program import Program, Site

# Opcodes whose targets the analysis does not follow; it assumes that the code at the targets reads the predicate.
_AWAY = frozenset({"call", "brx"})
_ENDS = frozenset({"exit", "trap", "ret"})


def answer_is_read(program: Program, pc: int) -> bool:
    """Return whether some path from a `try_wait` or `test_wait` reads the wait's predicate before overwriting it.

    Manual: "mbarrier.test_wait, mbarrier.try_wait": the phase may be incomplete, and only the predicate shows it.
    """
    form = program.forms[pc]
    answer = None if form is None else form.operands["p"]
    if not isinstance(answer, Register | Symbol):
        return False
    name, seen, ways = answer.name, {pc}, [pc + 1]
    while ways:
        at = ways.pop()
        if at in seen or at >= len(program.sites):
            continue
        seen.add(at)
        site, form = program.sites[at], program.forms[at]
        guard = site.instruction.guard
        if (_reads(form, guard, name) and not _goes_on(program, site)) or _leads_away(program, site):
            return True
        if guard is not None or not _writes(form, name):
            ways += _following(program, site)
    return False


def _reads(form: Bound | None, guard: Guard | None, name: str) -> bool:
    guarded = guard is not None and guard.register == name
    read = () if form is None else (form.operands[place.name] for place in form.places.values() if place.read)
    return guarded or any(name in _names(operand) for operand in read)


def _goes_on(program: Program, site: Site) -> bool:
    """Return whether an instruction is a branch to the next instruction, so that its guard has no effect."""
    return set(_following(program, site)) == {site.pc + 1} and site.instruction.opcode[0] == "bra"


def _leads_away(program: Program, site: Site) -> bool:
    word = site.instruction.opcode[0]
    return word in _AWAY or (word == "ret" and site.function != program.entry.name)


def _writes(form: Bound | None, name: str) -> bool:
    return form is not None and any(name in _names(form.operands[place]) for place in form.written)


def _following(program: Program, site: Site) -> Iterator[int]:
    node = site.instruction
    if node.opcode[0] == "bra":
        target = node.operands[0]
        found = site.scope.find(target.name) if isinstance(target, Symbol | Register) else None
        if isinstance(found, LabelBinding):
            yield program.labels[found.key]
    if node.guard is not None or (node.opcode[0] != "bra" and node.opcode[0] not in _ENDS):
        yield site.pc + 1


def _names(operand: Operand) -> Iterator[str]:
    match operand:
        case Register(name) | Symbol(name):
            yield name
        case Vector(elements):
            yield from (name for element in elements for name in _names(element))
        case Pair(first, second):
            yield from (*_names(first), *_names(second))
        case Negated(inner) | Address(inner):
            yield from _names(inner)
        case _:
            return
