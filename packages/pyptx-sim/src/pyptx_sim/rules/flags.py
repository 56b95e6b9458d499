"""Reasons, for notes of findings, why a flag does not order two racing accesses.

A flag is a location that one thread writes with a strong access and another thread reads. The reason is a wrong scope,
a missing release or acquire, or a third thread. This module does not affect which races are found: `release_clocks`
orders accesses. Manual: "Release and Acquire Patterns", "Morally strong operations".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.happens_before.lane_masks import named
from pyptx_sim.happens_before.release_clocks import CROWD, level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Racer
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import Masks, Offsets, Order, RunView, Space

__all__ = ["Flags"]


@dataclass(slots=True)
class _Write:
    """Strong write of a flag; `fence` is the time and scope of the writing thread's last fence, None without one."""

    warp: int
    lane: int
    time: int
    order: Order
    pc: int
    fence: tuple[int, str] | None


@dataclass(slots=True)
class _Read:
    """Strong read of a flag that another thread wrote; `fence` is the scope of the reading thread's next fence."""

    lane: int
    write: _Write
    order: Order
    pc: int
    fence: str | None = None


class Flags:
    """Flags that the warps of one wave of CTAs have written and read."""

    def __init__(self, view: RunView, clocks: WarpClocks, within: Callable[..., NDArray[np.bool_]]) -> None:
        """Start without flags; `within` is `ReleaseClocks.within`, which compares scopes with pairs of warps."""
        self._view = view
        self._clocks = clocks
        self._within = within
        self._written: dict[tuple[Space, int], _Write] = {}
        # last read of each flag, by warp, then by lane, state space and offset
        self._read: dict[int, dict[tuple[int, Space, int], _Read]] = {}
        self._fences: dict[tuple[int, int], tuple[int, str]] = {}
        self._orders: dict[int, Order] = {}  # `Order` (scope, acquire, release) of the strong accesses at each pc

    def next_wave(self) -> None:
        """Forget the flags of the last wave of CTAs."""
        self._written.clear()
        self._read.clear()
        self._fences.clear()

    # --- events ---------------------------------------------------------------------------------

    def strong(self, order: Order, space: Space, offsets: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> None:
        """Record strong accesses of threads, unless the instruction accesses more than `CROWD` locations."""
        self._orders[pc] = order
        if len(offsets) > CROWD:
            return
        for offset, warp, lane in zip(offsets.tolist(), warps.tolist(), lanes.tolist(), strict=True):
            written = self._written.get((space, offset))
            if order.reads and order.hears and written is not None and (written.warp, written.lane) != (warp, lane):
                self._read.setdefault(warp, {})[lane, space, offset] = _Read(lane, written, order, pc)
            if order.writes:
                fence, time = self._fences.get((warp, lane)), int(self._clocks.now[warp])
                self._written[space, offset] = _Write(warp, lane, time, order, pc, fence)

    def fence(self, warps: Offsets, masks: Masks, scope: str) -> None:
        """Record a fence of lanes of `warps`; called before the fence advances the clocks."""
        for warp, mask in zip(warps.tolist(), masks, strict=True):
            for lane in np.flatnonzero(mask).tolist():
                self._fences[warp, lane] = int(self._clocks.now[warp]), scope
            for read in self._read.get(warp, {}).values():
                if mask[read.lane]:
                    read.fence = scope

    # --- reasons --------------------------------------------------------------------------------

    def why(self, me: Racer, other: Racer) -> str:
        """Return why flags that `me` has read do not order its access after that of `other`; empty if unknown."""
        mine, others = self._orders.get(me.pc), self._orders.get(other.pc)
        if mine is not None and others is not None:
            narrow = min(mine.scope, others.scope, key=level_of)
            held = self._holds(narrow, me.warp, other.warp)
            return (
                ""
                if held
                else f"both accesses are strong, but scope .{narrow} does not include both threads (not morally strong)"
            )
        for read in self._candidates(me, other):
            reason = self._fault(me, other, read)
            if reason:
                return reason
        return ""

    def _candidates(self, me: Racer, other: Racer) -> Iterator[_Read]:
        """Yield reads by `me` of flags written after the access of `other`; flags between the two threads first."""
        reads = [read for read in self._read.get(me.warp, {}).values() if self._behind(read.write, other)]
        yield from sorted(
            reads,
            key=lambda read: (read.write.warp != other.warp, not me.has(read.lane), not other.has(read.write.lane)),
        )

    def _behind(self, write: _Write, other: Racer) -> bool:
        """Return whether `write` is by the CTA of the racing access `other`, and after it if both are by one warp."""
        per_block = self._view.warps_per_cta
        if write.warp != other.warp:
            return write.warp // per_block == other.warp // per_block
        return write.time >= other.time

    def _fault(self, me: Racer, other: Racer, read: _Read) -> str:
        write, place = read.write, self._view.place
        writes, reads = f"flag write ({place(write.pc)})", f"flag read ({place(read.pc)})"
        narrow = min(write.order.scope, read.order.scope, key=level_of)
        if not self._holds(narrow, me.warp, write.warp):
            return f"{writes} or {reads} has scope .{narrow}, which does not include both threads"
        fenced = write.fence is not None and (write.warp != other.warp or write.fence[0] >= other.time)
        if not write.order.releases and not fenced:
            return f"{writes} is not a release: use st.release, or put a fence before it"
        if not read.order.acquires and read.fence is None:
            return f"{reads} is not an acquire: use ld.acquire, or put a fence after it"
        scopes = [read.fence] if read.fence is not None and not read.order.acquires else []
        scopes += [write.fence[1]] if write.fence is not None and not write.order.releases else []
        for scope in scopes:
            if not self._holds(scope, me.warp, write.warp):
                return f"the fence next to the flag access has scope .{scope}, which does not include both threads"
        if write.warp != other.warp or not other.has(write.lane):
            return f"{writes} is by another thread, which has not synchronized with the accessing thread since"
        if not me.has(read.lane):
            late = f"{named(me.mask)} has not synchronized with it since (bar.warp.sync)"
            return f"{reads} is by lane {read.lane} only; {late}"
        return ""

    def _holds(self, scope: str, warp: int, other: int) -> bool:
        return bool(self._within(*(np.array([each]) for each in (level_of(scope), warp, other)))[0])
