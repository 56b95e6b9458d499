"""Regions of host memory: arrays that overlap or interleave are in one region, which is copied to global memory."""

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
    from pyptx_sim.spans import HostSpan

_NOWHERE: Final = -1


@dataclass(slots=True, eq=False)
class Placed:
    """An array with its offset in global memory; `output` is the kernel output that it was allocated for, or None.

    `name` is the user's name of the array, `what` the name for messages about addresses. `written` is 0xFF for
    initialized bytes of the array; None if all are initialized. `shared`: other arrays are in the same region.
    """

    host: HostSpan
    start: int
    name: str
    what: str
    written: NDArray[np.uint8] | None = None
    output: Output | None = None
    shared: bool = False
    _loaded: NDArray[np.uint8] | None = None

    @property
    def size(self) -> int:
        """Number of bytes from the first element through the last element."""
        return self.host.size

    @property
    def span(self) -> slice:
        """Offsets of the array's bytes in global memory."""
        return slice(self.start, self.start + self.host.size)

    def covers(self, other: HostSpan, *, fresh: bool) -> bool:
        """Return whether copying this array to and from global memory also copies `other` (`fresh`: uninitialized)."""
        host = self.host
        return (
            host.low <= other.low
            and other.high <= host.high
            and not host.gaps
            and (host.writeable or not other.writeable)
            and (self.written is None or fresh)
        )

    def load(self, arena: Arena) -> None:
        """Copy the array to the simulated global memory."""
        host = self.host
        arena.data[self.span] = host.data
        if host.gaps:
            self._loaded = host.data.copy()
        if arena.defined is not None:
            arena.defined[self.span] = 0xFF

    def mark(self, defined: NDArray[np.uint8]) -> None:
        """Mark the array's initialized elements as defined, and its other elements as undefined."""
        known = 0xFF if self.written is None else self.host.elements(self.written)
        self.host.elements(defined, self.start)[...] = known

    def store(self, arena: Arena) -> None:
        """Copy the array back from global memory; if it has gaps between elements, copy only changed bytes."""
        now, data = arena.data[self.span], self.host.data
        if not self.host.writeable:
            if not np.array_equal(now, data):
                raise LaunchError(
                    f"kernel wrote to read-only array {self.name}",
                    help="pass a writeable copy",
                )
        elif self._loaded is None:
            data[...] = now
        else:  # only changed values: other host threads may have written to the bytes between the elements
            changed = now != self._loaded
            data[changed] = now[changed]
            self._loaded = None
        if self.written is not None:  # without tracking of undefined bits, all bytes count as initialized
            self.written = None if arena.defined is None else arena.defined[self.span].copy()


def load(placed: Sequence[Placed], arena: Arena) -> None:
    """Copy arrays to global memory, and mark their uninitialized elements as undefined.

    An element of overlapping arrays is initialized if it is initialized in any of these arrays.
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
    """Copy arrays back from global memory; LaunchError if changed bytes are in read-only arrays only."""
    for each in sorted(placed, key=lambda each: not each.host.writeable):
        each.store(arena)


@dataclass(slots=True, eq=False)
class Region:
    """Host memory from address `low` up to `high`, and the offset `start` of its copy in global memory.

    `fixed`: the user has device addresses in the region, so it cannot grow. `grown`: the region replaces regions of
    overlapping arrays, whose addresses may already be in use. `views` are the region's arrays.
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
        """Size of the region in bytes."""
        return self.high - self.low

    def place(self, end: int) -> int:
        """Set the region's offset, if unset, to `end` or later, aligned as on the host; return the next free offset."""
        if self.start != _NOWHERE:
            return end
        self.start = end + self.phase
        return next_place(self.start + self.size)

    def at(self, host: HostSpan) -> int:
        """Return the offset in global memory of an array of the region."""
        return self.start + host.low - self.low

    def add(self, placed: Placed) -> None:
        """Add an array to the region."""
        self.views.append(placed)
        if len(self.views) > 1:
            for each in self.views:
                each.shared = True

    def buffer(self) -> Buffer:
        """Return a `Buffer` with the bounds of the region and the names of its arrays."""
        end, name, parts = self.start + self.size, self.views[0].what, tuple[Buffer, ...]()
        if len(self.views) > 1:
            parts = tuple(Buffer(view.start, view.start + view.size, view.what) for view in self.views)
        return Buffer(self.start, end, name, shown=True, parts=parts)


def next_place(end: int) -> int:
    """Return the lowest offset at which an allocation may start after an allocation that ends at `end`."""
    return aligned(end + RED_ZONE, ALIGNMENT)


class Regions:
    """Collection of disjoint regions of host memory."""

    def __init__(self, known: Iterable[Region] = ()) -> None:
        """Start with the regions `known`, which must be disjoint."""
        self._ordered = sorted(known, key=attrgetter("low"))
        self._lows = [region.low for region in self._ordered]
        self._highs = [region.high for region in self._ordered]
        self._empty: list[Region] = []

    def __iter__(self) -> Iterator[Region]:
        """Iterate over all regions, first those with elements, by host address."""
        return chain(self._ordered, self._empty)

    def of(self, host: HostSpan, name: str) -> Region:
        """Return the region that contains an array, or a new region that replaces all regions that overlap the array.

        An array without elements gets its own region. Raise LaunchError if a replaced region is `fixed`.
        """
        if not host.size:
            self._empty.append(Region(host.low, host.high, host.phase))
            return self._empty[-1]
        first, last = bisect_right(self._highs, host.low), bisect_left(self._lows, host.high)
        overlapping = self._ordered[first:last]
        if len(overlapping) == 1 and overlapping[0].low <= host.low and host.high <= overlapping[0].high:
            return overlapping[0]
        for region in overlapping:
            if region.fixed:
                raise LaunchError(
                    f"{name} partially overlaps {region.views[0].name}, which is already in the memory",
                    help="first call put() with the array that both are views of",
                )
        made = Region(host.low, host.high, host.phase)
        if overlapping:
            lowest = min((made, *overlapping), key=attrgetter("low"))
            made = Region(lowest.low, max(host.high, overlapping[-1].high), lowest.phase, grown=True)
        self._ordered[first:last], self._lows[first:last], self._highs[first:last] = [made], [made.low], [made.high]
        return made

    def grown(self) -> list[Region]:
        """Return the regions that replaced regions of overlapping arrays, as copies without offsets and arrays."""
        return [Region(each.low, each.high, each.phase) for each in self._ordered if each.grown]
