"""Random race-free programs, and the same programs without one synchronization.

A program grows access by access. If an access conflicts with an earlier one that does not happen before it, a
synchronization precedes it: a flag and a poll of it, or a barrier. Polls end in every execution. There are no other
branches.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from pyptx_sim.happens_before.reference.programs import ThreadPosition, program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.happens_before.reference.programs import Program

THREADS, ACCESSES = 4, 12
RELEASES: Final = (
    "st.release.{s} {f}",
    "fence.acq_rel.{s}; st.relaxed.{s} {f}",
    "fence.sc.{s}; st.relaxed.{s} {f}",
    "red.release.{s} {f}",
    "atom.release.{s} {f}",
    "fence.acq_rel.{s}; red.relaxed.{s} {f}",
)
ACQUIRES: Final = (
    "poll.acquire.{s} {f}",
    "poll.relaxed.{s} {f}; fence.acq_rel.{s}",
    "poll.relaxed.{s} {f}; fence.sc.{s}",
)
WIDER: Final = {"cta": ("cta", "gpu", "sys"), "cluster": ("cluster", "gpu"), "gpu": ("gpu", "gpu", "sys")}


@dataclass(slots=True)
class _Growing:
    """A growing program: the operations of each thread, and the accesses that happen before its next operation."""

    chance: Random
    places: list[ThreadPosition]
    bodies: list[list[str]]
    known: list[set[int]]
    accesses: list[tuple[int, str, bool]] = field(default_factory=list)  # (thread, location, whether the access writes)
    flags: Iterator[str] = field(default_factory=lambda: iter("fghijk"))

    @property
    def count(self) -> int:
        return sum(" " in each for body in self.bodies for each in body)

    def access(self) -> bool:
        """Add an access, ordered after conflicting ones; return False if the program would be too long."""
        thread = self.chance.randrange(len(self.places))
        where, writes = self.chance.choice("xxyz"), self.chance.random() < 0.5
        others = {
            by
            for number, (by, at, wrote) in enumerate(self.accesses)
            if at == where and (writes or wrote) and number not in self.known[thread]
        }
        for other in sorted(others):
            if others and not self.order(other, thread):
                return False
        self.bodies[thread].append(f"{'st' if writes else 'ld'} {where}")
        self.known[thread].add(len(self.accesses))
        self.accesses.append((thread, where, writes))
        return self.count < ACCESSES

    def order(self, one: int, other: int) -> bool:
        """Order thread `other` after thread `one`; return False if the program would be too long."""
        here, there = self.places[one], self.places[other]
        same_block = here.shares("cta", there)
        if same_block and self.chance.random() < 0.5:
            self.add_barrier(one, warp_only=here.warp == there.warp and self.chance.random() < 0.7)
            return True
        flag = next(self.flags, "")
        if not flag or self.count > ACCESSES - 2:
            return False
        near = "cta" if same_block else "cluster" if here.shares("cluster", there) else "gpu"
        scope = self.chance.choice(WIDER[near])
        self.bodies[one] += self.chance.choice(RELEASES).format(s=scope, f=flag).split("; ")
        self.bodies[other] += self.chance.choice(ACQUIRES).format(s=scope, f=flag).split("; ")
        self.known[other] |= self.known[one]
        return True

    def add_barrier(self, thread: int, *, warp_only: bool) -> None:
        """Add a barrier of the thread's warp or CTA; lanes of a warp have the same number of operations before it."""
        here = self.places[thread]
        those = [
            number
            for number, place in enumerate(self.places)
            if place.shares("cta", here) and (place.warp == here.warp or not warp_only)
        ]
        for warp in {self.places[number].warp for number in those}:
            lanes = [number for number in those if self.places[number].warp == warp]
            longest = max(len(self.bodies[number]) for number in lanes)
            for number in lanes:
                self.bodies[number] += [f"ld p{number}"] * (longest - len(self.bodies[number]))
        everything = set().union(*(self.known[number] for number in those))
        for number in those:
            self.bodies[number].append("bar.warp" if warp_only else "bar")
            self.known[number] = set(everything)


def _text(places: list[ThreadPosition], bodies: list[list[str]]) -> str:
    text = "; ".join(bodies[0])
    for before, place, body in zip(places, places[1:], bodies[1:], strict=False):
        apart = "|||" if place.cluster != before.cluster else "||" if place.block != before.block else "|"
        apart = apart if place.lane == 0 else ","
        text += f" {apart} {'; '.join(body)}"
    return text


def _grown(chance: Random) -> _Growing | None:
    """Return a race-free program, None if it is too large or has no synchronization."""
    places = [ThreadPosition(0, 0, 0)]
    for _ in range(chance.randint(1, THREADS - 1)):
        places.append(places[-1].beside(chance.choice((",", ",", "|", "|", "||", "|||"))))
    growing = _Growing(chance, places, [[] for _ in places], [set() for _ in places])
    while growing.access() and chance.random() < 0.9:
        pass
    if growing.count > ACCESSES or not all(growing.bodies) or not any(map(_synchronizes, growing.bodies)):
        return None
    return growing


def _synchronizes(body: list[str]) -> bool:
    return any("bar" in each or "poll" in each for each in body)


def _weaker(body: list[str], at: int, chance: Random) -> str | None:
    """Return a weaker replacement of an operation, None if there is none."""
    each = body[at]
    choices = []
    if each.startswith("fence"):
        choices = ["ld q", each.replace("acq_rel", "acq_rel").rsplit(".", 1)[0] + ".cta"]
    elif ".release." in each or ".acquire." in each:
        choices = [each.replace(".release.", ".relaxed.").replace(".acquire.", ".relaxed.")]
        choices += [each.replace(f".{scope} ", ".cta ") for scope in ("cluster", "gpu", "sys") if f".{scope} " in each]
    elif "relaxed" in each:
        choices = [each.replace(f".{scope} ", ".cta ") for scope in ("cluster", "gpu", "sys") if f".{scope} " in each]
    choices = [choice for choice in choices if choice != each]
    return chance.choice(choices) if choices else None


def _without(growing: _Growing, chance: Random) -> list[list[str]] | None:
    """Return a program's operations without one of its synchronizations."""
    bodies = [list(body) for body in growing.bodies]
    spots = [
        (thread, at)
        for thread, body in enumerate(bodies)
        for at, each in enumerate(body)
        if "." in each or each == "bar"
    ]
    thread, at = chance.choice(spots)
    removed = bodies[thread][at]
    if removed.startswith("bar"):
        return _without_barrier(growing, thread, at, removed)
    weaker = _weaker(bodies[thread], at, chance)
    if weaker is None:
        return None
    bodies[thread][at] = weaker
    return bodies


def _without_barrier(growing: _Growing, thread: int, at: int, removed: str) -> list[list[str]]:
    """Return a program's operations without one barrier, removed in all of the barrier's threads."""
    here, which = growing.places[thread], growing.bodies[thread][: at + 1].count(removed)
    bodies = []
    for place, body in zip(growing.places, growing.bodies, strict=True):
        arrives = place.shares("cta", here) and (removed == "bar" or place.warp == here.warp)
        spots = list(itertools.islice((n for n, each in enumerate(body) if each == removed), which))
        bodies.append(body[: spots[-1]] + body[spots[-1] + 1 :] if arrives else list(body))
    return bodies


def twins(seed: int) -> tuple[Program, Program] | None:
    """Return a race-free program and the same program without one synchronization; None for some seeds."""
    chance = Random(seed)
    growing = _grown(chance)
    if growing is None:
        return None
    bodies = _without(growing, chance)
    if bodies is None or not all(bodies):
        return None
    return program(_text(growing.places, growing.bodies)), program(_text(growing.places, bodies))
