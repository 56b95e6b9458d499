"""Which accesses of threads are ordered, by vector clocks: those that are not race, and a program has to have none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Clock: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


class UndefinedError(Exception):
    """The manual does not define what a program does."""


def refuse(wrong: object, why: str, *met: object) -> None:
    """Raise `UndefinedError` if something is wrong."""
    if wrong:
        raise UndefinedError(why, *met)


@dataclass(slots=True)
class Word:
    """A word of memory: the accesses that later ones have to know of, as epochs by thread."""

    value: int | None
    writes: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict)
    updates: dict[int, int] = field(default_factory=dict)

    def load(self, thread: int, clock: Clock) -> int | None:
        """Return the value, which others may not overwrite before they know of this."""
        _check(clock, self.writes, self.updates)
        self.reads[thread] = int(clock[thread])
        return self.value

    def store(self, thread: int, clock: Clock, value: int | None) -> None:
        """Overwrite the value."""
        _check(clock, self.writes, self.updates, self.reads)
        self.value, self.writes, self.reads, self.updates = value, {thread: int(clock[thread])}, {}, {}

    def update(self, thread: int, clock: Clock, value: int | None) -> int | None:
        """Replace the value by an atomic operation, which does not race with others; return the old one."""
        _check(clock, self.writes, self.reads)
        refuse(value is None, "an atomic operation on an undefined value")
        self.updates[thread] = int(clock[thread])
        old, self.value = self.value, value
        return old


def _check(clock: Clock, *accesses: dict[int, int]) -> None:
    for known in accesses:
        refuse(any(clock[other] < epoch for other, epoch in known.items()), "a race with accesses of threads", known)
