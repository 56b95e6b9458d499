"""`cp.async` copies: they write through the generic proxy, so that other proxies need a proxy fence.

Manual: "cp.async", which is performed in the generic proxy; "Async proxy".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import PC

if TYPE_CHECKING:
    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, RunView
    from pyptx_sim.rules.async_races import AsyncRaces, Report


class GenericCopies:
    """Checks accesses of other proxies to bytes that a generic asynchronous copy has written last."""

    def __init__(self, view: RunView, clocks: WarpClocks, work: AsyncRaces, report: Report) -> None:
        """Check the run that `view` describes."""
        self._view = view
        self._clocks = clocks
        self._work = work
        self._report = report
        self._copies: set[int] = set()  # pcs of asynchronous copies through the generic proxy

    def issued(self, work: AsyncOperations) -> None:
        """Record the pc of operations of async-groups that write through the generic proxy."""
        if work.kind is not None and any(touch.writes and work.proxy_of(touch) is None for touch in work.touches):
            self._copies.add(work.pc)

    def judge(self, work: AsyncOperations, touch: AsyncAccess, proxy: Proxy) -> None:
        """Report an access by another proxy to bytes of a copy, without a proxy fence after the wait for the copy."""
        found = self._work.written(touch) if self._copies else None
        if found is None:
            return
        offsets, pieces, last = found
        here = np.flatnonzero(np.isin(last[:, PC], np.fromiter(self._copies, np.int32)))
        offsets, pieces, last = offsets[here], pieces[here], last[here]
        owners = touch.owners[pieces]
        rows = self._clocks.rows(work.warps, work.lanes)[owners]
        # A proxy fence before the wait for a copy does not make the copy visible.
        bad = np.flatnonzero(self._work.unfenced(proxy, touch.space, rows, *self._work.agents.threads_of(last)))
        if len(bad):
            first = int(bad[0])
            where = self._view.describe(touch.space, max(int(offsets[first]), int(touch.offsets[pieces[first]])))
            who, does = self._view.warp_name(int(work.warps[owners[first]])), "write to" if touch.writes else "read of"
            message = f"{proxy.name}-proxy {does} {where} without a proxy fence after the generic copy"
            label = f"{'.'.join(self._view.opcode(work.pc)[:3])} issued by {who}"
            self._report(proxy.unfenced, message, work.pc, int(last[first, PC]), label=label)
