"""Take those ticks out of a timeline in which warps did nothing but ask again for what they wait for."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.timeline.model import Point

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.timeline.model import Span, Timeline

# What never ends is drawn beyond the last tick, by this part of the whole.
_BEYOND = 10


def squeeze(timeline: Timeline, stop: int) -> None:
    """Keep the ticks before `stop` in which something ran or completed, and draw what never ends beyond them.

    Of a timeline from which spans were dropped nobody knows any more when those ran: it keeps all ticks.
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
    """Return from when to when a span keeps the clock going: while it runs, and when it completes."""
    return (span.start, span.end) if span.kind == "run" else (span.end - 1, span.end)


def _at(point: Point, before: IntArray) -> Point:
    return Point(point.track, int(before[point.tick]))


def _moved(span: Span, before: IntArray, stop: int) -> Span | None:
    """Return a span with its new ticks, None for a wait that was over at once."""
    start, end = int(before[span.start]), int(before[span.end]) if span.ended else stop
    return replace(span, start=start, end=end) if end > start else None
