"""Global memory that warps have touched line by line: most of a kernel's accesses, judged by lines and not by lanes.

Where the lanes of a warp go to elements side by side, one entry stands for all lanes that touch a line of 128 bytes,
each its own element. That lasts as long as there is nothing to be said, and no lane goes to another one's element: the
first other access moves all that is known to the shadow, lane by lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.entries import rises
from pyptx_sim.checks.race.lane_masks import LANES
from pyptx_sim.checks.race.pages import Pages
from pyptx_sim.checks.race.reads import Reads
from pyptx_sim.checks.race.reports import Step
from pyptx_sim.checks.race.shadow import COLUMNS, MASK, NOBODY, PC, TIME, WARP, WIDEST_ACCESS, Overflow, Table, reach_of
from pyptx_sim.checks.race.sparse import zeros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.causality import Causality
    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.observer import AccessKind, Offsets, Touch

_LINE: Final = 128  # bytes
_SMALLEST: Final = _LINE // LANES
_ALL: Final = np.arange(LANES)


class Lines:
    """The last weak accesses of global memory by lines, all of elements of one size."""

    def __init__(self, clocks: WarpClocks, causality: Causality, size: int) -> None:
        """Begin with memory of so many bytes that nobody has touched."""
        self._clocks, self._causality = clocks, causality
        self._entering = Reads(causality)
        count = -(-size // _LINE)
        self._element = 0  # bytes of what a lane touches
        self._lane: NDArray[np.uint8] = zeros(count, np.uint8)  # the first lane that touches a line, from 1
        self._write, self._read, self._first = Table(count), Table(count), Table(count)
        self._more_reads = Overflow(count)
        self._written, self._was_read = Pages(size), Pages(size)

    @property
    def used(self) -> bool:
        """Whether anybody has touched anything."""
        return self._element > 0

    def untouched(self, touch: Touch) -> bool:
        """Tell at a glance that warps have done nothing that `touch` may meet; False says nothing."""
        missed = self._written.misses(touch.offsets, touch.size)
        return missed and (not touch.writes or self._was_read.misses(touch.offsets, touch.size))

    def enter(self, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int) -> bool:
        """Judge and enter accesses, if that can be done by lines and there is nothing to be said; else tell so."""
        if kind not in {"read", "write"} or not self._fit(offsets, size, lanes):
            return False
        step = self._step(kind, offsets, warps, lanes, pc)
        if not self._goes_its_way(step):
            return False
        if kind == "read":
            if not self._comes_behind(step, self._write):
                return False
            self._entering.enter(self._read, self._first, self._more_reads, step)
            self._was_read.mark(step.at, _LINE)
            return True
        if not rises(step.at) and len(np.unique(step.at)) < len(step.at):
            return False
        if not all(self._comes_behind(step, table) for table in (self._write, self._read, self._first)):
            return False
        more = self._more_reads.find(step.at)
        if more is not None and not self._ordered(step, *more, reads=True):
            return False
        self._more_reads.drop(step.at)
        self._write.put(step.at, step.entries, step.reach)
        self._written.mark(step.at, _LINE)
        return True

    def _fit(self, offsets: Offsets, size: int, lanes: Offsets) -> bool:
        """Tell whether all lanes of warps touch whole lines, each its own element, of the size of all before."""
        if len(offsets) % LANES or not _SMALLEST <= size <= WIDEST_ACCESS or self._element not in {0, size}:
            return False
        lines = offsets.reshape(-1, _LINE // size)
        whole = not (lines[:, 0] % _LINE).any() and bool((lines - lines[:, :1] == _ALL[: lines.shape[1]] * size).all())
        if not whole or not (lanes.reshape(-1, LANES) == _ALL).all():
            return False
        self._element = size
        return True

    def _step(self, kind: AccessKind, offsets: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> Step:
        """Return a step with one entry for each line."""
        count = _LINE // self._element
        at, warps, lanes = offsets[::count] // _LINE, warps[::count], lanes[::count]
        entries = np.empty((len(at), COLUMNS), np.int32)
        first_warp = self._causality.first_warp
        masks: NDArray[np.uint32] = ((1 << count) - 1 << lanes).astype(np.uint32)
        entries[:, WARP], entries[:, MASK] = warps + first_warp, masks.view(np.int32)
        entries[:, TIME], entries[:, PC] = self._clocks.now[warps], pc
        rows = self._clocks.rows(warps, lanes)
        return Step("global", kind, at, reach_of(at), 1, warps, lanes, rows, entries, pc, first_warp)

    def _goes_its_way(self, step: Step) -> bool:
        """Tell whether each line is touched by the lanes that always touch it, whatever their warp."""
        lanes = (step.lanes + 1).astype(np.uint8)
        first = self._lane.take(step.at)
        self._lane[step.at] = lanes
        return not ((first != 0) & (first != lanes)).any() and bool((self._lane.take(step.at) == lanes).all())

    def _comes_behind(self, step: Step, table: Table) -> bool:
        """Tell whether every access in a table to what a step touches is ordered before it."""
        last = table.touched(step.at, step.reach)
        if last is None:
            return True
        at = np.flatnonzero(last[:, WARP] != NOBODY)
        return self._ordered(step, at, last[at], reads=table is not self._write)

    def _ordered(self, step: Step, at: NDArray[np.int64], last: NDArray[np.int32], *, reads: bool) -> bool:
        return bool(self._causality.precede(step, at, last, reads=reads).all())

    # --- leaving --------------------------------------------------------------------------------

    def move(self, shadow: Shadow) -> None:
        """Move all that is known to a shadow that knows nothing, lane by lane."""
        if not self._element:
            return
        shadow.narrow(self._element)
        for at, entries in self._by_lane(*self._write.entries()):
            shadow.put_write(at, entries, reach_of(at))
        for table, other in ((self._read, shadow.read), (self._first, shadow.first)):
            for at, entries in self._by_lane(*table.entries()):
                other.put(at, entries)
        for at, entries in self._by_lane(*self._more_reads.entries()):
            shadow.more_reads.add(at, entries)

    def _by_lane(
        self, at: NDArray[np.int64], entries: NDArray[np.int32]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield entries of lines as those of lanes, if there are any."""
        if not len(at):
            return
        count = _LINE // self._element
        masks = entries[:, MASK].astype(np.int64) & 0xFFFFFFFF
        lanes = (masks & -masks)[:, None] << np.arange(count)
        rows = entries.repeat(count, axis=0)
        rows[:, MASK] = lanes.reshape(-1).astype(np.uint32).view(np.int32)
        yield (at[:, None] * count + np.arange(count)).reshape(-1), rows
