"""Live variables of a Python function's bytecode: the variables read later, for each instruction.

This is the standard backward dataflow analysis. An instruction is relevant if it reads or binds a variable, jumps, or
ends the function. Its opcode name determines its effects, and may combine two names (`STORE_FAST_LOAD_FAST`).
Exceptions are ignored: no block of a kernel is traced after an exception. The bytecode is decoded here, because a body
may be long: `dis` takes fifty times as long as this decoder, for lines and values that the analysis does not need.
"""

from __future__ import annotations

import dis
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

_PLACES = re.compile(r"(LOAD|STORE|DELETE)_(FAST|DEREF|CLOSURE|NAME|CLASSDEREF|FROM_DICT_OR_DEREF)")
# LOAD_FAST_AND_CLEAR is not a read: it saves a variable that an inlined comprehension hides until its end.
_HIDES = "LOAD_FAST_AND_CLEAR"
_NO_SUCCESSOR = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
_UNCONDITIONAL = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "JUMP")
_TARGETS = ("STORE_", "UNPACK_", "CACHE", "NOP")
_NOTHING = frozenset[str]()
_UNIT = 2  # bytes of a bytecode instruction: opcode, argument; EXTENDED_ARG instructions precede a larger argument
_CACHE = 0
_HALF = (
    4  # bits of each variable index in the argument of an instruction with two variables, such as LOAD_FAST_LOAD_FAST
)


class _Meaning(NamedTuple):
    """Effects of a bytecode opcode: uses of variables; whether it jumps, jumps backward, can fall through."""

    uses: tuple[tuple[str, str], ...]
    jumps: bool
    back: bool
    falls: bool


@cache
def _meanings() -> tuple[_Meaning | None, ...]:
    """Return the effects of each bytecode opcode; None if it uses no variable and always falls through."""
    return tuple([_meaning(name, number) for number, name in enumerate(dis.opname[:256])])


def _meaning(name: str, opcode: int) -> _Meaning | None:
    uses = () if name == _HIDES else tuple(_PLACES.findall(name))
    jumps = opcode in dis.hasjrel or opcode in dis.hasjabs
    falls = name not in _NO_SUCCESSOR and not (jumps and name in _UNCONDITIONAL)
    return _Meaning(uses, jumps, "BACKWARD" in name, falls) if uses or jumps or not falls else None


class _Point(NamedTuple):
    """One bytecode instruction: variables that it reads or binds, its jump target, and whether it can fall through."""

    reads: frozenset[str]
    binds: frozenset[str]
    target: int | None
    falls: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """The instructions of a function's bytecode that use variables or jump, and the live variables before each.

    `live[i]` is for the instruction at `offsets[i]`; the last element of `live`, for the end, is the empty set.
    """

    code: bytes
    offsets: tuple[int, ...]
    points: tuple[_Point, ...]
    live: tuple[frozenset[str], ...]

    def live_inside(self, offset: int) -> frozenset[str]:
        """Return the variables that the block entered at bytecode offset `offset` reads before it binds them."""
        return self.live[bisect_right(self.offsets, offset)]

    def live_behind(self, offset: int) -> frozenset[str]:
        """Return the variables read after the block that the instruction at `offset` leaves (the head of a `for`)."""
        target = self._target(offset)
        return self.live_inside(offset) if target is None else self.live[bisect_left(self.offsets, target)]

    def stores(self, name: str, first: int, last: int) -> list[int]:
        """Return the offsets of the instructions that bind a variable in a block.

        The block begins after the offset `first` and ends before `last`; for a `for`, both are the offset of its
        FOR_ITER, which jumps to the end of the block.
        """
        end = self._instruction(last)
        if end <= self._instruction(first):
            target = self._target(first)
            end = first if target is None else target
        inside = range(bisect_right(self.offsets, first), bisect_left(self.offsets, end))
        return [self.offsets[at] for at in inside if name in self.points[at].binds]

    def targets_behind(self, offset: int) -> set[int]:
        """Return the offsets of the instructions after `offset` that bind the targets of a `for` or a `with … as`."""
        found = set[int]()
        for at in range(offset + _UNIT, len(self.code), _UNIT):
            if not dis.opname[self.code[at]].startswith(_TARGETS):
                break
            found.add(at)
        return found

    def _target(self, offset: int) -> int | None:
        """Return the jump target of the bytecode instruction at an offset; None if it does not jump."""
        start = self._instruction(offset)
        at = bisect_left(self.offsets, start)
        return self.points[at].target if at < len(self.offsets) and self.offsets[at] == start else None

    def _instruction(self, offset: int) -> int:
        """Return `offset` or, for a cache entry (where a `for` resumes), the offset of the instruction before it."""
        while self.code[offset] == _CACHE:
            offset -= _UNIT
        return offset


def flow_of(code: CodeType) -> Flow:
    """Return the instructions that use variables or jump, and the live variables, of a function's bytecode."""
    raw = code.co_code
    found = dict(_points(code, raw))
    offsets, points = tuple(found), tuple(found.values())
    return Flow(raw, offsets, points, _live(offsets, points))


def _points(code: CodeType, raw: bytes) -> Iterator[tuple[int, _Point]]:
    """Yield the offset and the effects of each instruction that uses a variable, jumps, or ends the function."""
    meanings, extended, more = _meanings(), dis.EXTENDED_ARG, 0
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    variables = (*code.co_varnames, *cells, *code.co_freevars)
    for offset in range(0, len(raw), _UNIT):
        opcode = raw[offset]
        if opcode == extended:
            more = (more | raw[offset + 1]) << 8
            continue
        meaning = meanings[opcode]
        if meaning is not None:
            argument = more | raw[offset + 1]
            names = code.co_names if meaning.uses and meaning.uses[0][1] == "NAME" else variables
            target = _jump(raw, offset, argument, back=meaning.back) if meaning.jumps else None
            yield offset, _Point(*_variables(meaning.uses, argument, names), target, meaning.falls)
        more = 0


def _jump(raw: bytes, offset: int, argument: int, *, back: bool) -> int:
    """Return the offset of a jump's target; `argument` counts 2-byte units from the instruction after the jump."""
    behind = offset + _UNIT
    while behind < len(raw) and raw[behind] == _CACHE:
        behind += _UNIT
    return behind + _UNIT * (-argument if back else argument)


def _variables(
    uses: Sequence[tuple[str, str]], argument: int, names: Sequence[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that a bytecode instruction reads before it binds them, and the variables that it binds."""
    if not uses:
        return _NOTHING, _NOTHING
    if len(uses) == 1:
        only = frozenset((names[argument],))
        return (only, _NOTHING) if uses[0][0] == "LOAD" else (_NOTHING, only)
    reads, binds = set[str](), set[str]()
    for (verb, _), number in zip(uses, (argument >> _HALF, argument & (1 << _HALF) - 1), strict=True):
        if verb != "LOAD":
            binds.add(names[number])
        elif names[number] not in binds:
            reads.add(names[number])
    return frozenset(reads), frozenset(binds)


def _live(offsets: Sequence[int], points: Sequence[_Point]) -> tuple[frozenset[str], ...]:
    """Return the live variables before each instruction and at the end: read there or later before they are bound."""
    live = [_NOTHING] * (len(points) + 1)
    targets = [None if point.target is None else bisect_left(offsets, point.target) for point in points]
    changed = True
    while changed:
        changed = False
        for number in range(len(points) - 1, -1, -1):
            reads, binds, _, falls = points[number]
            target = targets[number]
            now = live[number + 1] if falls else _NOTHING
            if target is not None:
                now |= live[target]
            if binds:
                now -= binds
            if not reads <= now:
                now |= reads
            if now is not live[number] and now != live[number]:
                live[number], changed = now, True
    return tuple(live)
