"""Outcomes of a litmus program under sequential consistency.

All interleavings are enumerated; a state that several of them reach is expanded once. Lamport, "How to Make a
Multiprocessor Computer That Correctly Executes Multiprocess Programs", 1979.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from pyptx_sim.happens_before.reference.axioms import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.happens_before.reference.programs import Operation, Program

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _State:
    """Number of executed operations per thread, value of each location, and value that each operation has read."""

    done: tuple[int, ...]
    memory: tuple[int, ...]
    read: tuple[int | None, ...]

    def after(self, program: Program, operation: Operation) -> _State:
        """Return the state after `operation`, the next operation of its thread."""
        done = _replaced(self.done, operation.thread, self.done[operation.thread] + 1)
        if not operation.where:
            return replace(self, done=done)
        place = program.locations.index(operation.where)
        held = self.memory[place]
        left = operation.bit + (held if operation.updates else 0) if operation.writes else held
        read = _replaced(self.read, operation.number, held if operation.name in ("ld", "atom") else None)
        return _State(done, _replaced(self.memory, place, left), read)


def interleaved(program: Program) -> frozenset[Outcome]:
    """Return the outcomes of all interleavings of a program."""
    start = _State((0,) * len(program.places), (0,) * len(program.locations), (None,) * len(program.operations))
    found, seen, open_ = set[Outcome](), {start}, [start]
    while open_:
        state = open_.pop()
        following = set(_following(program, state))
        if not following:
            found.add(Outcome(tuple(each for each in state.read if each is not None), state.memory))
        open_ += following - seen
        seen |= following
    return frozenset(found)


def _following(program: Program, state: _State) -> Iterator[_State]:
    """Yield the next states: after one operation of a thread, or a barrier of all threads that still run in a CTA."""
    running: set[tuple[int, int]] = set()
    waiting: dict[tuple[int, int], list[Operation]] = {}
    for thread, place in enumerate(program.places):
        rest = program.thread(thread)[state.done[thread] :]
        if rest and rest[0].name == "bar":
            waiting.setdefault((place.cluster, place.block), []).append(rest[0])
        elif rest:
            running.add((place.cluster, place.block))
            yield state.after(program, rest[0])
    for bars in (bars for block, bars in waiting.items() if block not in running):
        yield reduce(lambda behind, bar: behind.after(program, bar), bars, state)


def _replaced(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])
