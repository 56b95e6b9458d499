"""Drawing of a shared memory access: a column per bank, a row per 128 bytes, the lanes in their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.banks.dimensions import BANKS, WORD
from pyptx_ir.drawing import LETTER, cell, label, svg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.banks.conflicts import BankConflicts
    from pyptx_ir.drawing import Drawing, Markup

_CELL: Final = 21.0
_ROW: Final = 19.0
_MARGIN: Final = 10.0
_GUTTER: Final = _MARGIN + 12 * LETTER
_MOST_ROWS: Final = 32  # rows of 128 bytes that are drawn
_LINE: Final = BANKS * WORD


def draw_svg(access: BankConflicts) -> Drawing:
    """Return the SVG of a shared memory access: one table for each group of lanes that is served together."""
    y, parts = 2 * _ROW, [label(_MARGIN, _ROW, f"shared memory access: {access}", class_="title")]
    for group, ways in zip(access.groups, access.ways, strict=True):
        noun = "wavefront" if ways == 1 else "wavefronts"
        head = f"lanes {group[0]}-{group[-1]}: {ways} {noun}"
        parts.append(label(_MARGIN, y, head, class_="alarm" if ways > 1 else None))
        table = _Table(access, group)
        parts += table.lines(y)
        y += table.height + 1.5 * _ROW
    return svg(_GUTTER + BANKS * _CELL + 2 * _MARGIN, max(y - _ROW, 2 * _ROW), *parts)


class _Table:
    """Words that a group of lanes accesses, by row of 128 bytes and bank."""

    def __init__(self, access: BankConflicts, group: range) -> None:
        self._lanes: dict[int, list[int]] = {}
        for lane in group:
            for word in access.words(lane):
                self._lanes.setdefault(word, []).append(lane)
        rows = sorted({word // BANKS for word in self._lanes})
        self._rows, self._hidden = rows[:_MOST_ROWS], len(rows) - _MOST_ROWS

    @property
    def height(self) -> float:
        """Height in pixels."""
        return _ROW * (len(self._rows) + 2 + (self._hidden > 0))

    def lines(self, y: float) -> Iterator[Markup]:
        """Yield the table below `y`: banks, rows of words, and the number of words per bank."""
        yield from self._line(y + _ROW, "bank", [str(bank) for bank in range(BANKS)])
        for place, row in enumerate(self._rows, 1):
            yield label(_GUTTER - 8, y + (place + 1) * _ROW, f"byte {row * _LINE}", anchor="end", class_="faint")
            for bank in range(BANKS):
                yield self._word(row * BANKS + bank, _GUTTER + bank * _CELL, y + (place + 0.3) * _ROW)
        y += (len(self._rows) + 1) * _ROW
        if self._hidden > 0:
            y += _ROW
            yield label(_GUTTER, y, f"and {self._hidden} more rows of {_LINE} bytes", class_="faint")
        counts = [sum(word % BANKS == bank for word in self._lanes) for bank in range(BANKS)]
        yield from self._line(y + _ROW, "words", [str(count or "") for count in counts])

    def _line(self, y: float, name: str, texts: list[str]) -> Iterator[Markup]:
        yield label(_GUTTER - 8, y, name, anchor="end", class_="faint")
        for bank, text in enumerate(texts):
            loud = name == "words" and text not in ("", "1")
            x = _GUTTER + (bank + 0.5) * _CELL
            yield label(x, y, text, anchor="middle", class_="alarm" if loud else "faint")

    def _word(self, word: int, x: float, y: float) -> Markup:
        lanes = self._lanes.get(word)
        if lanes is None:
            return cell(x, y, _CELL, _ROW)
        text = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}+"
        tip = f"word {word}, bank {word % BANKS}: lanes {', '.join(map(str, lanes))}"
        return cell(x, y, _CELL, _ROW, text, hue=lanes[0] * 360 / 32, tip=tip)
