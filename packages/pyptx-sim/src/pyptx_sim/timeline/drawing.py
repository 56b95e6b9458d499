"""Timelines as a drawing: a standalone SVG, light or dark according to the reader's color scheme."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import Markup, element, label, number, svg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.timeline.model import Arrow, Mark, Point, Span, Timeline, Track
    from pyptx_sim.timeline.source_lines import SourceLines

# Lengths in pixels. The width of the drawing is proportional to the number of ticks, within bounds.
_TICK, _NARROWEST, _WIDEST = 2.5, 900, 2400
_GUTTER, _MARGIN, _ROW, _BAR, _TOP, _BOTTOM = 150, 12, 20, 15, 48, 34
_MANY, _THIN = 8, 5  # _MANY: tracks of an engine (unit of asynchronous operations) above which bars have height _THIN
_LETTER = 5.6
_GRID = 70  # minimum distance in pixels between two labels of the time axis
_THINNEST = 0.5  # a span narrower than this is drawn together with the preceding span

# In a page with several drawings, `.pyptx` of a later one must not override `.pyptx.timeline`.
_STYLE: Final = """\
.pyptx.timeline{--run:#8fb8de;--wait:#f3dfb3;--async:#a5d3ae;--never:#e9897e;--arrow:#7a5ea8;
font:10px ui-sans-serif,system-ui,sans-serif}
@media (prefers-color-scheme:dark){
.pyptx.timeline{--run:#2f5f8f;--wait:#6b5620;--async:#2c6b3c;--never:#a33b30;--arrow:#b79ce0}}
.timeline .title{font-size:13px}.timeline .cta{font-weight:600}
.timeline .axis{text-anchor:middle;opacity:.7}.timeline .grid{stroke:var(--faint)}.timeline .row{text-anchor:end}
.timeline .run{fill:var(--run)}.timeline .wait{fill:var(--wait)}.timeline .async{fill:var(--async)}
.timeline .never{fill:var(--never)}.timeline rect{shape-rendering:crispEdges}
.timeline .edge{stroke:var(--paper);stroke-width:.6}
.timeline .phase,.timeline .barrier{stroke:var(--ink);stroke-width:1.2}.timeline .barrier{stroke-dasharray:2 1}
.timeline .finding{fill:var(--alarm)}
.timeline path.arrow{fill:none;stroke:var(--arrow);stroke-width:.9;opacity:.75}
"""
_LEGEND: Final = (
    ("run", "warp executes (name: label or line)"),
    ("wait", "waits"),
    ("async", "asynchronous operation, from issue to completion"),
    ("never", "wait or operation that never ends"),
)


def drawing(timeline: Timeline, places: SourceLines) -> Markup:
    """Return the SVG, identical for identical timelines. A span's details are in its tooltip."""
    return _Sheet(timeline, places).drawing()


def _shortened(name: str, letters: int) -> str:
    """Return the longest form of a span's name within `letters` characters: whole, its start, `:line`, or nothing."""
    name = name.removeprefix("waiting at mbarrier ")
    line = name.rpartition(":")[2]
    shorter = (name, name.partition(",")[0], f":{line}" if line.isdigit() else name)
    return next((words for words in shorter if len(words) <= letters), "")


class _Sheet:
    """Drawing of a timeline: computes the positions of tracks and ticks, and the SVG lines."""

    def __init__(self, timeline: Timeline, places: SourceLines) -> None:
        self._timeline = timeline
        self._places = places
        self._stop = max(timeline.stop, 1)
        self._span = min(max(self._stop * _TICK, _NARROWEST), _WIDEST)
        self._rows: dict[Track, tuple[float, int]] = {}  # vertical position and bar height of each track, in pixels
        self._heads: dict[int, float] = {}
        tracks = timeline.tracks()
        self._at_once = Counter((track.cta, track.engine) for track in tracks)
        y = float(_TOP)
        for track in tracks:
            if track.cta not in self._heads:
                self._heads[track.cta] = y
                y += _ROW
            many = track.engine is not None and self._at_once[track.cta, track.engine] > _MANY
            bar = _THIN if many else _BAR
            self._rows[track] = y, bar
            y += bar + _ROW - _BAR
        self._foot = y

    def drawing(self) -> Markup:
        """Return the SVG, an element per line."""
        head = element("path", d="M0,0L6,3L0,6z", fill="var(--arrow)")
        box = {"viewBox": "0 0 6 6", "refX": 5, "refY": 3, "markerWidth": 5, "markerHeight": 5}
        parts = [
            element("defs", element("marker", head, id="head", orient="auto", **box)),
            label(_MARGIN, 20, self._headline(), class_="title"),
            *self._axis(),
            *self._names(),
            *self._spans(),
            *self._arrows(),
            *self._marks(),
            *self._legend(),
        ]
        lines = (Markup(f"\n{part}") for part in parts)
        return svg(_GUTTER + self._span + _MARGIN, self._foot + _BOTTOM, *lines, kind="timeline", style=_STYLE)

    def _headline(self) -> str:
        error = f" — {self._timeline.error.splitlines()[0]}" if self._timeline.error else ""
        return f"{self._timeline.entry}: {self._timeline.stop} ticks, one per simulated instruction{error}"

    def _x(self, tick: float) -> float:
        return _GUTTER + tick * self._span / self._stop

    def _axis(self) -> Iterator[Markup]:
        step = next(
            size
            for power in range(12)
            for size in (10**power, 2 * 10**power, 5 * 10**power)
            if size * self._span / self._stop >= _GRID
        )
        for tick in range(0, self._stop + 1, step):
            x = self._x(tick)
            yield _line(x, _TOP - 6, self._foot, "grid")
            yield label(x, _TOP - 10, str(tick), class_="axis")

    def _names(self) -> Iterator[Markup]:
        for cta, y in self._heads.items():
            name = self._timeline.ctas.get(cta, f"CTA {cta}")
            yield label(_MARGIN, y + 13, name, class_="cta")
        for track, (y, bar) in self._rows.items():
            name = track.name
            if bar == _THIN:
                name = "" if track.part else f"{track.engine}, {self._at_once[track.cta, track.engine]} at once"
            yield label(_GUTTER - 8, y + 11, name, class_="row")

    def _spans(self) -> Iterator[Markup]:
        drawn: dict[Track, float] = {}
        for span in sorted(self._timeline.spans, key=lambda span: span.start):
            left, right = self._x(span.start), self._x(span.end)
            if right - drawn.get(span.track, 0.0) < _THINNEST:
                continue
            drawn[span.track] = right
            yield self._bar(span, left, right - left)

    def _bar(self, span: Span, x: float, width: float) -> Markup:
        y, bar = self._rows[span.track]
        kind = span.kind if span.ended else "never"
        edge = " edge" if width > 2 else ""
        size = {"x": number(x), "y": number(y), "width": number(max(width, _THINNEST)), "height": bar}
        shown = _shortened(span.name, int((width - 4) / _LETTER)) if bar == _BAR else ""
        named = [label(x + 2, y + 11, shown)] if shown else []
        tip = element("title", self._tooltip(span))
        return element("g", tip, element("rect", class_=f"{kind}{edge}", **size), *named)

    def _tooltip(self, span: Span) -> str:
        lines = [span.name, f"ticks {span.start} to {span.end}" + ("" if span.ended else ", never completes")]
        lines += [f"{name}: {value}" for name, value in span.details.items()]
        source = self._places.source(span.pc)
        frames = self._places.frames(span.pc)
        lines.append(f"PTX line {source['ptx line']}: {source['ptx']}")
        return "\n".join(lines + [f"{self._places.title(span.pc)} in {frames[0].function}" for _ in frames[:1]])

    def _arrows(self) -> Iterator[Markup]:
        drawn: set[str] = set()
        for arrow in self._timeline.arrows:
            path = self._path(arrow)
            if path is not None and path not in drawn:
                drawn.add(path)
                tip = element("title", arrow.name)
                yield element("path", tip, class_="arrow", d=path, marker_end="url(#head)")

    def _path(self, arrow: Arrow) -> str | None:
        """Return the SVG curve of an arrow; None if either track is not drawn."""
        if arrow.start.track not in self._rows or arrow.end.track not in self._rows:
            return None
        (x, y), (to_x, to_y) = self._place(arrow.start), self._place(arrow.end)
        bend = max(abs(to_x - x) / 2, 4)
        points = (x, y), (x + bend, y), (to_x - bend, to_y), (to_x, to_y)
        start, *others = (f"{number(px)},{number(py)}" for px, py in points)
        return f"M{start}C{' '.join(others)}"

    def _place(self, point: Point) -> tuple[float, float]:
        """Return the (x, y) position of the middle of a tick in the bar of its track."""
        y, bar = self._rows[point.track]
        return self._x(point.tick + 0.5), y + bar / 2

    def _marks(self) -> Iterator[Markup]:
        yield from (self._mark(mark) for mark in self._timeline.marks if mark.at.track in self._rows)

    def _mark(self, mark: Mark) -> Markup:
        x, y = self._place(mark.at)
        tip = element("title", f"{mark.name}\ntick {mark.at.tick}")
        if mark.kind == "finding":
            shape = f"M{number(x - 5)},{number(y - _BAR / 2 - 3)}h10L{number(x)},{number(y)}z"
            return element("path", tip, class_="finding", d=shape)
        return _line(x, y - _BAR / 2, y + _BAR / 2, mark.kind, tip)

    def _legend(self) -> Iterator[Markup]:
        x, y = float(_GUTTER), self._foot + 12
        for kind, meaning in _LEGEND:
            yield element("rect", class_=kind, x=number(x), y=number(y), width=12, height=12)
            yield label(x + 17, y + 10, meaning)
            x += 17 + _LETTER * len(meaning) + 14


def _line(x: float, top: float, bottom: float, kind: str, *tip: Markup) -> Markup:
    """Return a vertical line."""
    ends = {"x1": number(x), "x2": number(x), "y1": number(top), "y2": number(bottom)}
    return element("line", *tip, class_=kind, **ends)
