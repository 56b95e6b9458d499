"""Static backward slices: the registers that a value may depend on, through instructions and branches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pyptx_ir.syntax.operands import Register
from pyptx_sim.instructions.compiling.late_loads import slots_in
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.program.flow import successors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.program.program import Program, Site

__all__ = ["Branch", "Slice", "Use", "slots_in"]

_ADDRESSED: Final = frozenset({"st", "red", "stmatrix"})
_BRANCHES: Final = frozenset({"bra", "brx"})


@dataclass(frozen=True, slots=True)
class Use:
    """Register slots that an instruction reads and writes; `read` includes the guard."""

    read: frozenset[int]
    written: frozenset[int]
    guard: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch at `pc` that may diverge, the basic blocks where its lanes reconverge, and the registers written before.

    `between`: basic blocks from the branch to reconvergence. `certain`: the lanes reconverge in one basic block, the
    immediate postdominator. Otherwise some lanes exit first. Then `joins` are all basic blocks that every successor
    reaches, and `written` are the registers that all following basic blocks write.
    """

    pc: int
    block: int
    joins: frozenset[int]
    between: frozenset[int]
    written: frozenset[int]
    certain: bool


class Slice:
    """The registers that values of a program depend on."""

    def __init__(self, program: Program) -> None:
        """Prepare backward slices of `program`."""
        self._program = program

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Registers that each instruction reads and writes, by pc."""
        return tuple(_use(self._program, site) for site in self._program.sites)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of the program that may diverge."""
        return tuple(_branches(self._program, self.uses))

    def of(self, slots: Iterable[int]) -> frozenset[int]:
        """Return `slots` and all registers that they depend on through sources, addresses, guards and branches."""
        needed = set(slots)
        while True:
            known = len(needed)
            for use in self.uses:
                if not needed.isdisjoint(use.written):
                    needed |= use.read
            for branch in self.branches:
                if not needed.isdisjoint(branch.written):
                    needed |= self.uses[branch.pc].read
            if len(needed) == known:
                return frozenset(needed)


def _use(program: Program, site: Site) -> Use:
    operands = Operands(program, site, checked=False)
    instruction, form = site.instruction, program.forms[site.pc]
    guard = () if instruction.guard is None else (Register(instruction.guard.register),)
    touched = slots_in(operands, (*instruction.operands, *guard))
    if form is None:
        return Use(touched, touched)
    places = {"a"} if instruction.opcode[0] in _ADDRESSED else set[str]()
    written = slots_in(operands, (form.operands[name] for name in form.written - places))
    only_written = [form.operands[name] for name in form.written - places if not form.places[name].read]
    others = [each for each in instruction.operands if not any(each is written for written in only_written)]
    read = slots_in(operands, (*others, *guard))
    if guard:
        read |= written  # a lane whose guard is false keeps the old value of the written register
    return Use(read, written, slots_in(operands, guard))


# --- branches ----------------------------------------------------------------------------------


def _branches(program: Program, uses: tuple[Use, ...]) -> Iterable[Branch]:
    edges = {block.index: successors(program, block) & _all(program) for block in program.blocks}
    after = _postdominators(edges)
    for block in program.blocks:
        last = program.sites[block.last - 1]
        if last.instruction.opcode[0] not in _BRANCHES or len(edges[block.index]) < 2:
            continue
        join = after[block.index]
        between = _reached(edges, edges[block.index], join)
        joins = frozenset({join}) if join is not None else _shared(edges, edges[block.index])
        sites = (pc for index in between for pc in range(program.blocks[index].first, program.blocks[index].last))
        written = frozenset(slot for pc in sites for slot in uses[pc].written)
        yield Branch(last.pc, block.index, joins, frozenset(between), written, certain=join is not None)


def _shared(edges: dict[int, frozenset[int]], first: frozenset[int]) -> frozenset[int]:
    """Return the basic blocks that are reachable from every basic block of `first`."""
    return frozenset.intersection(*(frozenset(_reached(edges, frozenset({each}), None)) for each in first))


def _all(program: Program) -> frozenset[int]:
    return frozenset(block.index for block in program.blocks)


def _reached(edges: dict[int, frozenset[int]], first: frozenset[int], join: int | None) -> set[int]:
    """Return the basic blocks that are reachable from `first` without passing `join`, excluding `join`."""
    found: set[int] = set()
    waiting = [each for each in first if each != join]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += [each for each in edges[block] if each != join]
    return found


def _postdominators(edges: dict[int, frozenset[int]]) -> dict[int, int | None]:
    """Return the immediate postdominator of each basic block; None if that is the end of the program.

    Uses the iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph, whose root -1 is the end.
    """
    end = -1
    reverse: dict[int, list[int]] = {block: [] for block in (*edges, end)}
    ends = {block: following or frozenset({end}) for block, following in edges.items()}
    for block, following in ends.items():
        for each in following:
            reverse[each].append(block)
    order = _postorder(reverse, end)
    number = {block: place for place, block in enumerate(order)}
    immediate: dict[int, int] = {end: end}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            known = [each for each in ends.get(block, ()) if each in immediate]
            if block == end or not known:
                continue
            common = known[0]
            for each in known[1:]:
                common = _common(immediate, number, common, each)
            changed |= immediate.get(block) != common
            immediate[block] = common
    return {block: None if immediate.get(block, end) == end else immediate[block] for block in edges}


def _postorder(edges: dict[int, list[int]], root: int) -> list[int]:
    order: list[int] = []
    seen = {root}
    path = [(root, iter(edges[root]))]
    while path:
        block, following = path[-1]
        each = next((each for each in following if each not in seen), None)
        if each is None:
            order.append(block)
            path.pop()
        else:
            seen.add(each)
            path.append((each, iter(edges[each])))
    return order


def _common(immediate: dict[int, int], number: dict[int, int], one: int, other: int) -> int:
    """Return the nearest common ancestor of two basic blocks in the postdominator tree."""
    while one != other:
        while number[one] < number[other]:
            one = immediate[one]
        while number[other] < number[one]:
            other = immediate[other]
    return one
