"""Which variables of a Python function are read later, from where: live variables of its bytecode.

The textbook's backward analysis, over instructions. What an instruction reads and binds is told by its name, which may
join two (`STORE_FAST_LOAD_FAST`); where it leads by its jump's target. Exceptions are left out: no block of a kernel is
traced on after one.
"""

from __future__ import annotations

import dis
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

_PLACES = re.compile(r"(LOAD|STORE|DELETE)_(?:FAST|DEREF|CLOSURE|NAME|CLASSDEREF|FROM_DICT_OR_DEREF)")
# The variables that an inlined comprehension hides, and gives back behind it.
_HIDES = "LOAD_FAST_AND_CLEAR"
_NO_SUCCESSOR = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
_UNCONDITIONAL = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "JUMP")
_TARGETS = ("STORE_", "UNPACK_", "CACHE", "NOP")
_NOTHING = frozenset[str]()


class _Point(NamedTuple):
    """One instruction: what it reads before it binds, what it binds, and where control goes, a jump's target first."""

    offset: int
    opname: str
    reads: frozenset[str]
    binds: frozenset[str]
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """The instructions of a function; `live[i]` are the variables that are read from instruction i on."""

    points: tuple[_Point, ...]
    live: tuple[frozenset[str], ...]
    index: dict[int, int]

    def live_inside(self, offset: int) -> frozenset[str]:
        """Return what the block that the instruction at `offset` enters reads before it is bound."""
        return self.live[self._at(offset) + 1]

    def live_behind(self, offset: int) -> frozenset[str]:
        """Return what is read behind the block that the instruction at `offset` leaves, the head of a `for`."""
        return self.live[self.points[self._at(offset)].successors[0]]

    def stores(self, name: str, first: int, last: int) -> list[int]:
        """Return the offsets of the instructions that bind a variable in a block.

        The block begins behind `first` and ends before `last`; of a `for`, both are its head, which jumps behind it.
        """
        start, end = self._at(first), self._at(last)
        if end <= start:
            end = self.points[start].successors[0]
        return [point.offset for point in self.points[start + 1 : end] if name in point.binds]

    def targets_behind(self, offset: int) -> set[int]:
        """Return the offsets of the instructions behind `offset` that bind what a `for` or a `with … as` names."""
        found = set[int]()
        for point in self.points[self._at(offset) + 1 :]:
            if not point.opname.startswith(_TARGETS):
                break
            found.add(point.offset)
        return found

    def _at(self, offset: int) -> int:
        """Return the instruction at an offset, or the one whose cache lies there."""
        while offset not in self.index:
            offset -= 2
        return self.index[offset]


def flow_of(code: CodeType) -> Flow:
    """Analyse a function."""
    instructions = list(dis.get_instructions(code))
    index = {instruction.offset: number for number, instruction in enumerate(instructions)}
    points = tuple(_point(instructions, number, index) for number in range(len(instructions)))
    return Flow(points, _live(points), index)


class _Meaning(NamedTuple):
    """What the name of an instruction says: whether it loads, stores or deletes which of its variables, and jumps."""

    verbs: tuple[str, ...]
    jumps: bool
    falls: bool


@cache
def _meaning(opname: str) -> _Meaning:
    opcode = dis.opmap.get(opname, 0)
    jumps = opcode in dis.hasjrel or opcode in dis.hasjabs
    falls = opname not in _NO_SUCCESSOR and not (jumps and opname in _UNCONDITIONAL)
    return _Meaning(() if opname == _HIDES else tuple(_PLACES.findall(opname)), jumps, falls)


def _point(instructions: Sequence[dis.Instruction], number: int, index: dict[int, int]) -> _Point:
    instruction = instructions[number]
    opname = instruction.opname
    verbs, jumps, falls = _meaning(opname)
    reads, binds = _variables(verbs, instruction.argval) if verbs else (_NOTHING, _NOTHING)
    successors = (number + 1,) if falls and number + 1 < len(instructions) else ()
    if jumps:
        successors = (index[instruction.argval], *successors)
    return _Point(instruction.offset, opname, reads, binds, successors)


def _variables(verbs: Sequence[str], value: object) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that an instruction reads before it binds them, and those that it binds."""
    reads, binds = set[str](), set[str]()
    names = cast("tuple[str, ...]", value) if isinstance(value, tuple) else (cast("str", value),)
    for verb, name in zip(verbs, names, strict=False):
        if verb != "LOAD":
            binds.add(name)
        elif name not in binds:
            reads.add(name)
    return frozenset(reads), frozenset(binds)


def _live(points: Sequence[_Point]) -> tuple[frozenset[str], ...]:
    """Return for each instruction the variables that are read from it on, before they are bound."""
    live = [_NOTHING] * len(points)
    changed = True
    while changed:
        changed = False
        for number in range(len(points) - 1, -1, -1):
            _, _, reads, binds, successors = points[number]
            if len(successors) == 1:  # most instructions, which read and bind nothing either
                now = live[successors[0]]
            else:
                now = _NOTHING.union(*[live[successor] for successor in successors])
            if binds:
                now -= binds
            if not reads <= now:
                now |= reads
            if now is not live[number] and now != live[number]:
                live[number], changed = now, True
    return tuple(live)
