"""Race checks of global memory by lines of 128 bytes instead of by lanes, for the usual coalesced accesses.

If the lanes of a warp access consecutive elements, a single shadow entry represents all lanes that access a line, each
lane its own element. This requires that no access is a race, that each element is always accessed by the same lane
number, and that the lanes of a warp have equal vector clocks. The first access to one of these lines that violates a
requirement moves all entries to the shadow, as an entry per lane. `WholeLines` records which lines are checked like
this, and their element size; the shadow has all other accesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import COLUMNS, MASK, NOBODY, PC, TIME, WARP, AccessEvent, reach_of
from pyptx_sim.happens_before.lane_masks import LANES, of_all_lanes
from pyptx_sim.shadow.entries import rises
from pyptx_sim.shadow.overflow import Overflow
from pyptx_sim.shadow.pages import Pages
from pyptx_sim.shadow.reads import Reads
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.shadow.tables import Table, parts_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.causality import Causality
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import AccessKind, AsyncAccess, Offsets
    from pyptx_sim.shadow.divisions import Division
    from pyptx_sim.shadow.shadow import Shadow

_BITS: Final = 7
_LINE: Final = 1 << _BITS  # number of bytes of a line (aligned piece of global memory)
_ELEMENTS: Final = tuple(_LINE // LANES << shift for shift in range(4))  # bytes accessed by each lane of a warp
_ALL: Final = np.arange(LANES)
_SHADOW: Final = len(_ELEMENTS) + 1


class WholeLines:
    """Checks 128-byte lines of global memory as whole lines, with a `Lines` object per element size."""

    def __init__(self, clocks: WarpClocks, causality: Causality, size: int) -> None:
        """Start with `size` bytes of global memory without accesses."""
        self._clocks = clocks
        self._parts = clocks, causality, size
        # for each 128-byte line: index of its element size in _ELEMENTS plus 1; _SHADOW: recorded in shadow memory; 0:
        # no access
        self._owner: NDArray[np.uint8] = zeros((size >> _BITS) + 2, np.uint8)
        self._by_size: dict[int, Lines] = {}

    @property
    def used(self) -> bool:
        """Whether any 128-byte line of global memory is checked as a whole, not by shadow granules."""
        return bool(self._by_size)

    def untouched(self, touch: AsyncAccess) -> bool:
        """Return True if no 1 KiB page that `touch` overlaps has a conflicting 128-byte line access; False: unknown."""
        return all(lines.untouched(touch) for lines in self._by_size.values())

    def enter(self, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int) -> bool:
        """Check and record accesses to whole 128-byte lines; return False, without a record, if the shadow must check.

        The shadow checks accesses that are not whole lines, and accesses that may be a race.
        """
        if kind not in {"read", "write"} or size not in _ELEMENTS or not self._clocks.alike(warps):
            return False
        if not _whole(offsets, size, lanes):
            return False
        at, own = offsets[:: _LINE // size] >> _BITS, 1 + _ELEMENTS.index(size)
        owners = self._owner.take(at)
        if not ((owners == 0) | (owners == own)).all():
            return False
        if size not in self._by_size:
            self._by_size[size] = Lines(*self._parts, size)
        if not self._by_size[size].enter(kind, at, warps, lanes, pc):
            return False
        self._owner[at] = own
        return True

    def leave(self, offsets: Offsets, size: int) -> bool:
        """Assign the accessed 128-byte lines to shadows; return False if their entries must be moved there first."""
        for at in (offsets >> _BITS, offsets + (size - 1) >> _BITS):
            owners = self._owner.take(at)
            if not ((owners == 0) | (owners == _SHADOW)).all():
                return False
            self._owner[at] = _SHADOW
        return True

    def move(self, division: Division) -> None:
        """Move the shadow entries of all 128-byte lines to the shadows of global memory."""
        for lines in self._by_size.values():
            lines.move(division)


def _whole(offsets: Offsets, size: int, lanes: Offsets) -> bool:
    """Return whether accesses of whole warps are to whole 128-byte lines, each lane to its own element in order."""
    if len(offsets) % LANES:
        return False
    lines = offsets.reshape(-1, _LINE // size)
    whole = not (lines[:, 0] % _LINE).any() and bool((lines - lines[:, :1] == _ALL[: lines.shape[1]] * size).all())
    return whole and (of_all_lanes(lanes) or bool((lanes.reshape(-1, LANES) == _ALL).all()))


class Lines:
    """Last weak accesses to each 128-byte line of global memory, for elements of one size."""

    def __init__(self, clocks: WarpClocks, causality: Causality, size: int, element: int) -> None:
        """Start with `size` bytes of global memory without accesses; `element` is the element size in bytes."""
        self._clocks, self._causality = clocks, causality
        self._entering = Reads(causality)
        count = -(-size // _LINE)
        self._element = element
        # per 128-byte line: number of its first accessing lane, plus 1; 0: no access
        self._lane: NDArray[np.uint8] = zeros(count, np.uint8)
        self._number: NDArray[np.int32] = zeros(count, np.int32)  # scratch array of `_differ`, one value per line
        self._write, self._read, self._first = Table(count), Table(count), Table(count)
        self._more_reads = Overflow(count)
        self._written, self._was_read = Pages(size), Pages(size)

    def untouched(self, touch: AsyncAccess) -> bool:
        """Return True if no 1 KiB page that `touch` overlaps has a conflicting 128-byte line access; False: unknown."""
        missed = self._written.misses(touch.offsets, touch.size)
        return missed and (not touch.writes or self._was_read.misses(touch.offsets, touch.size))

    def enter(self, kind: AccessKind, lines: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> bool:
        """Check and record accesses to whole 128-byte lines; return False, without a record, if they may be a race."""
        step = self._step(kind, lines, warps, lanes, pc)
        if not self._goes_its_way(step):
            return False
        if kind == "read":
            if not self._comes_behind(step, self._write):
                return False
            self._entering.enter(self._read, self._first, self._more_reads, step)
            self._was_read.mark(step.at, _LINE)
            return True
        if not rises(step.at) and not self._differ(step.at):
            return False
        if not all(self._comes_behind(step, table) for table in (self._write, self._read, self._first)):
            return False
        if not all(self._ordered(step, *part, reads=True) for part in self._more_reads.find_in_parts(step.at)):
            return False
        self._more_reads.drop(step.at)
        self._write.put(step.at, step.entries, step.reach)
        self._written.mark(step.at, _LINE)
        return True

    def _step(self, kind: AccessKind, at: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> AccessEvent:
        """Return accesses as an `AccessEvent` with one entry per 128-byte line."""
        count = _LINE // self._element
        warps, lanes = warps[::count], lanes[::count]
        entries = np.empty((len(at), COLUMNS), np.int32)
        first_warp = self._causality.first_warp
        masks: NDArray[np.uint32] = ((1 << count) - 1 << lanes).astype(np.uint32)
        entries[:, WARP], entries[:, MASK] = warps + first_warp, masks.view(np.int32)
        entries[:, TIME], entries[:, PC] = self._clocks.now[warps], pc
        rows = self._clocks.rows(warps, lanes)
        return AccessEvent("global", kind, at, reach_of(at), 1, warps, lanes, rows, entries, pc, first_warp)

    def _goes_its_way(self, step: AccessEvent) -> bool:
        """Return whether each line of `step` is accessed by the same lane numbers as before, whatever the warp."""
        lanes = (step.lanes + 1).astype(np.uint8)
        first = self._lane.take(step.at)
        self._lane[step.at] = lanes
        return not ((first != 0) & (first != lanes)).any() and bool((self._lane.take(step.at) == lanes).all())

    def _differ(self, lines: Offsets) -> bool:
        """Return whether the numbers in `lines` differ: then no index written to `_number` at a line is overwritten."""
        numbers = np.arange(len(lines), dtype=np.int32)
        self._number[lines] = numbers
        return bool((self._number.take(lines) == numbers).all())

    def _comes_behind(self, step: AccessEvent, table: Table) -> bool:
        """Return whether every access in `table` to the 128-byte lines of `step` happens before `step`."""
        last = table.touched(step.at, step.reach)
        if last is None:
            return True
        at = np.flatnonzero(last[:, WARP] != NOBODY)
        return self._ordered(step, at, last[at], reads=table is not self._write)

    def _ordered(self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], *, reads: bool) -> bool:
        return bool(self._causality.precede(step, at, last, reads=reads).all())

    # --- move to the shadow ---------------------------------------------------------------------

    def move(self, division: Division) -> None:
        """Move the shadow entries of these 128-byte lines to the shadows of global memory, as one entry per lane."""
        for shadow, at, entries in self._by_lane(division, *self._write.entries()):
            shadow.put_write(at, entries, reach_of(at))
        for shadow, at, entries in self._by_lane(division, *self._read.entries()):
            shadow.read.put(at, entries)
        for shadow, at, entries in self._by_lane(division, *self._first.entries()):
            shadow.first.put(at, entries)
        for shadow, at, entries in self._by_lane(division, *self._more_reads.entries()):
            shadow.more_reads.add(at, entries)

    def _by_lane(
        self, division: Division, at: NDArray[np.int64], entries: NDArray[np.int32]
    ) -> Iterator[tuple[Shadow, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the entries of lines `at` as entries of lanes: the shadow, its shadow granules, and their entries."""
        if not len(at):
            return
        count = _LINE // self._element
        masks = entries[:, MASK].astype(np.int64) & 0xFFFFFFFF
        lanes = (masks & -masks)[:, None] << np.arange(count)
        rows = entries.repeat(count, axis=0)
        rows[:, MASK] = lanes.reshape(-1).astype(np.uint32).view(np.int32)
        offsets = parts_at(at, count) * self._element
        for shadow, some in division.parts(offsets, self._element, reach_of(offsets)):
            here, its = (offsets, rows) if some is None else (offsets[some], rows[some])
            granules = shadow.fitted(here, self._element)
            yield shadow, granules.reshape(-1), its.repeat(granules.shape[1], axis=0)
