"""Timelines as Chrome trace events in the object format, which Perfetto and chrome://tracing open.

One tick is shown as one microsecond. CTAs are processes. Warps, and engine tracks of simultaneous operations, are
threads. Perfetto treats a thread whose number is that of a process as the main thread of the process, so thread numbers
start after the process numbers. Perfetto's tokenizer reads an event up to the time, so the time precedes names, which
may contain any text. Format: "Trace Event Format", the document of the Chrome project.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_sim.timeline.model import Arrow, Count, Mark, Point, Span, Timeline, Track
    from pyptx_sim.timeline.source_lines import SourceLines


def chrome_trace(timeline: Timeline, places: SourceLines) -> str:
    """Return the text of the trace file: one event per line, identical for identical timelines."""
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in _Events(timeline, places))
    other = {
        "kernel": timeline.entry,
        "time": "1 us = 1 simulated instruction, executed for one or more warps: an order of events, not GPU time",
        "ticks": timeline.stop,
        "spans dropped": timeline.dropped,
        "error": timeline.error,
    }
    return f'{{"displayTimeUnit":"ms","otherData":{json.dumps(other)},"traceEvents":[\n{lines}\n]}}'


class _Events:
    """Chrome trace events of a timeline: the names of tracks, then all other events in order of time."""

    def __init__(self, timeline: Timeline, places: SourceLines) -> None:
        self._timeline = timeline
        first = max(timeline.ctas, default=0) + 2
        self._tracks = {track: number for number, track in enumerate(timeline.tracks(), first)}
        self._sources: dict[int, Mapping[str, object]] = {}
        self._places = places

    def __iter__(self) -> Iterator[dict[str, object]]:
        yield from self._names()
        timed = [
            *map(self._span, self._timeline.spans),
            *map(self._mark, self._timeline.marks),
            *map(self._count, self._timeline.counts),
        ]
        for number, arrow in enumerate(self._timeline.arrows):
            timed.extend(self._arrow(number, arrow))
        timed.sort(key=_time)
        yield from timed

    def _names(self) -> Iterator[dict[str, object]]:
        for cta, name in sorted(self._timeline.ctas.items()):
            yield {"ph": "M", "name": "process_name", "pid": cta + 1, "args": {"name": name}}
            yield {"ph": "M", "name": "process_sort_index", "pid": cta + 1, "args": {"sort_index": cta}}
        for track in self._tracks:
            where = self._where(track)
            yield {"ph": "M", "name": "thread_name", **where, "args": {"name": track.name}}
            yield {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": where["tid"]}}

    def _where(self, track: Track) -> dict[str, int]:
        return {"pid": track.cta + 1, "tid": self._tracks[track]}

    def _source(self, pc: int) -> Mapping[str, object]:
        known = self._sources.get(pc)
        if known is None:
            known = self._sources[pc] = self._places.source(pc)
        return known

    def _span(self, span: Span) -> dict[str, object]:
        never = {} if span.ended else {"ended": False}
        return {
            "ph": "X",
            "ts": span.start,
            "dur": span.end - span.start,
            "name": span.name if span.ended else f"{span.name} (never ends)",
            "cat": span.kind,
            **self._where(span.track),
            "args": {**span.details, **never, **self._source(span.pc)},
        }

    def _mark(self, mark: Mark) -> dict[str, object]:
        return {
            "ph": "i",
            "ts": mark.at.tick,
            "s": "t",
            "name": mark.name,
            "cat": mark.kind,
            **self._where(mark.at.track),
            "args": self._source(mark.pc),
        }

    def _count(self, count: Count) -> dict[str, object]:
        pending = {"pending arrivals": count.arrivals, "pending bytes": count.bytes}
        return {
            "ph": "C",
            "ts": count.tick,
            "name": count.name,
            "cat": "mbarrier",
            "pid": count.cta + 1,
            "args": pending,
        }

    def _arrow(self, number: int, arrow: Arrow) -> Iterator[dict[str, object]]:
        """Yield the flow events for both ends of an arrow, unless the track of either end was dropped."""
        if arrow.start.track in self._tracks and arrow.end.track in self._tracks:
            yield {"ph": "s", **self._end(number, arrow.name, arrow.start)}
            yield {"ph": "f", **self._end(number, arrow.name, arrow.end), "bp": "e"}

    def _end(self, number: int, name: str, point: Point) -> dict[str, object]:
        return {"ts": point.tick, "id": number, "name": name, "cat": "flow", **self._where(point.track)}


def _time(event: dict[str, object]) -> int:
    tick = event["ts"]
    assert isinstance(tick, int)  # noqa: S101 - as written above
    return tick
