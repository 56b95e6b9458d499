"""Which bytes of host memory have one place in the global space: those of arrays that overlap or interleave."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.images import RED_ZONE
from pyptx_sim.program.layout import aligned
from pyptx_sim.spans import ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.spans import Span

_NOWHERE: Final = -1


@dataclass(slots=True, eq=False)
class Placed:
    """An array with its place in the global space; `output` as in `Uninitialised`.

    `name` is the user's name of it, `what` the same for messages about addresses.

    `written` marks the bytes that something has written; None: all. `shared`: others have bytes in the same region.
    """

    host: Span
    start: int
    name: str
    what: str
    written: NDArray[np.uint8] | None = None
    output: Output | None = None
    shared: bool = False
    _loaded: NDArray[np.uint8] | None = None

    @property
    def size(self) -> int:
        """The bytes from the first element through the last one."""
        return self.host.size

    @property
    def span(self) -> slice:
        """The array's offsets."""
        return slice(self.start, self.start + self.host.size)

    def covers(self, other: Span, *, fresh: bool) -> bool:
        """Return whether loading and storing this array does so for another, which is `fresh`, too."""
        host = self.host
        return (
            host.low <= other.low
            and other.high <= host.high
            and not host.gaps
            and (host.writeable or not other.writeable)
            and (self.written is None or fresh)
        )

    def load(self, arena: Arena) -> None:
        """Write the array's contents into the global space."""
        host = self.host
        arena.data[self.span] = host.data
        if host.gaps:
            self._loaded = host.data.copy()
        if arena.defined is not None:
            arena.defined[self.span] = 0xFF

    def mark(self, defined: NDArray[np.uint8]) -> None:
        """Mark the elements that something has written, and no others, as defined."""
        known = 0xFF if self.written is None else self.host.elements(self.written)
        self.host.elements(defined, self.start)[...] = known

    def store(self, arena: Arena) -> None:
        """Write what the global space holds into the array; of one with gaps, only the bytes that have changed."""
        now, data = arena.data[self.span], self.host.data
        if not self.host.writeable:
            if not np.array_equal(now, data):
                raise LaunchError(
                    f"the kernel has written to {self.name}, which is a read-only array",
                    hint="pass a writeable copy",
                )
        elif self._loaded is None:
            data[...] = now
        else:  # other threads of the host may have changed what lies between the elements
            changed = now != self._loaded
            data[changed] = now[changed]
            self._loaded = None
        if self.written is not None:  # unknown without checks, which must not cause findings later
            self.written = None if arena.defined is None else arena.defined[self.span].copy()


def load(placed: Sequence[Placed], arena: Arena) -> None:
    """Write the contents of arrays into the global space, and mark there what nothing has written.

    An element that one of several overlapping arrays holds initialized is initialized.
    """
    for each in placed:
        each.load(arena)
    fresh = [each for each in placed if each.written is not None]
    if arena.defined is None or not fresh:
        return
    for each in fresh:
        each.mark(arena.defined)
    for each in placed:
        if each.shared and each.written is None:
            each.mark(arena.defined)


def store(placed: Sequence[Placed], arena: Arena) -> None:
    """Write what the global space holds into arrays; LaunchError if a read-only one, and no other, has changed."""
    for each in sorted(placed, key=lambda each: not each.host.writeable):
        each.store(arena)


@dataclass(slots=True, eq=False)
class Region:
    """Bytes of host memory from address `low` up to `high`, and their place in the global space, `start`.

    `fixed`: addresses in it are known to users, so it cannot grow. `grown`: it has replaced regions of arrays that
    overlap, of which addresses may have been handed out already. `views` are the arrays in it.
    """

    low: int
    high: int
    phase: int
    start: int = _NOWHERE
    fixed: bool = False
    grown: bool = False
    views: list[Placed] = field(default_factory=list[Placed])

    @property
    def size(self) -> int:
        """The bytes."""
        return self.high - self.low

    def place(self, end: int) -> int:
        """Give it a place from `end` on, as aligned as in its allocation, if it has none; return the end after it."""
        if self.start != _NOWHERE:
            return end
        self.start = end + self.phase
        return next_place(self.start + self.size)

    def at(self, host: Span) -> int:
        """Return the place of an array in it."""
        return self.start + host.low - self.low

    def add(self, placed: Placed) -> None:
        """Add an array."""
        self.views.append(placed)
        if len(self.views) > 1:
            for each in self.views:
                each.shared = True

    def buffer(self) -> Buffer:
        """Return its bounds and the names of the arrays in it."""
        end, name, parts = self.start + self.size, self.views[0].what, tuple[Buffer, ...]()
        if len(self.views) > 1:
            parts = tuple(Buffer(view.start, view.start + view.size, view.what) for view in self.views)
        return Buffer(self.start, end, name, shown=True, parts=parts)


def next_place(end: int) -> int:
    """Return where an allocation may begin after one that ends at an offset."""
    return aligned(end + RED_ZONE, ALIGNMENT)


class Regions:
    """Regions of host memory, which do not overlap."""

    def __init__(self, known: Iterable[Region] = ()) -> None:
        """Begin with some."""
        self._ordered = sorted(known, key=attrgetter("low"))
        self._lows = [region.low for region in self._ordered]
        self._highs = [region.high for region in self._ordered]
        self._empty: list[Region] = []

    def __iter__(self) -> Iterator[Region]:
        """Return all of them."""
        return chain(self._ordered, self._empty)

    def of(self, host: Span, name: str) -> Region:
        """Return the region that holds an array, or a new one that replaces all regions that it overlaps.

        An array without elements has a region of its own. Raise LaunchError if a region that is replaced is fixed.
        """
        if not host.size:
            self._empty.append(Region(host.low, host.high, host.phase))
            return self._empty[-1]
        first, last = bisect_right(self._highs, host.low), bisect_left(self._lows, host.high)
        met = self._ordered[first:last]
        if len(met) == 1 and met[0].low <= host.low and host.high <= met[0].high:
            return met[0]
        for region in met:
            if region.fixed:
                raise LaunchError(
                    f"{name} lies in part in {region.views[0].name}, which has its place in the memory already",
                    hint="put the array that both are views of into the memory first: its views lie in its place",
                )
        made = Region(host.low, host.high, host.phase)
        if met:
            lowest = min((made, *met), key=attrgetter("low"))
            made = Region(lowest.low, max(host.high, met[-1].high), lowest.phase, grown=True)
        self._ordered[first:last], self._lows[first:last], self._highs[first:last] = [made], [made.low], [made.high]
        return made

    def grown(self) -> list[Region]:
        """Return those that have grown, without their places and arrays."""
        return [Region(each.low, each.high, each.phase) for each in self._ordered if each.grown]
