"""Recorder: observes a simulated machine and records a timeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.observer import Observer
from pyptx_sim.timeline.async_spans import Flights
from pyptx_sim.timeline.compact import compact
from pyptx_sim.timeline.model import Arrow, Clock, Count, Mark, Point, Timeline
from pyptx_sim.timeline.warp_tracks import WarpTracks

if TYPE_CHECKING:
    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.machine.asynchrony.engine import Item
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Block
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import AsyncOperations, Masks, Offsets
    from pyptx_sim.operation import Mask
    from pyptx_sim.timeline.source_lines import SourceLines


@dataclass(slots=True)
class _Causes:
    """Causes of a phase completion: asynchronous completions, and the last arrival unless a completion followed it."""

    completions: list[Point] = field(default_factory=list[Point])
    arrival: Point | None = None


class Recorder(Observer):
    """Recorder of the CTAs below number `ctas` in launch order.

    `machine/` does not depend on the recorder: the instrumented code calls `begin` and `end` around each basic block,
    and the instrumented engine calls `issue` and `complete` (see `instrument`). All other methods are observer events.
    """

    def __init__(self, entry: str, places: SourceLines, ctas: int) -> None:
        """Start with an empty timeline."""
        self.timeline = Timeline(entry)
        self._places = places
        self._ctas = ctas
        self._clock = Clock()
        self._tracks: WarpTracks | None = None
        self._flights: Flights
        self._block: Block
        self._causes: dict[tuple[int, int], _Causes] = {}
        self._pending: dict[int, tuple[int, int, int]] = {}

    # --- basic blocks -------------------------------------------------------------------------------

    def begin(self, wave: Wave, block: Block, lanes: Lanes) -> None:
        """Record that lanes start to execute a basic block."""
        tracks = self._tracks_of(wave)
        self._clock.settle()
        self._look(tracks)
        self._block = block
        if tracks.begin(block, lanes, self._clock.now):
            self._clock.begin(block.first, len(block.steps) + (block.terminator is not None))

    def end(self) -> None:
        """Record that the current basic block has been executed."""
        tracks = self._tracks
        if tracks is None or not tracks.current:
            return
        self._clock.end()
        self._look(tracks)
        tracks.end(self._block, self._clock.now)
        self._flights.settle()
        tracks.current = {}

    def _tracks_of(self, wave: Wave) -> WarpTracks:
        tracks = self._tracks
        if tracks is not None and tracks.wave is wave:
            return tracks
        self._close()
        geometry = wave.geometry
        recorded = int(np.count_nonzero(geometry.numbers < self._ctas))  # the recorded CTAs are the first of the wave
        tracks = WarpTracks(wave, recorded * geometry.launch.warps_per_cta, self.timeline, self._places)
        self._tracks, self._flights = tracks, Flights(tracks, self.timeline, self._places)
        x, y, z = geometry.ctaid
        for slot in range(recorded):
            row = slot * geometry.launch.warps_per_cta
            self.timeline.ctas[int(geometry.numbers[slot])] = f"CTA ({x[row]}, {y[row]}, {z[row]})"
        return tracks

    def _look(self, tracks: WarpTracks) -> None:
        """Record state changes that no event reports: waiting warps, and the pending and tx-counts of mbarriers."""
        now, wave = self._clock.now, tracks.wave
        tracks.look(now)
        stride, numbers = wave.machine.shared_stride, wave.geometry.numbers
        for offset, known in wave.mbarriers.objects():
            pending = known.phase, known.pending, known.bytes
            if self._pending.get(offset) == pending:
                continue
            self._pending[offset] = pending
            cta = int(numbers[offset // stride])
            if cta < self._ctas:
                self.timeline.counts.append(Count(cta, wave.mbarriers.name(offset), now, *pending))

    # --- asynchronous operations --------------------------------------------------------------------

    def issue(self, item: Item) -> None:
        """Record that an item, the asynchronous operations of one instruction, is issued."""
        if self._tracks is not None:
            self._flights.issue(item, self._now())

    def complete(self, item: Item, which: Mask | None, before: int) -> None:
        """Record that operations `which` of an instruction complete; `before` of its operations were outstanding."""
        if self._tracks is not None and self._flights.complete(item, which, before, self._now()):
            self._clock.perturb()

    def issued(self, work: AsyncOperations) -> None:
        """Record the warps, async-groups and bytes of the asynchronous operations that an instruction issues."""
        self._flights.describe(work)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """Record the issuing warps of asynchronous arrivals (as `cp.async.mbarrier.arrive`)."""
        del kind, lanes, places
        self._flights.follow(item_id, np.unique(warps))

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Record that warps have waited for async-groups of `kind`."""
        del masks, read
        self._flights.wait(kind, warps, done, self._here)

    # --- mbarriers ----------------------------------------------------------------------------------

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """Record that a completing operation signals the mbarrier at `place` in `phase`."""
        point = self._flights.point(item_id, self._now())
        if point is not None:
            causes = self._causes_of(place, phase)
            causes.completions.append(point)
            causes.arrival = None

    def _causes_of(self, place: int, phase: int) -> _Causes:
        self._causes.pop((place, phase - 2), None)  # waits test only the parity: `phase - 2` is over
        return self._causes.setdefault((place, phase), _Causes())

    def signal(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, releases: bool
    ) -> None:
        """Record the arrival of warps as the latest arrival in an mbarrier phase."""
        del masks, pc, scope, releases
        point = self._here(int(warps[-1]))
        if point is not None:
            self._causes_of(place, phase).arrival = point

    def acquire(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, acquires: bool
    ) -> None:
        """Mark the phase completion that warps observe; add arrows from the causes of the completion."""
        del masks, scope, acquires
        if self._tracks is None or place < 0:
            return
        name = f"{self._tracks.wave.mbarriers.name(place)}, phase {phase} complete"
        causes = self._causes.get((place, phase), _Causes())
        for point in filter(None, map(self._here, warps.tolist())):
            self.timeline.marks.append(Mark(point, "phase", name, pc))
            self.timeline.arrows.extend(Arrow("completion", completion, point) for completion in causes.completions)
            if causes.arrival is not None and point.track in self._tracks.woken:
                self.timeline.arrows.append(Arrow("arrival", causes.arrival, point))
            self._tracks.woken.discard(point.track)

    # --- findings, and the end of waves and of the run ----------------------------------------------

    def found(self, heading: str, pc: int) -> None:
        """Mark a finding at the current instruction."""
        current = self._tracks.current.values() if self._tracks is not None else ()
        for track in list(current)[:1]:
            self.timeline.marks.append(Mark(Point(track, self._now()), "finding", heading, pc))

    def wave_ended(self) -> None:
        """Close all open spans, because the wave (the CTAs that ran together) has ended."""
        self._close()

    def finish(self, error: str | None) -> Timeline:
        """Close and return the timeline; `error` is the error that ended the run, if any."""
        self.timeline.error = error
        self._close()
        compact(self.timeline, self._clock.now)
        return self.timeline

    def _close(self) -> None:
        tracks, clock = self._tracks, self._clock
        if tracks is None:
            return
        clock.stop(tracks.wave.pc)
        tracks.cut(clock.now)
        clock.settle()
        self._look(tracks)
        self._flights.settle()
        tracks.close(clock.now)
        self._flights.close(clock.now)
        self._tracks = None
        self._causes.clear()
        self._pending.clear()

    def _now(self) -> int:
        return self._clock.at(self._tracks.wave.pc) if self._tracks is not None else self._clock.now

    def _here(self, row: int) -> Point | None:
        """Return the point of a warp that executes the current basic block; end the warp's retry of a wait, if any."""
        track = self._tracks.current.get(row) if self._tracks is not None else None
        if self._tracks is None or track is None:
            return None
        self._tracks.give_up(track)
        return Point(track, self._now())
