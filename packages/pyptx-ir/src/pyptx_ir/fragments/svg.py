"""Drawing of the register layout of a matrix: a cell per register, colored by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import LETTER, cell, label, svg
from pyptx_ir.fragments.drawing import head_of, holders, span, steps_of, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.drawing import Drawing, Markup
    from pyptx_ir.fragments.drawing import Range
    from pyptx_ir.fragments.layout import Fragment

_WIDTH: Final = 780  # pixels, about the width of a notebook's cell
_ROW: Final = 19
_MOST_ROWS: Final = 32
_MARGIN: Final = 10


def draw_svg(fragment: Fragment) -> Drawing:
    """Return the SVG of a fragment: its first rows and columns, and the steps of lane and element bits.

    A cell is a register; neighbors that always share one are drawn as one cell. A matrix of more than 32 rows, or wider
    than a notebook, is cut off; the steps describe all of it.
    """
    return _Sheet(fragment).drawing()


class _Sheet:
    """Positions of the cells of a fragment."""

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment
        whole = [holders(fragment, product) for product in range(fragment.products)]
        rows = together([[line[row] for line in whole[0]] for row in range(fragment.rows)])
        columns = together(whole[0])
        longest = max(len(name) for line in whole[0] for name in line)
        self._cell = (longest + 1.5) * LETTER
        self._gutter = _MARGIN + 8 * LETTER
        fit = int((_WIDTH - self._gutter - _MARGIN) / self._cell)
        self._whole = whole
        self._rows, self._columns = rows[:_MOST_ROWS], columns[:fit]
        self._cut = (len(rows) > _MOST_ROWS, len(columns) > fit)

    def drawing(self) -> Drawing:
        lines = [*self._heads()]
        y = _ROW * (len(lines) + 0.5)
        parts = [label(_MARGIN, _ROW * (n + 1), text, class_=kind) for n, (text, kind) in enumerate(lines)]
        for product, held in enumerate(self._whole):
            if self._fragment.products > 1:
                y += _ROW
                parts.append(label(_MARGIN, y, f"MMA {product}"))
            parts += self._table(held, y)
            y += (len(self._rows) + 1) * _ROW
        width = max(self._gutter + len(self._columns) * self._cell, max(len(text) for text, _ in lines) * LETTER)
        return svg(width + 2 * _MARGIN, y + _MARGIN, *parts)

    def _heads(self) -> Iterator[tuple[str, str]]:
        fragment = self._fragment
        yield head_of(fragment), "title"
        yield from ((line, "faint") for line in steps_of(fragment))
        if any(self._cut):
            rows, columns = self._rows[-1][1], self._columns[-1][1]
            yield f"shown: rows 0-{rows} of {fragment.rows}, columns 0-{columns} of {fragment.columns}", "faint"

    def _table(self, held: Sequence[Sequence[str]], top: float) -> Iterator[Markup]:
        for place, columns in enumerate(self._columns):
            x = self._gutter + (place + 0.5) * self._cell
            yield label(x, top + _ROW - 6, span(columns), anchor="middle", class_="faint")
        for line, rows in enumerate(self._rows, 1):
            y = top + line * _ROW
            yield label(self._gutter - 8, y + _ROW - 6, span(rows), anchor="end", class_="faint")
            for place, columns in enumerate(self._columns):
                x, name = self._gutter + place * self._cell, held[columns[0]][rows[0]]
                yield cell(x, y, self._cell, _ROW, name, hue=_hue(name), tip=_tip(name, rows, columns))


def _hue(name: str) -> float:
    """Return the color of a lane: lanes of a group of four are similar, neighboring groups differ."""
    lane = int(name[1:].partition(".")[0])
    return lane // 4 * 45 % 360 + lane % 4 * 9


def _tip(name: str, rows: Range, columns: Range) -> str:
    lane, _, register = name[1:].partition(".r")
    return f"register {register} of lane {lane}: rows {span(rows)}, columns {span(columns)}"
