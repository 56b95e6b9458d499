"""Litmus programs in a line: what a few threads do with a few words of memory.

    st x; st.release.gpu f || ld.acquire.gpu f; ld x

Threads stand beside each other: `,` sets apart lanes of a warp, `|` warps of a block, `||` blocks of a cluster, `|||`
clusters. Operations are spelt as in PTX, without types: `ld`, `st`, `atom`, `red` of a location, with a semantics (weak
without one) and a scope; `poll`, an `ld` that is repeated until it reads a write of the program; `fence` with both;
`bar`, at which all threads of the block meet; `bar.warp`, at which those of the warp do, all with the same number of
operations before. Each write of a program has a value of its own: its bit, which `st` stores, and `atom` and `red` add,
so that what a read returns tells which writes it saw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_NAMES: Final = ("ld", "poll", "st", "atom", "red", "fence", "bar")
_APART: Final = re.compile(r"(\|{1,3}|,)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread runs: its cluster, its block in it, its warp in that, its lane."""

    cluster: int
    block: int
    warp: int
    lane: int = 0

    def beside(self, bars: str) -> Place:
        """Return the place behind `,`, `|`, `||` or `|||`."""
        if bars == ",":
            return replace(self, lane=self.lane + 1)
        if bars == "|":
            return Place(self.cluster, self.block, self.warp + 1)
        return Place(self.cluster, self.block + 1, 0) if bars == "||" else Place(self.cluster + 1, 0, 0)

    def shares(self, scope: str, other: Place) -> bool:
        """Tell whether a scope at this place includes another one."""
        if scope == "cta":
            return (self.cluster, self.block) == (other.cluster, other.block)
        return scope != "cluster" or self.cluster == other.cluster


@dataclass(frozen=True, slots=True)
class Operation:
    """What a thread does at one point: `bit` is the value of a write, `where` the location, empty for fences."""

    number: int
    thread: int
    name: str
    semantics: str
    scope: str
    where: str
    bit: int

    def __str__(self) -> str:
        words = [
            self.name,
            *([self.semantics] if self.semantics != "weak" else []),
            *([self.scope] if self.scope else []),
        ]
        return ".".join(words) + (f" {self.where}" if self.where else "")

    @property
    def reads(self) -> bool:
        """Whether it reads."""
        return self.name in ("ld", "poll", "atom", "red")

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.name in ("st", "atom", "red")

    @property
    def updates(self) -> bool:
        """Whether it reads and writes at once."""
        return self.reads and self.writes

    @property
    def in_order(self) -> bool:
        """Whether it is a `fence.sc`."""
        return (self.name, self.semantics) == ("fence", "sc")

    @property
    def strong(self) -> bool:
        """Whether the manual calls it strong: a fence is."""
        return self.name == "fence" or (bool(self.where) and self.semantics != "weak")


@dataclass(frozen=True, slots=True)
class Program:
    """A litmus program."""

    text: str
    places: tuple[Place, ...]
    operations: tuple[Operation, ...]

    @property
    def locations(self) -> tuple[str, ...]:
        """The words of memory, in order of first use."""
        return tuple(dict.fromkeys(each.where for each in self.operations if each.where))

    def thread(self, number: int) -> tuple[Operation, ...]:
        """Return what a thread does."""
        return tuple(each for each in self.operations if each.thread == number)


def program(text: str) -> Program:
    """Return the program that a line describes."""
    first, *rest = _APART.split(text)
    places, bodies = [Place(0, 0, 0)], [first]
    for bars, body in zip(rest[::2], rest[1::2], strict=True):
        places.append(places[-1].beside(bars))
        bodies.append(body)
    operations = list[Operation]()
    for thread, body in enumerate(bodies):
        for spelt in body.split(";"):
            bit = 1 << sum(each.writes for each in operations)
            operations.append(_operation(len(operations), thread, spelt.split(), bit))
    return Program(" ".join(text.split()), tuple(places), tuple(operations))


def _operation(number: int, thread: int, words: list[str], bit: int) -> Operation:
    (name, *modifiers), where = words[0].split("."), "".join(words[1:])
    if words[0] == "bar.warp":
        return Operation(number, thread, *words, "weak", "", "", bit)
    scope = modifiers.pop() if modifiers and modifiers[-1] in SCOPES else ""
    semantics = modifiers.pop() if modifiers else "weak"
    if name in ("atom", "red") and semantics == "weak":
        semantics, scope = "relaxed", scope or "gpu"  # Manual: "atom", where neither is named
    if name not in _NAMES or modifiers or (semantics == "weak") != (scope == ""):
        raise ValueError(f"no operation of a litmus program: {' '.join(words)}")
    return Operation(number, thread, name, semantics, scope, where, bit)
