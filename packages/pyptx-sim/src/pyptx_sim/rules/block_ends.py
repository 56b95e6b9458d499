"""`cluster-cta-exited`: accesses to the shared memory of another CTA that may happen after its exit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.events import PC, TIME, WARP
from pyptx_sim.happens_before.lane_masks import masks_of
from pyptx_sim.rules.dsmem_accesses import ForeignAccesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.happens_before.phases import Phases
    from pyptx_sim.observer import Offsets, RunView, Signal
    from pyptx_sim.rules.async_races import AsyncRaces, Report


class BlockEnds:
    """Checks remote accesses, arrivals and asynchronous operations against the exit of the CTA that has the memory.

    CUDA guide: "Distributed Shared Memory".
    """

    def __init__(self, view: RunView, clocks: WarpClocks, phases: Phases, work: AsyncRaces, report: Report) -> None:
        """Check the run that `view` describes."""
        self._view = view
        self._clocks = clocks
        self._phases = phases
        self._work = work
        self._report = report
        # Time and pc of the last arrival from another CTA, by mbarrier offset, arriving warp and lane mask.
        self._arrivals: dict[tuple[int, int, int], tuple[int, int]] = {}
        self.foreign = ForeignAccesses(view, clocks)
        """Last accesses of warps to the shared memory of other CTAs."""

    def next_wave(self) -> None:
        """Forget the CTAs of the last wave."""
        self._arrivals.clear()
        self.foreign.next_wave()

    def arrived(self, signals: Sequence[Signal], pc: int) -> None:
        """Record arrivals at mbarriers of other CTAs."""
        if self._view.cluster_size > 1:
            places = np.repeat([each.place for each in signals], [len(each.warps) for each in signals])
            warps = np.concatenate([each.warps for each in signals])
            foreign = np.flatnonzero(warps // self._view.warps_per_cta != places // self._view.shared_stride())
            if len(foreign):
                lanes = masks_of(np.concatenate([each.masks for each in signals])[foreign]).tolist()
                times = self._clocks.now[warps[foreign]].tolist()
                who = zip(places[foreign].tolist(), warps[foreign].tolist(), lanes, strict=True)
                self._arrivals.update((each, (time, pc)) for each, time in zip(who, times, strict=True))

    def wave_ended(self) -> None:
        """Report accesses to a CTA's shared memory, and arrivals at its mbarriers, that may follow its exit."""
        by_block: dict[int, list[tuple[int, int, int, int, int]]] = {}
        for who, arrival in self._arrivals.items():
            by_block.setdefault(who[0] // self._view.shared_stride(), []).append((*who, *arrival))
        if by_block:
            places, warps, masks, times, pcs = np.concatenate([np.array(arrivals) for arrivals in by_block.values()]).T
            ends = self._known_at_end(np.array(list(by_block)))
            which = np.repeat(np.arange(len(ends)), [len(arrivals) for arrivals in by_block.values()])
            late = np.flatnonzero(~self._held_at_end(ends, which, warps, masks, times))
            self._tell_exited("mbarrier.arrive on", warps[late], places[late], pcs[late])
        for block, foreign in self.foreign.by_block():
            end, only = self._known_at_end(np.array([block])), np.zeros(len(foreign.warps), np.int64)
            first = np.flatnonzero(~self._held_at_end(end, only, foreign.warps, foreign.masks, foreign.times))[:1]
            does = "remote write to" if foreign.writes[first].any() else "remote read of"
            self._tell_exited(does, foreign.warps[first], foreign.offsets[first], foreign.pcs[first])
        self._judge_work()

    def _judge_work(self) -> None:
        """Report asynchronous reads of a CTA's shared memory that may follow its exit.

        Only reads that complete on another CTA's mbarrier are checked.
        """
        stride, places = self._view.shared_stride(), self._work.agents.barriers()
        # by clock column: CTA slot of the mbarrier whose operation queue has the column, or -1
        homes = np.full(self._clocks.known.shape[1], -1)
        homes[list(places)] = [place // stride for place in places.values()]
        for at, rows in self._work.told_reads():
            agents, blocks = rows[:, WARP] - 1, at // stride
            foreign = np.flatnonzero((homes[agents] >= 0) & (homes[agents] != blocks))
            for block, agent in sorted(set(zip(blocks[foreign].tolist(), agents[foreign].tolist(), strict=True))):
                here = np.flatnonzero((blocks == block) & (agents == agent))
                late = here[self._known_at_end(np.array([block]))[0, agent] < rows[here, TIME]]
                if len(late):
                    first = int(late[0])
                    where, pc = self._view.describe("shared", int(at[first])), int(rows[first, PC])
                    cta = self._view.cta_name(block)
                    message = f"asynchronous read of {where} of {cta}, which may have exited"
                    self._report("cluster-cta-exited", message, pc, None)

    def _known_at_end(self, blocks: Offsets) -> Clock:
        """Return, per CTA, the joint vector clock of its warps at the exit of its last warp."""
        return self._clocks.known_of(blocks, self._view.warps_per_cta)

    def _held_at_end(
        self, ends: Clock, rows: Offsets, others: Offsets, masks: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Return, per access, whether it is complete at the exit of a CTA, by vector clock `rows[i]` of `ends`.

        What the access has written need not be visible to the CTA.
        """
        held = self._clocks.own.hold(ends, rows, others, masks, times)
        if self._phases.over is not None:
            held |= self._phases.over.hold(ends, rows, others, masks, times)
        return held

    def _tell_exited(self, does: str, warps: Offsets, offsets: Offsets, pcs: NDArray[Any]) -> None:
        """Report the first access of each instruction to shared memory of a CTA that may have exited."""
        for pc in dict.fromkeys(pcs.tolist()):
            here = np.flatnonzero(pcs == pc)
            offset = int(offsets[here[0]])
            who, where = self._view.warp_name(int(warps[here[0]])), self._view.describe("shared", offset)
            block = offset // self._view.shared_stride()
            message = f"{does} {where} of {self._view.cta_name(block)}, which may have exited"
            label = f"{'.'.join(self._view.opcode(pc)[:2])} by {who}"
            self._report("cluster-cta-exited", message, pc, None, label=label, count=len(here))
