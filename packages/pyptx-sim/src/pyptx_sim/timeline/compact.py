"""Removal of ticks in which warps only retried their waits."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.timeline.model import Point

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.timeline.model import Span, Timeline

# Spans that never end extend past the last tick by this fraction (1 / _BEYOND) of the total.
_BEYOND = 10


def compact(timeline: Timeline, stop: int) -> None:
    """Keep only ticks before `stop` in which warps ran or operations completed; extend spans that never end past them.

    If spans were dropped, their ticks are unknown, and all ticks are kept.
    """
    known = [(0, stop)] if timeline.dropped else [_busy(span) for span in timeline.spans if span.kind != "wait"]
    busy = np.array(known, np.int64).reshape(-1, 2)
    changes = np.zeros(stop + 2, np.int64)
    np.add.at(changes, busy[:, 0], 1)
    np.add.at(changes, busy[:, 1], -1)
    before = np.concatenate([[0], np.cumsum(np.cumsum(changes) > 0)])
    end = int(before[stop])
    timeline.stop = end + max(end // _BEYOND, 1) if any(not span.ended for span in timeline.spans) else end
    timeline.spans = deque(filter(None, (_moved(span, before, timeline.stop) for span in timeline.spans)))
    timeline.marks = deque(replace(mark, at=_at(mark.at, before)) for mark in timeline.marks)
    timeline.counts = deque(replace(count, tick=int(before[count.tick])) for count in timeline.counts)
    timeline.arrows = deque(
        replace(arrow, start=_at(arrow.start, before), end=_at(arrow.end, before)) for arrow in timeline.arrows
    )


def _busy(span: Span) -> tuple[int, int]:
    """Return the ticks (first, end) to keep for a span: all ticks of a `run`, else only the tick of completion."""
    return (span.start, span.end) if span.kind == "run" else (span.end - 1, span.end)


def _at(point: Point, before: IntArray) -> Point:
    return Point(point.track, int(before[point.tick]))


def _moved(span: Span, before: IntArray, stop: int) -> Span | None:
    """Return a span with its ticks renumbered; None if the span has become empty."""
    start, end = int(before[span.start]), int(before[span.end]) if span.ended else stop
    return replace(span, start=start, end=end) if end > start else None
