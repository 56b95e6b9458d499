"""Timelines as a drawing: a standalone SVG, light or dark according to the reader's color scheme."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Final

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

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE: Final = """\
svg{--paper:#fff;--ink:#1f2933;--faint:#d9dee4;--run:#8fb8de;--wait:#f3dfb3;--async:#a5d3ae;--never:#e9897e;--arrow:#7a5ea8;
background:var(--paper);font:10px ui-sans-serif,system-ui,sans-serif}
@media (prefers-color-scheme:dark){svg{--paper:#16191d;--ink:#e4e7eb;--faint:#363c44;--run:#2f5f8f;--wait:#6b5620;
--async:#2c6b3c;--never:#a33b30;--arrow:#b79ce0}}
text{fill:var(--ink)}.paper{fill:var(--paper)}.title{font-size:13px;font-weight:600}.cta{font-weight:600}
.axis{text-anchor:middle;opacity:.7}.grid{stroke:var(--faint)}.row{text-anchor:end}
.run{fill:var(--run)}.wait{fill:var(--wait)}.async{fill:var(--async)}.never{fill:var(--never)}
rect{shape-rendering:crispEdges}.edge{stroke:var(--paper);stroke-width:.6}
.phase,.barrier{stroke:var(--ink);stroke-width:1.2}.barrier{stroke-dasharray:2 1}.finding{fill:#d61f1f}
path.arrow{fill:none;stroke:var(--arrow);stroke-width:.9;opacity:.75}
"""
_LEGEND: Final = (
    ("run", "warp executes (name: label or line)"),
    ("wait", "waits"),
    ("async", "asynchronous operation, from issue to completion"),
    ("never", "wait or operation that never ends"),
)


def drawing(timeline: Timeline, places: SourceLines) -> str:
    """Return the text of the SVG file, identical for identical timelines. A span's details are in its tooltip."""
    return "\n".join(_Sheet(timeline, places).lines()) + "\n"


def _clean(text: str) -> str:
    """Return text escaped for XML; characters that XML forbids become `?`."""
    return escape(_NOT_XML.sub("?", text))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


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

    def lines(self) -> Iterator[str]:
        """Yield the lines of the SVG file."""
        width, height = _number(_GUTTER + self._span + _MARGIN), _number(self._foot + _BOTTOM)
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
        yield f"<style>{_STYLE}</style>"
        yield (
            '<defs><marker id="head" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" '
            'orient="auto"><path d="M0,0L6,3L0,6z" fill="var(--arrow)"/></marker></defs>'
        )
        yield f'<rect class="paper" width="{width}" height="{height}"/>'
        yield f'<text class="title" x="{_MARGIN}" y="20">{_clean(self._headline())}</text>'
        yield from self._axis()
        yield from self._names()
        yield from self._spans()
        yield from self._arrows()
        yield from map(self._mark, self._timeline.marks)
        yield from self._legend()
        yield "</svg>"

    def _headline(self) -> str:
        error = f" — {self._timeline.error.splitlines()[0]}" if self._timeline.error else ""
        return f"{self._timeline.entry}: {self._timeline.stop} ticks, one per simulated instruction{error}"

    def _x(self, tick: float) -> float:
        return _GUTTER + tick * self._span / self._stop

    def _axis(self) -> Iterator[str]:
        step = next(
            size
            for power in range(12)
            for size in (10**power, 2 * 10**power, 5 * 10**power)
            if size * self._span / self._stop >= _GRID
        )
        for tick in range(0, self._stop + 1, step):
            x = _number(self._x(tick))
            yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{_number(self._foot)}"/>'
            yield f'<text class="axis" x="{x}" y="{_TOP - 10}">{tick}</text>'

    def _names(self) -> Iterator[str]:
        for cta, y in self._heads.items():
            name = self._timeline.ctas.get(cta, f"CTA {cta}")
            yield f'<text class="cta" x="{_MARGIN}" y="{_number(y + 13)}">{_clean(name)}</text>'
        for track, (y, bar) in self._rows.items():
            name = track.name
            if bar == _THIN:
                name = "" if track.part else f"{track.engine}, {self._at_once[track.cta, track.engine]} at once"
            yield f'<text class="row" x="{_GUTTER - 8}" y="{_number(y + 11)}">{_clean(name)}</text>'

    def _spans(self) -> Iterator[str]:
        drawn: dict[Track, float] = {}
        for span in sorted(self._timeline.spans, key=lambda span: span.start):
            left, right = self._x(span.start), self._x(span.end)
            if right - drawn.get(span.track, 0.0) < _THINNEST:
                continue
            drawn[span.track] = right
            yield from self._bar(span, left, right - left)

    def _bar(self, span: Span, x: float, width: float) -> Iterator[str]:
        y, bar = self._rows[span.track]
        kind = span.kind if span.ended else "never"
        edge = " edge" if width > 2 else ""
        yield (
            f'<g><title>{_clean(self._tooltip(span))}</title><rect class="{kind}{edge}" x="{_number(x)}" '
            f'y="{_number(y)}" width="{_number(max(width, _THINNEST))}" height="{bar}"/>'
        )
        shown = _shortened(span.name, int((width - 4) / _LETTER)) if bar == _BAR else ""
        yield (f'<text x="{_number(x + 2)}" y="{_number(y + 11)}">{_clean(shown)}</text>' if shown else "") + "</g>"

    def _tooltip(self, span: Span) -> str:
        lines = [span.name, f"ticks {span.start} to {span.end}" + ("" if span.ended else ", never completes")]
        lines += [f"{name}: {value}" for name, value in span.details.items()]
        source = self._places.source(span.pc)
        frames = self._places.frames(span.pc)
        lines.append(f"PTX line {source['ptx line']}: {source['ptx']}")
        return "\n".join(lines + [f"{self._places.title(span.pc)} in {frames[0].function}" for _ in frames[:1]])

    def _arrows(self) -> Iterator[str]:
        drawn: set[str] = set()
        for arrow in self._timeline.arrows:
            path = self._path(arrow)
            if path is not None and path not in drawn:
                drawn.add(path)
                yield f'<path class="arrow" d="{path}" marker-end="url(#head)"><title>{arrow.name}</title></path>'

    def _path(self, arrow: Arrow) -> str | None:
        """Return the SVG curve of an arrow; None if either track is not drawn."""
        if arrow.start.track not in self._rows or arrow.end.track not in self._rows:
            return None
        (x, y), (to_x, to_y) = self._place(arrow.start), self._place(arrow.end)
        bend = max(abs(to_x - x) / 2, 4)
        points = (x, y), (x + bend, y), (to_x - bend, to_y), (to_x, to_y)
        start, *others = (f"{_number(px)},{_number(py)}" for px, py in points)
        return f"M{start}C{' '.join(others)}"

    def _place(self, point: Point) -> tuple[float, float]:
        """Return the (x, y) position of the middle of a tick in the bar of its track."""
        y, bar = self._rows[point.track]
        return self._x(point.tick + 0.5), y + bar / 2

    def _mark(self, mark: Mark) -> str:
        if mark.at.track not in self._rows:
            return ""
        x, y = self._place(mark.at)
        title = f"<title>{_clean(mark.name)}\ntick {mark.at.tick}</title>"
        if mark.kind == "finding":
            shape = f"M{_number(x - 5)},{_number(y - _BAR / 2 - 3)}h10L{_number(x)},{_number(y)}z"
            return f'<path class="finding" d="{shape}">{title}</path>'
        low, high, at = _number(y - _BAR / 2), _number(y + _BAR / 2), _number(x)
        return f'<line class="{mark.kind}" x1="{at}" x2="{at}" y1="{low}" y2="{high}">{title}</line>'

    def _legend(self) -> Iterator[str]:
        x, y = float(_GUTTER), self._foot + 12
        for kind, meaning in _LEGEND:
            yield f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" width="12" height="12"/>'
            yield f'<text x="{_number(x + 17)}" y="{_number(y + 10)}">{meaning}</text>'
            x += 17 + _LETTER * len(meaning) + 14
