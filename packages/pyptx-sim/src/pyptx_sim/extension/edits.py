"""Edits of mutation operators: generators that yield the changes of an instruction, possibly none.

Every change stays within the lines of the statements that it replaces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_ir.syntax import evolve
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import (
    Address,
    Immediate,
    Negated,
    Pair,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Vector,
)
from pyptx_sim.extension.edit_order import behind, beside, later, nothing, sooner
from pyptx_sim.literals import parse_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension.mutation import Change, Edit, MutationSite

__all__ = [
    "add",
    "another_block",
    "at_home",
    "become",
    "behind",
    "drop",
    "drop_with",
    "each",
    "elect_all",
    "flip",
    "flip_constant",
    "insert",
    "invert",
    "invert_guard",
    "later",
    "more_words",
    "no_retry",
    "no_wait",
    "one_more_rank",
    "scale",
    "shift",
    "shrink_mask",
    "sooner",
    "twice",
    "unguard",
    "word",
]


# --- whole instructions ---------------------------------------------------------------------------


def drop(site: MutationSite) -> Iterator[Change]:
    """Remove the instruction."""
    yield {site.at: (nothing(site.instruction),)}


def drop_with(distance: int, *opcode: str) -> Edit:
    """Remove the instruction and the instruction `distance` statements later.

    No change if the opcode of the later instruction does not start with `opcode`.
    """

    def edit(site: MutationSite) -> Iterator[Change]:
        other = site.neighbor(distance)
        if other is not None and other.opcode[: len(opcode)] == opcode:
            yield {site.at: (nothing(site.instruction),), site.at + distance: (nothing(other),)}

    return edit


def twice(site: MutationSite) -> Iterator[Change]:
    """Execute the instruction twice."""
    node = site.instruction
    yield {site.at: (node, beside(node))}


def unguard(site: MutationSite) -> Iterator[Change]:
    """Remove the guard predicate, so that every thread executes the instruction."""
    if site.instruction.guard is not None:
        yield {site.at: (evolve(site.instruction, guard=None),)}


def invert_guard(site: MutationSite) -> Iterator[Change]:
    """Negate the guard predicate."""
    guard = site.instruction.guard
    if guard is not None:
        yield {site.at: (evolve(site.instruction, guard=replace(guard, negated=not guard.negated)),)}


def become(opcode: str, *operands: int | str) -> Edit:
    """Replace the instruction by `opcode`; each operand is the index of an original operand, an immediate or `_`."""

    def edit(site: MutationSite) -> Iterator[Change]:
        known: list[Operand] = []
        for each in operands:
            given = _operand(site.instruction, each) if isinstance(each, int) else _written(each)
            if given is None:
                return
            known.append(given)
        yield {site.at: (evolve(site.instruction, opcode=tuple(opcode.split(".")), operands=tuple(known)),)}

    return edit


def _written(text: str) -> Operand:
    return Sink() if text == "_" else Immediate(text)


# --- polling loops -------------------------------------------------------------------------------


def _retry(site: MutationSite) -> tuple[int, Instruction] | None:
    """Return the branch that retries a wait, preceded by its index in `MutationSite.body`.

    The branch is `@!p bra WAIT`, or follows `@p bra DONE`.
    """
    done = site.instruction.operands[0]
    branch = site.neighbor(1)
    if branch is None or branch.opcode[0] != "bra" or branch.guard is None:
        return None
    if not isinstance(done, Register | Symbol) or branch.guard.register != done.name:
        return None
    again = branch if branch.guard.negated else site.neighbor(2)
    return None if again is None or again.opcode[0] != "bra" else (site.at + (1 if again is branch else 2), again)


def no_retry(site: MutationSite) -> Iterator[Change]:
    """Remove the branch that retries a wait."""
    again = _retry(site)
    if again is not None:
        yield {again[0]: (nothing(again[1]),)}


def no_wait(site: MutationSite) -> Iterator[Change]:
    """Remove a wait and the branch that retries it."""
    again = _retry(site)
    if again is not None:
        yield {at: (nothing(site.body[at]),) for at in range(site.at, again[0] + 1)}


# --- modifiers of opcodes --------------------------------------------------------------------------


def word(old: str, new: str) -> Edit:
    """Replace modifier `old` of the opcode by `new`; remove it if `new` is empty."""

    def edit(site: MutationSite) -> Iterator[Change]:
        opcode = site.instruction.opcode
        if old in opcode[1:]:
            at = opcode.index(old, 1)
            yield {site.at: (evolve(site.instruction, opcode=(*opcode[:at], *filter(None, [new]), *opcode[at + 1 :])),)}

    return edit


def more_words(*words: str, unless: tuple[str, ...] = ()) -> Edit:
    """Append modifiers `words` to the opcode, unless it has one of `words` or of `unless`."""

    def edit(site: MutationSite) -> Iterator[Change]:
        node = site.instruction
        if not {*words, *unless} & set(node.opcode):
            yield {site.at: (evolve(node, opcode=(*node.opcode, *words)),)}

    return edit


def insert(behind: str, *words: str, count: int) -> Edit:
    """Insert modifiers after modifier `behind` of an opcode that has `count` words, separated by dots."""

    def edit(site: MutationSite) -> Iterator[Change]:
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


def _instead(site: MutationSite, index: int, operand: Operand) -> Change:
    index %= len(site.instruction.operands)
    return {site.at: (_with_operand(site.instruction, index, operand),)}


def _around(site: MutationSite, opcode: tuple[str, ...], register: Register, there: str, back: str) -> Change:
    """Return the change that modifies `register` before the instruction and restores the register afterwards."""
    node = site.instruction
    first = Instruction((*opcode,), (register, register, Immediate(there)), leading_trivia=node.leading_trivia)
    last = Instruction((*opcode,), (register, register, Immediate(back)), leading_trivia=" ")
    return {site.at: (first, beside(node), last)}


def add(index: int, *deltas: int, least: int = 0, bits: int = 32) -> Edit:
    """Add each of `deltas` to operand `index`, an immediate or a register; new immediates are at least `least`."""

    def edit(site: MutationSite) -> Iterator[Change]:
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
    """Multiply operand `index`, an immediate, by `numerator / denominator`, if the result is an integer."""

    def edit(site: MutationSite) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                value = parse_literal(text)
                if isinstance(value, int) and value and value * numerator % denominator == 0:
                    yield _instead(site, index, Immediate(str(value * numerator // denominator)))
            case _:
                return

    return edit


def flip(index: int, mask: int, bits: int = 32) -> Edit:
    """Flip the bits `mask` of operand `index`, an immediate or a register."""

    def edit(site: MutationSite) -> Iterator[Change]:
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
    """Flip the bits `mask` of operand `index`, if it is an immediate."""

    def edit(site: MutationSite) -> Iterator[Change]:
        if isinstance(_operand(site.instruction, index), Immediate):
            yield from flip(index, mask)(site)

    return edit


def shift(index: int, delta: int) -> Edit:
    """Add `delta` bytes to address operand `index`; in a tensor address, add `delta` to the first coordinate."""

    def edit(site: MutationSite) -> Iterator[Change]:
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


def invert(find: Callable[[Instruction], int | None]) -> Edit:
    """Negate the predicate operand at the index that `find` returns (None: no change)."""

    def edit(site: MutationSite) -> Iterator[Change]:
        index = find(site.instruction)
        if index is not None:
            given = site.instruction.operands[index]
            yield _instead(site, index, given.operand if isinstance(given, Negated) else Negated(given))

    return edit


def shrink_mask(index: int) -> Edit:
    """Remove the upper 16 lanes from a full membermask, or replace a smaller membermask by the full one."""

    def edit(site: MutationSite) -> Iterator[Change]:
        match _operand(site.instruction, index):
            case Immediate(text):
                full = parse_literal(text) in {-1, 0xFFFFFFFF}
                yield _instead(site, index, Immediate("0x0000ffff" if full else "0xffffffff"))
            case _:
                return

    return edit


def one_more_rank(site: MutationSite) -> Iterator[Change]:
    """Increase the rank of a tensor copy by one, in the opcode's dimension and by a last coordinate 0."""
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


def elect_all(site: MutationSite) -> Iterator[Change]:
    """Replace `elect.sync` by a `setp` that is true in every lane."""
    node = site.instruction
    if isinstance(node.operands[0], Pair):
        zero = Immediate("0")
        yield {site.at: (evolve(node, opcode=("setp", "eq", "b32"), operands=(node.operands[0].second, zero, zero)),)}


def at_home(site: MutationSite) -> Iterator[Change]:
    """Replace `mapa` by a `mov` of the address in the thread's own CTA."""
    node = site.instruction
    bits = "b64" if node.opcode[-1] == "u64" else "b32"
    yield {site.at: (evolve(node, opcode=("mov", bits), operands=node.operands[:2]),)}


def each(*edits: Edit) -> Edit:
    """Yield the changes of all `edits`, one edit after the other."""

    def edit(site: MutationSite) -> Iterator[Change]:
        for one in edits:
            yield from one(site)

    return edit


def another_block(site: MutationSite) -> Iterator[Change]:
    """Add or remove one CTA of a multicast: flip bit 1 of the CTA mask."""
    hinted = "L2::cache_hint" in site.instruction.opcode
    yield from flip(-2 if hinted else -1, 2, bits=16)(site)
