"""Spans in which warps run, and spans in which they wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.barriers.barriers import PER_CTA
from pyptx_sim.machine.barriers.mbarriers import GIVES_UP
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.reports.deadlock import reason
from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.timeline.model import Mark, Point, Span, Track
from pyptx_sim.timeline.source_lines import ranges

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Block
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.timeline.model import Timeline
    from pyptx_sim.timeline.source_lines import SourceLines

# Maximum number of instructions between two tries of one wait. Lanes whose try returned false count as waiting until
# the next try, unless they execute more instructions than this, or issue asynchronous operations.
_RETRY = 32

_BITS = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))


@dataclass(slots=True)
class _Run:
    """Consecutive basic blocks that lanes have executed so far, in program order under one label."""

    start: int
    end: int
    pc: int
    label: str
    block: int
    lanes: int

    def continues(self, now: int, label: str, block: int, lanes: int) -> bool:
        """Return whether the same lanes execute a later basic block under the same label, without a tick in between."""
        return self.end == now and self.block < block and self.label == label and self.lanes == lanes


@dataclass(slots=True)
class _TrackWait:
    """Wait of lanes: `what` is (state, number of the awaited object, pc).

    `retries` counts the retries of a wait that returned false, and `retried` the instructions of these retries.
    """

    start: int
    what: tuple[int, int, int]
    name: str
    retries: int = 0
    retried: int = 0

    def details(self) -> dict[str, object]:
        """Return the number of retries and their instructions, for the details of the span."""
        return {"retries": self.retries, "instructions": self.retried} if self.retries else {}


@dataclass(slots=True)
class _Retry:
    """Wait whose last try returned false at tick `end`, and the spans in which its lanes have run since then."""

    wait: _TrackWait
    end: int
    runs: list[Span] = field(default_factory=list[Span])

    @property
    def length(self) -> int:
        """Number of instructions that the lanes have executed since the wait returned false."""
        return sum(run.end - run.start for run in self.runs)


class WarpTracks:
    """Spans of the recorded warps: the first `rows` warps of a wave (the CTAs that run together).

    The splits of a diverged warp are identified by their first lanes.
    """

    def __init__(self, wave: Wave, rows: int, timeline: Timeline, places: SourceLines) -> None:
        """Start with every warp ready."""
        self.wave = wave
        self.rows = rows
        self.current: dict[int, Track] = {}  # tracks of the warps that execute the current basic block
        self.woken: set[Track] = set()  # tracks whose mbarrier wait has just ended
        self._timeline = timeline
        self._places = places
        self._known: dict[int, Track] = {}
        self._runs: dict[Track, _Run] = {}
        self._waits: dict[Track, _TrackWait] = {}
        self._retries: dict[Track, _Retry] = {}
        self._seen: IntArray = np.zeros((0, 4), np.int64)

    def track(self, row: int, lane: int) -> Track:
        """Return the track of the warp split with first lane `lane`."""
        known = self._known.get(row * WARP + lane)
        if known is None:
            geometry = self.wave.geometry
            known = Track(int(geometry.numbers[geometry.cta[row]]), None, int(geometry.warp[row]), lane)
            self._known[row * WARP + lane] = known
        return known

    # --- running ------------------------------------------------------------------------------------

    def begin(self, block: Block, lanes: Lanes, now: int) -> bool:
        """Record that lanes execute a basic block from tick `now` on; return whether any of the lanes is recorded."""
        rows, mask = lanes.row_numbers(), lanes.full_mask
        here = (rows < self.rows) & mask.any(axis=1)
        first, bits = mask[here].argmax(axis=1).tolist(), (mask[here] @ _BITS).tolist()
        self.current = {row: self.track(row, lane) for row, lane in zip(rows[here].tolist(), first, strict=True)}
        label = self._places.label(block.first)
        end = now + len(block.steps) + (block.terminator is not None)
        for track, some in zip(self.current.values(), bits, strict=True):
            run = self._runs.get(track)
            if run is not None and run.continues(now, label, block.index, some):
                run.end, run.block = end, block.index
                continue
            self._close_run(track)
            self._runs[track] = _Run(now, end, block.first, label, block.index, some)
        return bool(self.current)

    def _close_run(self, track: Track) -> None:
        run = self._runs.pop(track, None)
        if run is None:
            return
        lanes = ranges([lane for lane in range(WARP) if run.lanes >> lane & 1])
        details = {"instructions": run.end - run.start, "lanes": lanes}
        name = self._places.title(run.pc)
        span = Span(track, "run", name, run.start, run.end, run.pc, details)
        retry = self._retries.get(track)
        if retry is None:
            self._timeline.add(span)
            return
        retry.runs.append(span)
        if retry.length > _RETRY:
            self.give_up(track)

    def end(self, block: Block, now: int) -> None:
        """Record the end of the basic block at tick `now`; mark a barrier that warps passed without waiting."""
        opcode = self._places.opcode(block.end)
        if block.terminator is None or opcode[0] not in {"bar", "barrier"}:
            return
        for track in self.current.values():
            if track not in self._waits:
                at = Point(track, now - 1)
                self._timeline.marks.append(Mark(at, "barrier", self._plain(block.end), block.end))

    def _plain(self, pc: int) -> str:
        return ".".join(word for word in self._places.opcode(pc) if word != "aligned")

    # --- waiting ------------------------------------------------------------------------------------

    def look(self, now: int) -> None:
        """Start and end waits according to the states of the warp splits, if these changed since the last call."""
        splits = self.wave.splits
        some = splits.state != State.READY
        some &= (splits.state != State.DEAD) & (splits.warp < self.rows)
        ids = np.flatnonzero(some)
        if not len(ids) and not self._waits:
            return
        first = splits.mask[ids].argmax(axis=1)
        seen = np.stack([splits.warp[ids] * WARP + first, splits.state[ids], splits.key[ids], splits.site[ids]], 1)
        if np.array_equal(seen, self._seen):
            return
        self._seen = seen
        waiting = {self.track(*divmod(place, WARP)): (state, key, pc) for place, state, key, pc in seen.tolist()}
        gone = [track for track, wait in self._waits.items() if waiting.get(track) != wait.what]
        told = self._tracks(splits.key == GIVES_UP) if gone else {}
        for track in gone:
            wait = self._waits.pop(track)
            if track in told:
                self._retries[track] = _Retry(wait, now)
            else:
                self._end_wait(track, wait, now)
        for track, what in waiting.items():
            if track not in self._waits:
                self._begin_wait(track, what, now)

    def _tracks(self, which: Mask) -> dict[Track, int]:
        """Return the tracks of the recorded warp splits among `which`, with the index of each split."""
        splits = self.wave.splits
        ids = np.flatnonzero(which & (splits.warp < self.rows))
        first = splits.mask[ids].argmax(axis=1).tolist()
        rows = splits.warp[ids].tolist()
        return {self.track(row, lane): split for row, lane, split in zip(rows, first, ids.tolist(), strict=True)}

    def _name(self, state: int, key: int, pc: int) -> str:
        if state == State.MBARRIER:
            mbarriers = self.wave.mbarriers
            return f"waiting at {mbarriers.name(key)}, phase {mbarriers.phase(key)}"
        if state == State.BARRIER:
            return f"{self._plain(pc)} {key % PER_CTA}"
        if state == State.STALLED:
            return f"waits for {self.wave.stall_at(key).name} at {self._plain(pc)}"
        if state == State.WARPGROUP:
            return f"warps synchronize at {self._places.operation(pc)}"
        return f"lanes synchronize at {self._plain(pc)}" if state == State.GATE else self._plain(pc)

    def _begin_wait(self, track: Track, what: tuple[int, int, int], now: int) -> None:
        self._close_run(track)
        name = self._name(*what)
        retry = self._retries.get(track)
        if retry is not None and (retry.wait.what, retry.wait.name) == (what, name):
            self._waits[track] = self._taken_back(track)
            return
        self.give_up(track)
        self._waits[track] = _TrackWait(now, what, name)

    def _taken_back(self, track: Track) -> _TrackWait:
        """Return the wait that lanes continue after a retry, and count the retry."""
        retry = self._retries.pop(track)
        retry.wait.retries += 1
        retry.wait.retried += retry.length
        return retry.wait

    def give_up(self, track: Track) -> None:
        """End a wait that returned false, if there is one, because its lanes have continued with other work."""
        retry = self._retries.pop(track, None)
        if retry is not None:
            self._keep(track, retry.wait, retry.end, {"returned": "false"})
            for run in retry.runs:
                self._timeline.add(run)

    def _end_wait(self, track: Track, wait: _TrackWait, now: int) -> None:
        self._keep(track, wait, now, {})
        if wait.what[0] == State.MBARRIER:
            self.woken.add(track)

    def _keep(
        self, track: Track, wait: _TrackWait, end: int, details: dict[str, object], *, ended: bool = True
    ) -> None:
        details = {**details, **wait.details()}
        self._timeline.add(Span(track, "wait", wait.name, wait.start, end, wait.what[2], details, ended))

    # --- end of the wave or of the run --------------------------------------------------------------

    def cut(self, now: int) -> None:
        """Truncate, at tick `now`, the spans of the warps that run the current basic block."""
        for track in self.current.values():
            run = self._runs.get(track)
            if run is not None:
                run.end = min(run.end, now)

    def close(self, now: int) -> None:
        """Close all spans at tick `now`; waits that are still active would have lasted forever."""
        for track in list(self._runs):
            self._close_run(track)
        alive = self._tracks(self.wave.splits.state != State.DEAD)
        for track in list(self._retries):
            if track in alive:
                self._waits[track] = self._taken_back(track)
            else:
                self.give_up(track)
        for track, wait in self._waits.items():
            self._keep(track, wait, now, {"why": reason(self.wave, alive[track])}, ended=False)
