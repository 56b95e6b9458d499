"""Unidirectional proxy fences: visibility of generic writes to reads through a proxy, such as that of TMA descriptors.

A generic write is visible to a read through such a proxy if three operations follow one another in happens-before
order: a release to the proxy after the write, an acquire of the bytes, and the issue of the read. Manual: "membar,
fence", uni-directional proxy fences.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pyptx_sim.events import MASK, NOBODY, PC, TIME, WARP
from pyptx_sim.happens_before.columns import Columns
from pyptx_sim.happens_before.lane_masks import BITS, LANES, bits_of, lanes_in, masks_of
from pyptx_sim.happens_before.snapshots import known_alike

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, Masks, Offsets, RunView, Space
    from pyptx_sim.rules.async_races import Report
    from pyptx_sim.shadow.shadow import Shadow

# Number of latest acquires of the same bytes by the same lanes of a warp that are recorded.
_KEPT: Final = 8


class _Acquired(NamedTuple):
    """Acquire by lanes of a warp: its time, and the lanes' vector clock, which contains releases to the proxy."""

    time: int
    known: Clock


_Acquisitions: TypeAlias = "dict[tuple[int, int], deque[_Acquired]]"
"""Acquires of the same bytes, by warp and lane mask."""


class OneWayProxies:
    """Releases to unidirectional proxies, and acquires from them, by the warps of a wave of CTAs."""

    def __init__(self, view: RunView, clocks: WarpClocks, report: Report) -> None:
        """Check the run that `view` describes."""
        self._view = view
        self._clocks = clocks
        self._report = report
        self._released: dict[Proxy, Columns] = {}
        # Acquires from each proxy in each state space, by offset and size of the acquired bytes.
        self._acquired: dict[tuple[Proxy, Space], dict[tuple[int, int], _Acquisitions]] = {}

    def next_wave(self) -> None:
        """Forget the acquires by warps of the last wave of CTAs."""
        self._acquired.clear()

    def released(self, proxy: Proxy, warps: Offsets, masks: Masks) -> None:
        """Record a release to a proxy, by lanes of `warps`, of generic accesses that happen before it."""
        self._clocks.show(self._columns(proxy), warps, masks)

    def acquired(self, proxy: Proxy, space: Space, place: int, size: int, warps: Offsets, masks: Masks) -> None:
        """Record an acquire of `size` bytes at offset `place` from a proxy, by lanes of `warps`."""
        acquired = self._acquired.setdefault((proxy, space), {}).setdefault((place, size), {})
        for warp, mask, known in known_alike(self._clocks, warps, masks):
            lanes = int(masks_of(mask[None])[0])
            times = acquired.setdefault((warp, lanes), deque(maxlen=_KEPT))
            times.append(_Acquired(int(self._clocks.now[warp]), known))

    def judge(self, work: AsyncOperations, touch: AsyncAccess, proxy: Proxy, shadow: Shadow, first_warp: int) -> None:
        """Report operations that read bytes through a proxy to which the last write of the bytes is not visible."""
        granules = shadow.granules(touch.offsets, touch.size)
        at = granules.reshape(-1)
        last = shadow.write.touched(at)
        if last is None:
            return
        written = np.flatnonzero(last[:, WARP] != NOBODY)
        at, last = at[written], last[written]
        owners = np.repeat(touch.owners, granules.shape[1])[written]
        issuers, lanes = work.warps[owners], work.lanes[owners]
        for further in range(work.together):
            threads = (issuers + further) * LANES + lanes
            for thread in (divmod(each, LANES) for each in np.unique(threads).tolist()):
                own = np.flatnonzero(threads == thread[0] * LANES + thread[1])
                places = at[own] * shadow.granule
                seen = self._seen(proxy, touch.space, thread, places, shadow.granule, last[own], first_warp)
                if not seen.all():
                    bad = int(own[int(seen.argmin())])
                    self._tell(work, touch, proxy, thread[0], int(at[bad]) * shadow.granule, int(last[bad, PC]))

    def _seen(
        self,
        proxy: Proxy,
        space: Space,
        thread: tuple[int, int],
        places: NDArray[np.int64],
        granule: int,
        last: NDArray[np.int32],
        first_warp: int,
    ) -> NDArray[np.bool_]:
        """Return, per write in `last`, whether it is visible to the proxy when `thread` issues an operation.

        Write i is to the shadow granule at offset `places[i]`.
        """
        seen = np.zeros(len(last), np.bool_)
        for (place, size), acquired in self._acquired.get((proxy, space), {}).items():
            here = np.flatnonzero((places >= place) & (places + granule <= place + size))
            for known in self._before(acquired, *thread) if len(here) else ():
                self._see(seen, here, known, proxy, last, first_warp)
        return seen

    def _before(self, acquired: _Acquisitions, warp: int, lane: int) -> Iterator[Clock]:
        """Yield the vector clocks of acquires, by any thread, that happen before the next operation of a thread."""
        row, mine = self._clocks.rows(np.array([warp]), np.array([lane])), bits_of(np.array([lane]))
        for (other, lanes), times in acquired.items():
            bits = BITS[lanes_in(lanes)]
            threads = row.repeat(len(bits)), np.full(len(bits), other)
            for each in times:
                at = np.full(len(bits), each.time)
                before = self._clocks.orders(*threads, bits, at)
                if other == warp:
                    before = self._clocks.orders_within(*threads, mine, bits, at)
                if before.any():
                    yield each.known

    def _see(
        self,
        seen: NDArray[np.bool_],
        here: NDArray[np.int64],
        known: Clock,
        proxy: Proxy,
        last: NDArray[np.int32],
        first_warp: int,
    ) -> None:
        """Set `seen` at `here`: writes whose release to the proxy is in `known`, the vector clock of an acquire."""
        columns, writers = self._columns(proxy), last[here, WARP].astype(np.int64) - first_warp
        wide = np.zeros((1, self._clocks.known.shape[1]), np.int32)
        wide[0, : len(known)] = known
        row, others = np.zeros(len(here), np.int64), np.maximum(writers, 0)
        # Writes of earlier waves count as released: the clocks of later waves do not contain releases to a proxy.
        seen[here] |= (writers < 0) | columns.hold(wide, row, others, last[here, MASK], last[here, TIME])

    def _tell(
        self, work: AsyncOperations, touch: AsyncAccess, proxy: Proxy, warp: int, offset: int, other_pc: int
    ) -> None:
        where = self._view.describe(touch.space, offset)
        message = f"{where} was modified and used without a proxy fence"
        labels = f"use of the {proxy.reads} by {self._view.warp_name(warp)}", "modification"
        self._report(proxy.unfenced, message, work.pc, other_pc, label=labels[0], other_label=labels[1])

    def _columns(self, proxy: Proxy) -> Columns:
        if proxy not in self._released:
            self._released[proxy] = Columns(self._clocks)
        return self._released[proxy]
