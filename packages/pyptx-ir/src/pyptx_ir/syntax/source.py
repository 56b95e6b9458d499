"""Source text with a name, for lines, columns and carets in messages."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

# Messages show only this many characters of a longer line: generated PTX has lines of half a megabyte.
_WINDOW = 160
# Characters that messages replace: control and text-direction characters, which terminals interpret, and surrogates.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_TAB = re.compile(r"[^\t]")


def decode(data: bytes) -> str:
    """Decode PTX as UTF-8; invalid bytes become surrogates, and line ends are kept."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Encode PTX to the bytes that `decode` read."""
    return text.encode("utf-8", "surrogateescape")


def visible(text: str) -> str:
    """Return text with each control character replaced by U+FFFD."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of character offsets: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A text and its name in messages. Lines and columns count from 1; as in ptxas, only a line feed ends a line."""

    text: str
    name: str = "<string>"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset; both count from 1, the column in characters."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def line(self, number: int) -> str:
        """Return a line of the text without its line end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")

    def caret(self, span: Span) -> str:
        """Return `name:line:column`, then the line, then carets below the first line of the span."""
        row, column = self.line_column(span.start)
        line = self.line(row)
        left = 0 if len(line) <= _WINDOW else max(0, column - 1 - _WINDOW // 2)
        shown = visible(line[left : left + _WINDOW])
        before, after = column - 1 - left, shown[column - 1 - left :]
        dots = "..." if left else ""
        gutter = f"{row} | {dots}"
        pad = " " * len(gutter) + _NOT_TAB.sub(" ", shown[:before])
        carets = "^" * max(1, min(span.end - span.start, len(after)))
        return f"{self.name}:{row}:{column}\n{gutter}{shown}\n{pad}{carets}"
