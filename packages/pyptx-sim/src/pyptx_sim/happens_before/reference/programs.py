"""Litmus programs in one line: operations of a few threads on a few words of memory.

    st x; st.release.gpu f || ld.acquire.gpu f; ld x

Threads are separated by `,` (lanes of a warp), `|` (warps of a CTA), `||` (CTAs of a cluster) or `|||` (clusters).
Operations are written as in PTX, without types:

- `ld`, `st`, `atom`, `red` of a location, with semantics and scope; weak without them;
- `poll`: an `ld` that is repeated until it reads a write of the program;
- `fence` with semantics and scope;
- `bar`: barrier of all threads of the CTA;
- `bar.warp`: barrier of the threads of the warp, which have the same number of operations before it.

Each write of a program has a bit of its own, which `st` stores and `atom` and `red` add. The value of a read therefore
shows which writes it includes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_NAMES: Final = ("ld", "poll", "st", "atom", "red", "fence", "bar")
_APART: Final = re.compile(r"(\|{1,3}|,)")


@dataclass(frozen=True, slots=True)
class ThreadPosition:
    """Position of a thread: cluster, CTA in the cluster, warp in the CTA, lane in the warp."""

    cluster: int
    block: int
    warp: int
    lane: int = 0

    def beside(self, bars: str) -> ThreadPosition:
        """Return the position of the thread that follows this one after a `,`, `|`, `||` or `|||`."""
        if bars == ",":
            return replace(self, lane=self.lane + 1)
        if bars == "|":
            return ThreadPosition(self.cluster, self.block, self.warp + 1)
        return (
            ThreadPosition(self.cluster, self.block + 1, 0) if bars == "||" else ThreadPosition(self.cluster + 1, 0, 0)
        )

    def shares(self, scope: str, other: ThreadPosition) -> bool:
        """Return whether `scope` at this position includes the thread at `other`."""
        if scope == "cta":
            return (self.cluster, self.block) == (other.cluster, other.block)
        return scope != "cluster" or self.cluster == other.cluster


@dataclass(frozen=True, slots=True)
class Operation:
    """Operation of a thread: `bit` is the value of a write, `where` the location, empty for fences and barriers."""

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
        """Whether the operation reads a location."""
        return self.name in ("ld", "poll", "atom", "red")

    @property
    def writes(self) -> bool:
        """Whether the operation writes a location."""
        return self.name in ("st", "atom", "red")

    @property
    def updates(self) -> bool:
        """Whether the operation is an atomic read-modify-write."""
        return self.reads and self.writes

    @property
    def in_order(self) -> bool:
        """Whether the operation is a `fence.sc`."""
        return (self.name, self.semantics) == ("fence", "sc")

    @property
    def strong(self) -> bool:
        """Whether the operation is strong as the manual defines it; fences are strong."""
        return self.name == "fence" or (bool(self.where) and self.semantics != "weak")


@dataclass(frozen=True, slots=True)
class Program:
    """Litmus program: the operations of its threads."""

    text: str
    places: tuple[ThreadPosition, ...]
    operations: tuple[Operation, ...]

    @property
    def locations(self) -> tuple[str, ...]:
        """Memory locations, in order of first use."""
        return tuple(dict.fromkeys(each.where for each in self.operations if each.where))

    def thread(self, number: int) -> tuple[Operation, ...]:
        """Return the operations of a thread."""
        return tuple(each for each in self.operations if each.thread == number)


def program(text: str) -> Program:
    """Return the program parsed from its one-line text."""
    first, *rest = _APART.split(text)
    places, bodies = [ThreadPosition(0, 0, 0)], [first]
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
        return Operation(number, thread, words[0], "weak", "", "", bit)
    scope = modifiers.pop() if modifiers and modifiers[-1] in SCOPES else ""
    semantics = modifiers.pop() if modifiers else "weak"
    if name in ("atom", "red") and semantics == "weak":
        semantics, scope = "relaxed", scope or "gpu"  # default semantics and scope of atom, red. Manual: "atom"
    if name not in _NAMES or modifiers or (semantics == "weak") != (scope == ""):
        raise ValueError(f"unknown operation of a litmus program: {' '.join(words)}")
    return Operation(number, thread, name, semantics, scope, where, bit)
