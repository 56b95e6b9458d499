"""Outcomes and data races that the axioms of the memory model allow for a litmus program.

All candidate executions are enumerated: the write that each read returns, the order of the `fence.sc`, and the order of
morally strong writes to a location. An execution is allowed if it violates no axiom. Tests compare the simulator's
checker with this module, which shares no code with it. Manual: "Memory Consistency Model"; docstrings and comments name
its sections. Relations are tuples of bit sets: bit j of row i is set if i precedes j.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyptx_sim.happens_before.reference.programs import Program

Relation: TypeAlias = "tuple[int, ...]"

_RELEASES = frozenset({"release", "acq_rel", "sc"})
_BARRIERS = frozenset({"bar", "bar.warp"})
_ACQUIRES = frozenset({"acquire", "acq_rel", "sc"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of an execution: the values of all `ld`, `poll` and `atom`, and the final values of all locations."""

    read: tuple[int, ...]
    final: tuple[int, ...]


def verdicts(program: Program) -> Mapping[Outcome, frozenset[bool]]:
    """Return the allowed outcomes, each with the values of `racy` among the executions with this outcome."""
    found: dict[Outcome, frozenset[bool]] = {}
    for execution in _executions(program):
        for outcome in execution.outcomes():
            found[outcome] = found.get(outcome, frozenset()) | {execution.racy}
    return found


# --- relations ------------------------------------------------------------------------------------


def _closed(relation: Relation) -> Relation:
    """Return the transitive closure of a relation."""
    rows = list(relation)
    for middle in range(len(rows)):
        for start, row in enumerate(rows):
            if row >> middle & 1:
                rows[start] |= rows[middle]
    return tuple(rows)


def _cyclic(relation: Relation) -> bool:
    return any(row >> start & 1 for start, row in enumerate(_closed(relation)))


def _united(*relations: Relation) -> Relation:
    united = list(relations[0])
    for relation in relations[1:]:
        united = [row | other for row, other in zip(united, relation, strict=True)]
    return tuple(united)


def _composed(first: Relation, then: Relation) -> Relation:
    rows = list[int]()
    for row in first:
        reached = 0
        for middle, other in enumerate(then):
            if row >> middle & 1:
                reached |= other
        rows.append(reached)
    return tuple(rows)


def _relation(size: int, pairs: Iterable[tuple[int, int]]) -> Relation:
    rows = [0] * size
    for start, end in pairs:
        rows[start] |= 1 << end
    return tuple(rows)


# --- programs -------------------------------------------------------------------------------------


class _Events:
    """Numbered operations of a program, and the relations that do not depend on an execution.

    The initial writes of the locations have the next numbers, then the waits of the barriers: a barrier is an arrival
    (the operation itself) and a wait.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations = program.operations
        self.initial = {where: len(self.operations) + index for index, where in enumerate(program.locations)}
        bars = [number for number, each in enumerate(self.operations) if each.name in _BARRIERS]
        behind = len(self.operations) + len(self.initial)
        self.waits = {number: behind + index for index, number in enumerate(bars)}
        self.size = behind + len(bars)
        self.numbers = range(len(self.operations))
        self.writes = {
            where: [self.initial[where], *(i for i in self.numbers if self._writes(i, where))] for where in self.initial
        }
        self.reads = [number for number in self.numbers if self.operations[number].reads]

    def sources(self, read: int) -> list[int]:
        """Return the writes whose value a read may return. A poll does not return an initial write."""
        operation = self.operations[read]
        last = len(self.operations) if operation.name == "poll" else self.size
        return [write for write in self.writes[operation.where] if write != read and write < last]

    def _writes(self, number: int, where: str) -> bool:
        return self.operations[number].writes and self.operations[number].where == where

    @cached_property
    def program_order(self) -> Relation:
        """Program order, with the initial writes before all operations. Manual: "Program Order"."""
        pairs = list[tuple[int, int]]()
        for first, then in itertools.combinations(self.numbers, 2):
            if self.operations[first].thread == self.operations[then].thread:
                pairs += [(first, then), (self.waits.get(first, first), then)]
        pairs += [(arrival, wait) for arrival, wait in self.waits.items()]
        pairs += [(first, number) for first in self.initial.values() for number in self.numbers]
        return _closed(_relation(self.size, pairs))

    @cached_property
    def order_in_places(self) -> Relation:
        """Program order, restricted to pairs of accesses to one location."""
        operations, pairs = self.operations, itertools.combinations(self.numbers, 2)
        return _relation(
            self.size,
            (
                (first, then)
                for first, then in pairs
                if operations[first].thread == operations[then].thread
                and operations[first].where == operations[then].where != ""
            ),
        )

    @cached_property
    def meetings(self) -> Relation:
        """Barriers: each arrival synchronizes with each wait of the barrier. Manual: "Memory synchronization"."""
        rounds = dict[tuple[str, int, int, int, int], list[int]]()
        for (thread, place), name in itertools.product(enumerate(self.program.places), _BARRIERS):
            mine = [number for number in self.waits if self.operations[number].thread == thread]
            for count, number in enumerate(each for each in mine if self.operations[each].name == name):
                warp = place.warp if name == "bar.warp" else 0
                rounds.setdefault((name, place.cluster, place.block, warp, count), []).append(number)
        pairs = [(one, self.waits[other]) for met in rounds.values() for one in met for other in met]
        return _relation(self.size, pairs)

    def strong_pair(self, first: int, then: int) -> bool:
        """Return whether two operations are morally strong. Manual: "Morally strong operations".

        Accesses to a location overlap completely here, and use the generic proxy.
        """
        if first >= len(self.operations) or then >= len(self.operations):
            return False
        one, other = self.operations[first], self.operations[then]
        if one.where and other.where and one.where != other.where:
            return False
        if one.thread == other.thread:
            return True
        here, there = self.program.places[one.thread], self.program.places[other.thread]
        return one.strong and other.strong and here.shares(one.scope, there) and there.shares(other.scope, here)

    @cached_property
    def strong_pairs(self) -> Relation:
        """Pairs of morally strong operations."""
        pairs = itertools.permutations(range(self.size), 2)
        return _relation(self.size, (pair for pair in pairs if self.strong_pair(*pair)))

    def patterns(self, number: int, *, releases: bool) -> list[int]:
        """Return the first operations of a write's release patterns, or the last ones of a read's acquire patterns.

        Manual: "Release and Acquire Patterns".
        """
        operation, kinds = self.operations[number], _RELEASES if releases else _ACQUIRES
        if not operation.strong or (not releases and operation.name == "red"):
            return []
        ends = [number] if operation.semantics in kinds else []
        for other in self.numbers:
            beyond = self.operations[other]
            ordered = self.program_order[other] >> number & 1 if releases else self.program_order[number] >> other & 1
            same = beyond.name == "fence" or (
                beyond.where == operation.where and (beyond.writes if releases else beyond.reads)
            )
            if ordered and same and beyond.semantics in kinds and (releases or beyond.name != "red"):
                ends.append(other)
        return ends

    def fence_orders(self) -> Iterator[Relation]:
        """Yield each order of morally strong `fence.sc`. Manual: "Fence-SC Order"."""
        fences = [
            number
            for number in self.numbers
            if (self.operations[number].name, self.operations[number].semantics) == ("fence", "sc")
        ]
        seen = set[Relation]()
        for order in itertools.permutations(fences):
            pairs = itertools.combinations(order, 2)
            relation = _relation(self.size, (pair for pair in pairs if self.strong_pairs[pair[0]] >> pair[1] & 1))
            if relation not in seen:
                seen.add(relation)
                yield relation


# --- executions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Execution:
    """Allowed execution: the write that each read returns, the causality order and the coherence order."""

    events: _Events
    source: Mapping[int, int]
    causality: Relation
    coherence: Relation

    @property
    def racy(self) -> bool:
        """Whether the execution has a data race. Manual: "Conflict and Data-races"."""
        events = self.events
        for first, then in itertools.combinations(events.numbers, 2):
            one, other = events.operations[first], events.operations[then]
            conflict = one.where and one.where == other.where and (one.writes or other.writes)
            ordered = self.causality[first] >> then & 1 or self.causality[then] >> first & 1
            if conflict and not ordered and not events.strong_pair(first, then):
                return True
        return False

    def value(self, write: int) -> int:
        """Return the value that a write stores in this execution."""
        if write >= len(self.events.operations):
            return 0
        operation = self.events.operations[write]
        return operation.bit + (self.value(self.source[write]) if operation.updates else 0)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the possible outcomes: the final write is any that is last in coherence order, a partial order."""
        events = self.events
        read = tuple(self.value(self.source[each]) for each in events.reads if events.operations[each].name != "red")
        last = [
            {self.value(write) for write in writes if not any(self.coherence[write] >> other & 1 for other in writes)}
            for writes in events.writes.values()
        ]
        for final in itertools.product(*last):
            yield Outcome(read, final)


def _executions(program: Program) -> Iterator[_Execution]:
    events = _Events(program)
    choices = [events.sources(read) for read in events.reads]
    for chosen in itertools.product(*choices):
        source = dict(zip(events.reads, chosen, strict=True))
        updates = (
            (write, read)
            for read, write in source.items()
            if read in events.numbers and events.operations[read].updates
        )
        if _cyclic(_relation(events.size, updates)):  # PTX axiom "No Thin Air"
            continue
        observed = _observation(events, source)
        for fences in events.fence_orders():
            base = _closed(_united(events.program_order, events.meetings, fences, _synchronized(events, observed)))
            if any(row >> start & 1 for start, row in enumerate(base)):
                continue
            causality = _united(base, _composed(observed, base))
            for coherence in _coherences(events, causality):
                if _is_allowed(events, source, causality, coherence):
                    yield _Execution(events, source, causality, coherence)


def _observation(events: _Events, source: Mapping[int, int]) -> Relation:
    """Return the observation order. Manual: "Observation Order"."""
    direct = _relation(events.size, ((w, r) for r, w in source.items() if events.strong_pairs[w] >> r & 1))
    through = tuple(
        row if number in events.numbers and events.operations[number].updates else 0
        for number, row in enumerate(direct)
    )
    found = direct
    for _ in events.reads:
        found = _united(found, _composed(found, through))
    return found


def _synchronized(events: _Events, observed: Relation) -> Relation:
    """Return the edges from release to acquire patterns. Manual: "Memory synchronization"."""
    pairs = list[tuple[int, int]]()
    for write, read in itertools.product(events.numbers, events.reads):
        if observed[write] >> read & 1:
            heads, tails = events.patterns(write, releases=True), events.patterns(read, releases=False)
            pairs += [
                (head, tail)
                for head, tail in itertools.product(heads, tails)
                if head != tail and events.strong_pairs[head] >> tail & 1
            ]
    return _relation(events.size, pairs)


def _coherences(events: _Events, causality: Relation) -> Iterator[Relation]:
    """Yield the coherence orders, which relate morally strong writes and writes in causality order.

    Manual: "Coherence Order".
    """
    given, open_ = list[tuple[int, int]](), list[tuple[int, int]]()
    for where, writes in events.writes.items():
        given += [(events.initial[where], write) for write in writes[1:]]
        for one, other in itertools.combinations(writes[1:], 2):
            ways = [(a, b) for a, b in ((one, other), (other, one)) if causality[a] >> b & 1]
            given += ways
            if not ways and events.strong_pairs[one] >> other & 1:
                open_.append((one, other))
    seen = set[Relation]()
    for turned in itertools.product((False, True), repeat=len(open_)):
        ways = [(b, a) if turn else (a, b) for (a, b), turn in zip(open_, turned, strict=True)]
        relation = _closed(_relation(events.size, (*given, *ways)))
        if relation not in seen and not any(row >> start & 1 for start, row in enumerate(relation)):
            seen.add(relation)
            yield relation


def _is_allowed(events: _Events, source: Mapping[int, int], causality: Relation, coherence: Relation) -> bool:
    """Return whether an execution satisfies the axioms. Manual: "Axioms"."""
    reads = _relation(events.size, ((write, read) for read, write in source.items()))
    before = _relation(
        events.size,
        (
            (read, later)
            for read, write in source.items()
            for later in events.writes[events.operations[read].where]
            if later != read and coherence[write] >> later & 1
        ),
    )
    communication = _united(reads, coherence, before)
    return not (
        any(row >> start & 1 for start, row in enumerate(_composed(communication, causality)))  # PTX axiom "Causality"
        or _splits_update(events, source, coherence)
        # PTX axiom "Sequential Consistency Per Location"
        or _cyclic(_united(events.order_in_places, _strong_part(events, communication)))
    )


def _splits_update(events: _Events, source: Mapping[int, int], coherence: Relation) -> bool:
    """Return whether a morally strong write is between the read and the write of an update. Manual: "Atomicity"."""
    return any(
        coherence[write] >> between & 1 and coherence[between] >> read & 1 and events.strong_pairs[read] >> between & 1
        for read, write in source.items()
        if events.operations[read].updates
        for between in events.writes[events.operations[read].where]
    )


def _strong_part(events: _Events, relation: Relation) -> Relation:
    return tuple(row & strong for row, strong in zip(relation, events.strong_pairs, strict=True))
