"""The changes that mutations make, each a generator: none, one or several for an instruction in its place.

Every change stays within the lines of the statements that it touches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_ir.syntax import evolve
from pyptx_ir.syntax.nodes import Empty, Instruction
from pyptx_ir.syntax.operands import Address, Immediate, Pair, Register, Symbol, TensorAddress, Vector
from pyptx_sim.extension.registry import step_of
from pyptx_sim.literals import parse_literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Statement
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension.mutation import Change, Edit, Site


def _nothing(node: Statement) -> Empty:
    """Return what stands where an instruction stood: a stray `;`, which says nothing."""
    return Empty(lead=node.lead, raw=";")


def _beside(node: Instruction) -> Instruction:
    """Return a copy that stands behind another statement on its line."""
    return evolve(node, lead=" ")


# --- whole instructions ---------------------------------------------------------------------------


def drop(site: Site) -> Iterator[Change]:
    """Leave the instruction out."""
    yield {site.at: (_nothing(site.instruction),)}


def drop_with(distance: int, *opcode: str) -> Edit:
    """Leave the instruction out, and with it the one so far away, if its opcode begins so."""

    def edit(site: Site) -> Iterator[Change]:
        other = site.neighbour(distance)
        if other is not None and other.opcode[: len(opcode)] == opcode:
            yield {site.at: (_nothing(site.instruction),), site.at + distance: (_nothing(other),)}

    return edit


def twice(site: Site) -> Iterator[Change]:
    """Do it twice."""
    node = site.instruction
    yield {site.at: (node, _beside(node))}


def unguard(site: Site) -> Iterator[Change]:
    """Let every thread do it."""
    if site.instruction.guard is not None:
        yield {site.at: (evolve(site.instruction, guard=None),)}


def invert_guard(site: Site) -> Iterator[Change]:
    """Let the other threads do it."""
    guard = site.instruction.guard
    if guard is not None:
        yield {site.at: (evolve(site.instruction, guard=replace(guard, negated=not guard.negated)),)}


# --- loops that wait ------------------------------------------------------------------------------


def _retry(site: Site) -> tuple[int, Instruction] | None:
    """Return the branch that tries a wait again, and its number: `@!p bra WAIT`, or what follows `@p bra DONE`."""
    done = site.instruction.operands[0]
    branch = site.neighbour(1)
    if branch is None or branch.opcode[0] != "bra" or branch.guard is None:
        return None
    if not isinstance(done, Register | Symbol) or branch.guard.register != done.name:
        return None
    again = branch if branch.guard.negated else site.neighbour(2)
    return None if again is None or again.opcode[0] != "bra" else (site.at + (1 if again is branch else 2), again)


def no_retry(site: Site) -> Iterator[Change]:
    """Go on whatever a wait says."""
    again = _retry(site)
    if again is not None:
        yield {again[0]: (_nothing(again[1]),)}


def no_wait(site: Site) -> Iterator[Change]:
    """Leave a wait out, with the branch that tries it again."""
    again = _retry(site)
    if again is not None:
        yield {at: (_nothing(site.body[at]),) for at in range(site.at, again[0] + 1)}


# --- order ----------------------------------------------------------------------------------------


def later(site: Site) -> Iterator[Change]:
    """Let it change places with the instruction behind it."""
    behind = site.neighbour(1)
    if behind is not None and behind.opcode[0] not in {"bra", "ret", "exit"} and not _feeds(site.instruction, behind):
        yield _swapped(site, site.at, site.at + 1)


def sooner(site: Site) -> Iterator[Change]:
    """Move it in front of all accesses to memory before it that it does not depend on, up to a label or branch."""
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


_STAYS = frozenset({"bra", "ret", "exit", "bar", "barrier", "mbarrier", "elect"})


def _reaches_memory(node: Instruction) -> bool:
    """Tell whether an instruction accesses memory, or issues or orders work that does."""
    step = step_of(node.opcode)
    return step is not None and step.effect in {"access", "issue"}


def _feeds(first: Instruction, second: Instruction) -> bool:
    """Tell whether `second` names a register that `first` may write: what it names first."""
    names = set(_registers(first.operands[0])) if first.operands else set[str]()
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


def _swapped(site: Site, first: int, second: int) -> Change:
    one, other = site.body[first], site.body[second]
    return {first: (evolve(other, lead=one.lead),), second: (evolve(one, lead=other.lead),)}


def _moved_up(site: Site, to: int) -> Change:
    """Return the change that puts the site's instruction on the line of statement `to`, in front of it."""
    there = site.body[to]
    return {
        to: (evolve(site.instruction, lead=there.lead), evolve(there, lead=" ")),
        site.at: (_nothing(site.instruction),),
    }


# --- words of opcodes -----------------------------------------------------------------------------


def word(old: str, new: str) -> Edit:
    """Say `new` instead of `old` in the opcode; nothing instead of it, if `new` is empty."""

    def edit(site: Site) -> Iterator[Change]:
        opcode = site.instruction.opcode
        if old in opcode[1:]:
            at = opcode.index(old, 1)
            yield {site.at: (evolve(site.instruction, opcode=(*opcode[:at], *filter(None, [new]), *opcode[at + 1 :])),)}

    return edit


def more_words(*words: str, unless: tuple[str, ...] = ()) -> Edit:
    """Say `words` behind the opcode, unless it has one of them, or of `unless`."""

    def edit(site: Site) -> Iterator[Change]:
        node = site.instruction
        if not {*words, *unless} & set(node.opcode):
            yield {site.at: (evolve(node, opcode=(*node.opcode, *words)),)}

    return edit


def insert(behind: str, *words: str, count: int) -> Edit:
    """Say `words` behind a word of an opcode of so many words."""

    def edit(site: Site) -> Iterator[Change]:
        opcode = site.instruction.opcode
        if behind in opcode[1:] and len(opcode) == count:
            at = opcode.index(behind, 1) + 1
            yield {site.at: (evolve(site.instruction, opcode=(*opcode[:at], *words, *opcode[at:])),)}

    return edit


# --- operands -------------------------------------------------------------------------------------


def _with_operand(node: Instruction, index: int, operand: Operand) -> Instruction:
    return evolve(node, operands=(*node.operands[:index], operand, *node.operands[index + 1 :]))


def _operand(node: Instruction, index: int) -> Operand | None:
    return node.operands[index] if -len(node.operands) <= index < len(node.operands) else None


def _instead(site: Site, index: int, operand: Operand) -> Change:
    index %= len(site.instruction.operands)
    return {site.at: (_with_operand(site.instruction, index, operand),)}


def _around(site: Site, opcode: tuple[str, ...], register: Register, there: str, back: str) -> Change:
    """Return the change that holds another value in a register while the instruction reads it."""
    node = site.instruction
    first = Instruction((*opcode,), (register, register, Immediate(there)), lead=node.lead)
    last = Instruction((*opcode,), (register, register, Immediate(back)), lead=" ")
    return {site.at: (first, _beside(node), last)}


def add(index: int, *deltas: int, least: int = 0, bits: int = 32) -> Edit:
    """Add to a number among the operands, an immediate or a register; no immediate becomes smaller than `least`."""

    def edit(site: Site) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                value = parse_literal(text)
                for delta in deltas:
                    if isinstance(value, int) and value + delta >= least:
                        yield _instead(site, index, Immediate(str(value + delta)))
            case Register() as register:
                for delta in deltas:
                    yield _around(site, ("add", f"s{bits}"), register, str(delta), str(-delta))
            case _:
                return

    return edit


def scale(index: int, numerator: int, denominator: int) -> Edit:
    """Multiply an immediate, if the result is a whole number."""

    def edit(site: Site) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                value = parse_literal(text)
                if isinstance(value, int) and value and value * numerator % denominator == 0:
                    yield _instead(site, index, Immediate(str(value * numerator // denominator)))
            case _:
                return

    return edit


def flip(index: int, mask: int, bits: int = 32) -> Edit:
    """Flip bits of a number among the operands, an immediate or a register."""

    def edit(site: Site) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                value = parse_literal(text)
                if isinstance(value, int):
                    yield _instead(site, index, Immediate(str(value ^ mask)))
            case Register() as register:
                yield _around(site, ("xor", f"b{bits}"), register, hex(mask), hex(mask))
            case _:
                return

    return edit


def flip_constant(index: int, mask: int) -> Edit:
    """Flip bits of an immediate."""

    def edit(site: Site) -> Iterator[Change]:
        if isinstance(_operand(site.instruction, index), Immediate):
            yield from flip(index, mask)(site)

    return edit


def shift(index: int, delta: int) -> Edit:
    """Move an address among the operands by bytes; in a bracket of several parts, the first coordinate."""

    def edit(site: Site) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Address(base, None):
                yield _instead(site, index, Address(base, Immediate(str(delta))))
            case Address(base, Immediate(text)) if isinstance(known := parse_literal(text), int):
                yield _instead(site, index, Address(base, Immediate(str(known + delta))))
            case TensorAddress((_, Vector((Register() as register, *_)), *_)):
                yield _around(site, ("add", "s32"), register, str(delta), str(-delta))
            case _:
                return

    return edit


def shrink_mask(index: int) -> Edit:
    """Take the upper half of the lanes out of a mask of all of them, or put all lanes into a smaller one."""

    def edit(site: Site) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                full = parse_literal(text) in {-1, 0xFFFFFFFF}
                yield _instead(site, index, Immediate("0x0000ffff" if full else "0xffffffff"))
            case _:
                return

    return edit


def one_more_rank(site: Site) -> Iterator[Change]:
    """Copy a tile of one dimension more, at 0 in it."""
    node = site.instruction
    ranks = [word for word in node.opcode if word in {"1d", "2d", "3d", "4d"}]
    for index, operand in enumerate(node.operands):
        match operand:
            case TensorAddress((first, Vector(elements), *rest)) if ranks:
                more = TensorAddress((first, Vector((*elements, Immediate("0"))), *rest))
                opcode = tuple(f"{int(word[0]) + 1}d" if word == ranks[0] else word for word in node.opcode)
                yield {site.at: (evolve(_with_operand(node, index, more), opcode=opcode),)}
            case _:
                continue


def elect_all(site: Site) -> Iterator[Change]:
    """Elect every lane."""
    node = site.instruction
    if isinstance(node.operands[0], Pair):
        zero = Immediate("0")
        yield {site.at: (evolve(node, opcode=("setp", "eq", "b32"), operands=(node.operands[0].second, zero, zero)),)}


def at_home(site: Site) -> Iterator[Change]:
    """Take the address in the own block for the one in another block."""
    node = site.instruction
    bits = "b64" if node.opcode[-1] == "u64" else "b32"
    yield {site.at: (evolve(node, opcode=("mov", bits), operands=node.operands[:2]),)}


def each(*edits: Edit) -> Edit:
    """Make the changes of each of `edits`, one at a time."""

    def edit(site: Site) -> Iterator[Change]:
        for one in edits:
            yield from one(site)

    return edit


def another_block(site: Site) -> Iterator[Change]:
    """Leave a block out of a multicast, or take one more in: flip the second bit of its mask."""
    hinted = "L2::cache_hint" in site.instruction.opcode
    yield from flip(-2 if hinted else -1, 2, bits=16)(site)
