"""The race checker for shared and global memory.

Two accesses to the same bytes race when at least one of them writes, not both are strong (atomics, and loads and stores
that are volatile, relaxed, acquire or release), and neither happens before the other (manual: "Memory Consistency
Model", "Data-races").
`clocks` says what happens before what, `shadow` remembers the last write and the last read of each granule.

What it can miss: a read of global memory, or by another lane of the same warp, that a later read of the same bytes has
overwritten in the shadow before the racing write came. Of shared memory the last read of every warp is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.checks.clocks import LaneClocks, WarpClocks
from pyptx_sim.checks.shadow import NOBODY, SEVERAL, Shadow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import AccessKind, Masks, Offsets, RunView, Space

RACE_RULES = frozenset({"shared-race", "global-race", "lane-race"})

_HINTS = {
    "shared-race": "let the threads of the block meet between the two: bar.sync",
    "global-race": "order the two: a barrier inside a block; across blocks a fence and an atomic, or two launches",
    "lane-race": "lanes of a warp are not ordered by running together: put bar.warp.sync between the two",
}
_DONE = {"write": "wrote", "read": "read"}


@dataclass(frozen=True, slots=True)
class _Step:
    """One access event, flattened to granules: entry i touches granule `at[i]`."""

    space: Space
    kind: AccessKind
    at: NDArray[np.int64]
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]
    pc: int


class RaceChecker:
    """Reports `shared-race`, `global-race` and `lane-race`."""

    def __init__(self, view: RunView) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._warp_clocks = WarpClocks(view.warps)
        self._lane_clocks = LaneClocks(view.warps)
        self._shadows: dict[Space, Shadow] = {}
        self._wave = -1
        self._group = view.warps_per_cta * view.cluster_size  # warps that can reach the same shared memory

    # --- events ---------------------------------------------------------------------------------

    def wave_started(self) -> None:
        """Forget shared memory and the old warps; global memory stays, written by warps of an earlier wave."""
        self._wave += 1
        self._warp_clocks.next_wave()
        self._lane_clocks.next_wave()
        shared = self._shadows.get("shared")
        if shared is not None:
            shared.clear()

    def barrier(self, warps: Offsets, pc: int) -> None:  # noqa: ARG002 - the protocol's signature
        """Order everything before the barrier before everything behind it."""
        self._warp_clocks.meet(warps)
        self._lane_clocks.meet_all(warps)

    def warp_sync(self, warps: Offsets, masks: Masks, pc: int) -> None:  # noqa: ARG002 - the protocol's signature
        """Order the lanes of each mask."""
        self._lane_clocks.meet(warps, masks)

    def fence(self, warps: Offsets, scope: str, pc: int) -> None:  # noqa: ARG002 - the protocol's signature
        """Freeze what the warps know, for a release."""
        self._warp_clocks.fence(np.unique(warps))

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Judge one instruction's accesses against the shadow, then enter them."""
        if space not in {"shared", "global"} or not len(offsets):
            return
        shadow = self._shadow(space)
        granules = shadow.granules(offsets, size)
        count = granules.shape[1]
        step = _Step(space, kind, granules.ravel(), np.repeat(warps, count), np.repeat(lanes, count), pc)
        if kind == "atomic":
            self._warp_clocks.exchange(warps, offsets)
        self._judge(shadow, step, "write")
        if kind == "read":
            self._enter_read(shadow, step)
            return
        self._judge(shadow, step, "read")
        self._judge_readers(shadow, step)
        self._enter(shadow, step, "write", step.lanes)
        shadow.atomic[step.at] = kind == "atomic"
        if kind == "write":
            self._judge_within(shadow, step)

    # --- judging --------------------------------------------------------------------------------

    def _shadow(self, space: Space) -> Shadow:
        shadow = self._shadows.get(space)
        if shadow is None:
            readers = self._group if space == "shared" else 0
            shadow = self._shadows[space] = Shadow(self._view.arena_size(space), readers=readers)
        return shadow

    def _identity(self, warps: NDArray[Any]) -> NDArray[Any]:
        """Return numbers of the warps that differ from wave to wave."""
        return warps + self._wave * self._view.warps

    def _judge(self, shadow: Shadow, step: _Step, earlier: str) -> None:
        """Look for an earlier write (or read) of the same bytes that is not ordered before this step."""
        others = getattr(shadow, f"{earlier}_warp")[step.at]
        touched = others != NOBODY
        if earlier == "write" and step.kind == "atomic":
            touched &= ~shadow.atomic[step.at]
        if not touched.any():
            return
        at = np.flatnonzero(touched)
        others = others[at].astype(np.int64)
        lanes, times, lane_times = (
            getattr(shadow, f"{earlier}_{what}")[step.at[at]] for what in ("lane", "time", "lane_time")
        )
        warps = step.warps[at]
        local = others - self._wave * self._view.warps
        here = local >= 0
        ordered = np.where(
            here,
            self._warp_clocks.orders(warps, np.maximum(local, 0), times),
            self._warp_clocks.knows_earlier_waves[warps],
        )
        kept_by_reader = earlier == "read" and shadow.readers
        if not kept_by_reader and not ordered.all():
            self._report_last(shadow, step, at[~ordered], earlier, f"{step.space}-race")
        own = local == warps
        lane_ordered = ~own | self._lane_clocks.orders(warps, step.lanes[at], lanes.astype(np.int64), lane_times)
        if not lane_ordered.all():
            self._report_last(shadow, step, at[~lane_ordered], earlier, "lane-race")

    def _judge_within(self, shadow: Shadow, step: _Step) -> None:
        """Look for two writers of the same bytes inside this step: the shadow holds the last one of them."""
        winner = shadow.write_warp[step.at]
        other_warp = winner != self._identity(step.warps)
        if other_warp.any():
            self._report_last(shadow, step, np.flatnonzero(other_warp), "write", f"{step.space}-race")
        other_lane = ~other_warp & (shadow.write_lane[step.at] != step.lanes)
        if other_lane.any():
            self._report_last(shadow, step, np.flatnonzero(other_lane), "write", "lane-race")

    def _judge_readers(self, shadow: Shadow, step: _Step) -> None:
        """Look for a read by any warp of the block (or cluster) that is not ordered before this write."""
        if not shadow.readers:
            return
        times = shadow.reader_time[step.at]
        group = (step.warps // self._group * self._group)[:, None] + np.arange(self._group)
        unordered = (times > 0) & ~self._warp_clocks.orders(step.warps[:, None], group, times)
        if not unordered.any():
            return
        bad = np.flatnonzero(unordered.any(axis=1))
        reader = int(unordered[bad[0]].argmax())
        pc = int(shadow.reader_pc[step.at[bad[0]], reader])
        self._report(
            step, bad, "read", f"{step.space}-race", self._name(int(group[bad[0], reader]), SEVERAL), pc, shadow.granule
        )

    def _enter(self, shadow: Shadow, step: _Step, kind: str, lanes: NDArray[Any]) -> None:
        """Make this step the last write (or read) of its granules."""
        at, warps = step.at, step.warps
        getattr(shadow, f"{kind}_warp")[at] = self._identity(warps)
        getattr(shadow, f"{kind}_lane")[at] = lanes
        getattr(shadow, f"{kind}_time")[at] = self._warp_clocks.now[warps]
        getattr(shadow, f"{kind}_lane_time")[at] = self._lane_clocks.now[warps]
        getattr(shadow, f"{kind}_pc")[at] = step.pc

    def _enter_read(self, shadow: Shadow, step: _Step) -> None:
        """Enter a read; a granule that several lanes have read since they last met is marked as such."""
        at, warps = step.at, step.warps
        again = (shadow.read_warp[at] == self._identity(warps)) & (
            shadow.read_lane_time[at] == self._lane_clocks.now[warps]
        )
        several = again & (shadow.read_lane[at] != step.lanes)
        self._enter(shadow, step, "read", np.where(several, SEVERAL, step.lanes))
        others = (shadow.read_lane[at] != step.lanes) & (shadow.read_warp[at] == self._identity(warps))
        shadow.read_lane[at[others]] = SEVERAL
        if shadow.readers:
            shadow.reader_time[at, warps % self._group] = self._warp_clocks.now[warps]
            shadow.reader_pc[at, warps % self._group] = step.pc

    # --- reporting ------------------------------------------------------------------------------

    def _report_last(self, shadow: Shadow, step: _Step, bad: NDArray[np.int64], earlier: str, rule: str) -> None:
        """Report `bad` entries of a step against the last write (or read) that the shadow holds."""
        granule = int(step.at[bad[0]])
        warp, lane, pc = (int(getattr(shadow, f"{earlier}_{what}")[granule]) for what in ("warp", "lane", "pc"))
        warp -= self._wave * self._view.warps
        them = self._name(warp, lane) if warp >= 0 else "a block of an earlier wave"
        self._report(step, bad, earlier, rule, them, pc, shadow.granule)

    def _report(
        self, step: _Step, bad: NDArray[np.int64], earlier: str, rule: str, them: str, other_pc: int, granule: int
    ) -> None:
        first = int(bad[0])
        where = self._view.describe(step.space, int(step.at[first]) * granule)
        verb = {"read": "reads", "write": "writes", "atomic": "atomically updates"}[step.kind]
        me = self._name(int(step.warps[first]), int(step.lanes[first]))
        message = f"{me} {verb} {where}, which {them} {_DONE[earlier]}, and nothing orders the two"
        self._view.report(rule, message, step.pc, other_pc=other_pc, hint=_HINTS[rule], count=len(bad))

    def _name(self, warp: int, lane: int) -> str:
        cta, inside = divmod(warp, self._view.warps_per_cta)
        lanes = "several lanes" if lane == SEVERAL else f"lane {lane}"
        return f"{lanes} of warp {inside} (block slot {cta})"
