"""All opcodes of all instructions, with modifiers in the manual's order, as an acyclic graph.

A `Thread` is one row of the instruction table, a position in its syntax line, and the matched modifiers that determine
the operands. A `State` is the set of `Thread` objects that match an opcode prefix; prefixes with equal sets share the
state. The graph of the whole instruction set has a few thousand states; a tree would have hundreds of thousands.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.patterns import Pattern, compile_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_ir.isa.rows import InstructionRow

# Vector modifiers; operand kinds of the instruction table that are vectors in instructions with such a modifier.
VECTORS = frozenset(("v2", "v4", "v8"))
VECTOR_KINDS = ("vec", "sparse", "texels")


@dataclass(frozen=True, slots=True)
class Thread:
    """A row of the instruction table and a position in its syntax line; `filled`: modifiers that determine operands."""

    pattern: Pattern
    reached: int
    filled: tuple[tuple[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the modifiers matched so far are a complete opcode of the instruction table row."""
        return self.reached == len(self.pattern.items)


@dataclass(frozen=True, slots=True)
class State:
    """Continuations of an opcode prefix; `spelling` is the alphabetically first prefix with this state.

    `accepted` are the `Thread` objects whose opcode is complete, `ahead` the table rows of all `Thread` objects.
    `following` maps the next modifier to the state after it, and `slots` to the modifier's slot (`.rnd`).
    """

    spelling: tuple[str, ...]
    accepted: tuple[Thread, ...]
    ahead: tuple[Pattern, ...]
    following: Mapping[str, State]
    slots: Mapping[str, str]


def spellings(rows: Iterable[InstructionRow]) -> State:
    """Return the graph's start state; a path from it to an accepting state is an opcode of the instruction table."""
    starts: dict[str, list[Thread]] = {}
    for row in rows:
        starts.setdefault(row.opcode, []).append(Thread(compile_row(row), 0))
    states: dict[frozenset[Thread], State] = {}
    following = {opcode: _state(starts[opcode], (opcode,), states) for opcode in sorted(starts)}
    return State((), (), (), following, {})


def _state(threads: Iterable[Thread], spelling: tuple[str, ...], states: dict[frozenset[Thread], State]) -> State:
    """Return the `State` of a set of `Thread` objects; create it at the first call, with the prefix `spelling`."""
    closed = frozenset(skipped for thread in threads for skipped in _skips(thread))
    found = states.get(closed)
    if found is not None:
        return found
    ordered = sorted(closed, key=_order)
    following: dict[str, list[Thread]] = {}
    slots: dict[str, str] = {}
    for thread in ordered:
        if not thread.complete:
            item = thread.pattern.items[thread.reached]
            for word in item.words:
                slots.setdefault(word, item.name)
                following.setdefault(word, []).append(_advanced(thread, word))
    states[closed] = State(
        spelling,
        tuple(thread for thread in ordered if thread.complete),
        tuple(dict.fromkeys(thread.pattern for thread in ordered)),
        {word: _state(following[word], (*spelling, word), states) for word in sorted(following)},
        slots,
    )
    return states[closed]


def _order(thread: Thread) -> tuple[str, int, tuple[tuple[str, str], ...]]:
    return (thread.pattern.row.name, thread.reached, thread.filled)


def _skips(thread: Thread) -> Iterable[Thread]:
    """Yield `thread`, and a copy after each run of optional modifiers that may be omitted (a group only as a whole)."""
    yield thread
    items = thread.pattern.items
    place = thread.reached
    while place < len(items) and items[place].optional and (place == 0 or items[place - 1].group != items[place].group):
        group = items[place].group
        while place < len(items) and items[place].group == group:
            place += 1
        yield Thread(thread.pattern, place, thread.filled)


def _advanced(thread: Thread, word: str) -> Thread:
    name = thread.pattern.items[thread.reached].name
    deciding = _deciding(thread.pattern)
    filled = thread.filled
    if word in deciding:
        filled = (*filled, (name, word))
    elif name in deciding:
        filled = (*filled, (name, ""))
    return Thread(thread.pattern, thread.reached + 1, filled)


@functools.cache
def _deciding(pattern: Pattern) -> frozenset[str]:
    """Return the modifiers and slots that determine an instruction table row's operands, and vectors among them."""
    names = {name for place in pattern.places for name in (place.needs, place.lacks) if name}
    if any(place.kind.partition("(")[0] in VECTOR_KINDS for place in pattern.places):
        names |= VECTORS
    return frozenset(names)
