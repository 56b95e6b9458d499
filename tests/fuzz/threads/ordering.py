"""Happens-before of the threads' accesses, by vector clocks; a data race is an `UndefinedError`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Clock: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


class UndefinedError(Exception):
    """A program whose behavior the manual does not define."""


def refuse(wrong: object, why: str, *values: object) -> None:
    """Raise `UndefinedError` if `wrong`."""
    if wrong:
        raise UndefinedError(why, *values)


@dataclass(slots=True)
class Word:
    """A word of memory and its last accesses, as epochs by thread; conflicting accesses must happen after those."""

    value: int | None
    writes: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict)
    updates: dict[int, int] = field(default_factory=dict)

    def load(self, thread: int, clock: Clock) -> int | None:
        """Return the word's value; record the read, which later writes must happen after."""
        _check(clock, self.writes, self.updates)
        self.reads[thread] = int(clock[thread])
        return self.value

    def store(self, thread: int, clock: Clock, value: int | None) -> None:
        """Overwrite the word's value; record the write."""
        _check(clock, self.writes, self.updates, self.reads)
        self.value, self.writes, self.reads, self.updates = value, {thread: int(clock[thread])}, {}, {}

    def update(self, thread: int, clock: Clock, value: int | None) -> int | None:
        """Replace the word's value atomically and return the old value; atomics do not race with each other."""
        _check(clock, self.writes, self.reads)
        refuse(value is None, "an atomic operation on an undefined value")
        self.updates[thread] = int(clock[thread])
        old, self.value = self.value, value
        return old


def _check(clock: Clock, *accesses: dict[int, int]) -> None:
    for known in accesses:
        refuse(any(clock[other] < epoch for other, epoch in known.items()), "data race with threads", known)
