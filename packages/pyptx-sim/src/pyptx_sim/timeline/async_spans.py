"""Spans of asynchronous operations, from issue to completion, and arrows to the warps that wait for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.timeline.model import Arrow, Point, Span, Track
from pyptx_sim.timeline.source_lines import ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.machine.asynchrony.engine import Item
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.observer import AsyncOperations
    from pyptx_sim.operation import Mask
    from pyptx_sim.timeline.model import Timeline
    from pyptx_sim.timeline.source_lines import SourceLines
    from pyptx_sim.timeline.warp_tracks import WarpTracks


@dataclass(slots=True)
class _Part:
    """Operations that one instruction issued in one CTA; `left`: number of outstanding operations."""

    track: Track
    issued: Point
    warps: IntArray
    left: int
    details: dict[str, object]
    lanes: IntArray | None = None
    groups: IntArray | None = None


@dataclass(slots=True)
class _Flight:
    """Outstanding item: the asynchronous operations that one instruction issued.

    `owners`: the issuing warp of each outstanding operation; None if unknown. `kind`: the kind of the item's
    async-group; None if the item signals an mbarrier.
    """

    pc: int
    issued: int
    tracks: dict[int, Track]
    owners: IntArray | None = None
    kind: GroupKind | None = None
    parts: dict[int, _Part] = field(default_factory=dict[int, _Part])


class Flights:
    """Spans of asynchronous operations of the running CTAs; simultaneous operations are on separate tracks."""

    def __init__(self, tracks: WarpTracks, timeline: Timeline, places: SourceLines) -> None:
        """Start without operations; `tracks` are the tracks of the running warps."""
        self._tracks = tracks
        self._timeline = timeline
        self._places = places
        self._flights: dict[int, _Flight] = {}
        self._busy: set[Track] = set()
        # completed parts of asynchronous operations that no wait has covered yet
        self._completed: dict[GroupKind, list[tuple[_Part, Point]]] = {}

    # --- issue --------------------------------------------------------------------------------------

    def issue(self, item: Item, now: int) -> None:
        """Record an item (operations of one instruction) that the recorded warps of the current basic block issue."""
        if self._tracks.current:
            self._flights[item.item_id] = _Flight(item.pc, now, self._tracks.current)

    def describe(self, work: AsyncOperations) -> None:
        """Record the issuing warps of an instruction's asynchronous operations, and the bytes read and written."""
        flight = self._flights.get(work.item_id)
        if flight is None:
            return
        count = len(work.warps)
        moved = {"bytes written": np.zeros(count), "bytes read": np.zeros(count)}
        for touch in work.touches:
            what = "bytes written" if touch.writes else "bytes read"
            moved[what] += np.bincount(touch.owners, minlength=count) * touch.size
        flight.kind = work.kind
        self._divide(work.item_id, flight, work.warps, moved)
        for part in flight.parts.values():
            here = np.isin(work.warps, part.warps)
            part.lanes, part.groups = work.lanes[here], work.groups[here]

    def follow(self, item_id: int, warps: IntArray) -> None:
        """Record the issuing warps of asynchronous arrivals by one instruction (as `cp.async.mbarrier.arrive`)."""
        flight = self._flights.get(item_id)
        if flight is not None:
            self._divide(item_id, flight, warps, {})

    def _divide(self, item_id: int, flight: _Flight, warps: IntArray, moved: dict[str, np.ndarray]) -> None:
        """Divide an item, the operations of one instruction, into parts: one per recorded CTA."""
        flight.owners = warps.copy()
        ctas = self._tracks.wave.geometry.cta[warps]
        for cta in np.unique(ctas[warps < self._tracks.rows]).tolist():
            here = ctas == cta
            bytes_moved = {name: int(each[here].sum()) for name, each in moved.items()}
            self._enter(item_id, flight, cta, warps[here], bytes_moved)

    def _enter(self, item_id: int, flight: _Flight, cta: int, warps: IntArray, moved: dict[str, int]) -> None:
        geometry = self._tracks.wave.geometry
        issuer = flight.tracks.get(int(warps[0])) or self._tracks.track(int(warps[0]), 0)
        self._tracks.give_up(issuer)
        numbers = np.unique(geometry.warp[warps]).tolist()
        details: dict[str, object] = {"item": item_id, "warps": ranges(numbers), "operations": len(warps)}
        details |= {name: amount for name, amount in moved.items() if amount}
        track = self._free(int(geometry.numbers[cta]), self._places.engine(flight.pc))
        flight.parts[cta] = _Part(track, Point(issuer, flight.issued), warps, len(warps), details)

    def _free(self, cta: int, engine: str) -> Track:
        """Return the first track of an engine (a kind of operations: `cp.async`) without an outstanding operation."""
        slot = 0
        while (track := Track(cta, engine, 0, slot)) in self._busy:
            slot += 1
        self._busy.add(track)
        return track

    def settle(self) -> None:
        """Assign the operations that no observer event has described to the warps that executed the basic block."""
        for item_id, flight in self._flights.items():
            if flight.owners is None and not flight.parts:
                rows = np.array(list(flight.tracks), np.int64)
                ctas = self._tracks.wave.geometry.cta[rows]
                for cta in np.unique(ctas).tolist():
                    self._enter(item_id, flight, cta, rows[ctas == cta], {})

    # --- completion ------------------------------------------------------------------------------------

    def complete(self, item: Item, which: Mask | None, before: int, now: int) -> bool:
        """Record that the operations `which` of an instruction complete; return whether their issue was recorded."""
        flight = self._flights.get(item.item_id)
        left = len(item)
        if flight is None or left == before:
            return False
        if flight.owners is not None and len(flight.owners) == before:
            gone = flight.owners if which is None else flight.owners[which]
            flight.owners = flight.owners[:0] if which is None else flight.owners[~which]
            for part in flight.parts.values():
                part.left -= int(np.isin(gone, part.warps).sum())
        elif not left:
            for part in flight.parts.values():
                part.left = 0
        for cta in [cta for cta, part in flight.parts.items() if part.left == 0]:
            self._close(flight, flight.parts.pop(cta), now)
        if not left:
            del self._flights[item.item_id]
        return True

    def _close(self, flight: _Flight, part: _Part, now: int, *, ended: bool = True) -> None:
        issued, pc = part.issued, flight.pc
        name = self._places.operation(pc)
        start = Point(part.track, issued.tick + 1)
        self._timeline.add(Span(part.track, "async", name, start.tick, now + 1, pc, part.details, ended))
        self._timeline.arrows.append(Arrow("issue", issued, start))
        self._busy.discard(part.track)
        if ended and flight.kind is not None:
            self._completed.setdefault(flight.kind, []).append((part, Point(part.track, now)))

    def point(self, item_id: int, now: int) -> Point | None:
        """Return the point at tick `now` on the track of the operations `item_id`; None if they are not recorded."""
        flight = self._flights.get(item_id)
        part = next(iter(flight.parts.values()), None) if flight is not None else None
        return Point(part.track, now) if part is not None else None

    # --- waiting ------------------------------------------------------------------------------------

    def wait(self, kind: GroupKind, warps: IntArray, done: IntArray, at: Callable[[int], Point | None]) -> None:
        """Add an arrow from each completed operation to its issuing warp, once this warp has waited for the group."""
        row_of = {warp: row for row, warp in enumerate(warps.tolist())}
        unseen: list[tuple[_Part, Point]] = []
        for part, completed in self._completed.get(kind, []):
            waiter = int(part.warps[0])
            row, point = row_of.get(waiter), at(waiter)
            if row is None or point is None or part.lanes is None or part.groups is None:
                unseen.append((part, completed))
            elif part.groups[0] < done[row, part.lanes[0]]:
                self._timeline.arrows.append(Arrow("completion", completed, point))
            else:
                unseen.append((part, completed))
        self._completed[kind] = unseen

    def close(self, now: int) -> None:
        """Close all spans; operations that are still outstanding are marked as never completed."""
        for flight in self._flights.values():
            for part in flight.parts.values():
                self._close(flight, part, now - 1, ended=False)
        self._flights.clear()
