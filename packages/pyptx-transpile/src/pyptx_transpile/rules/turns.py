"""Merging of Python lines that differ only in numbers to one `for`; numbers are arithmetic or from a table.

The merged lines may already contain loops. Then a number is the sum of its terms in all loops: `r[4 + 36 * i + j]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from pyptx_transpile.printing.layout import Group, call, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_TABLES", "NAMES", "Loop", "lines_of_table", "looped", "runs_of", "stepped"]

_WIDEST_TABLE = 80  # maximum characters of a loop's table of numbers that is printed on one line, row by row
_BLOCKS = 3  # estimated number of Python blocks around a printed loop, four columns each
# Numbers of a table: minimum length of an arithmetic run, maximum length of a period.
_SHORTEST_RUN, _LONGEST_CYCLE = 4, 8
NAMES = (("i", "t", "u", "v"), ("j", "x", "y", "z"), ("n", "a", "b", "c"))
"""Variable names of a loop's counter and table columns, by the number of enclosing loops."""
MOST_TABLES = len(NAMES[0]) - 1
_LITERAL = re.compile(r"""((?:\bf)?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![\w.])(-?\d+)(?![\w.])""", re.ASCII)
_IS_NUMBER = re.compile(r"-?\d+", re.ASCII).fullmatch
_TEXT = re.compile(  # a label, or a variable plus an offset, with a number that a loop may count: "$L_7", "ring+1024"
    r"""f?"(?P<name>[^"{}\\]*?)(?:(?P<number>\d+)|\{(?P<first>\d+)(?P<more>[^"{}]*)\})\"""", re.ASCII
)
_NAME = f"[{''.join(name for names in NAMES for name in names)}]"
_SLICE = re.compile(rf"\[([^\[\]]*\b{_NAME}\b[^\[\]]*)\]", re.ASCII)
# Matches the needless `0 +` or `0 -` before a loop counter.
_NOTHING = re.compile(rf"(?<![\w.])0 ([+-]) (?=(?:\d+ \* )?{_NAME}\b)", re.ASCII)
_OPERATOR = re.compile(r"[-+*/<>&|^=] \Z", re.ASCII)
_ADDS = re.compile(r" [+-] ", re.ASCII)
_OPERATES = re.compile(r" [-+*/<>&|^=!]", re.ASCII)


@dataclass(slots=True)
class Loop:
    """A Python `for` over `values`, with the lines of its block; `names` are its variables."""

    names: tuple[str, ...]
    over: Group
    lines: list[str]

    def header(self) -> str:
        """Return the text of the `for` header before its values."""
        counter, *tables = self.names or ("_",)
        if self.over.opening == "enumerate(" and len(tables) > 1:
            return f"for {counter}, ({', '.join(tables)}) in "
        return f"for {', '.join([counter, *tables])} in "


@dataclass(slots=True)
class _Merging:
    """State of merging one loop's iterations; `tables`: loop variable for each non-arithmetic sequence of numbers."""

    level: int
    tables: dict[tuple[int, ...], str] = field(default_factory=dict[tuple[int, ...], str])
    counted: bool = False

    def line(self, lines: Sequence[str]) -> str | None:
        """Return the line that replaces the corresponding lines of all iterations; None if they cannot be merged."""
        if lines[0].lstrip(" ").startswith("#"):
            return lines[0] if len(set(lines)) == 1 else None
        pieces = [_LITERAL.split(line) for line in lines]
        if len({tuple(row[::3]) for row in pieces}) != 1:
            return None
        merged: list[str] = [piece or "" for piece in pieces[0]]
        for at in range(1, len(merged), 3):
            is_text, column = pieces[0][at] is not None, [row[at] or row[at + 1] or "" for row in pieces]
            one = self._text(column) if is_text else self._literal(column, merged[at - 1], merged[at + 2])
            if one is None:
                return None
            merged[at : at + 2] = one, ""
        text = "".join(merged)
        return text if self.level else _SLICE.sub(_spaced, _without_nothing(text))

    def _literal(self, numbers: Sequence[str], before: str, behind: str) -> str | None:
        """Return the Python expression for a varying number with the constant text before and after it."""
        if not all(map(_IS_NUMBER, numbers)):
            return None
        number = self._number(tuple(map(int, numbers)))
        return f"({number})" if number is not None and _needs_brackets(number, before, behind) else number

    def _text(self, texts: Sequence[str]) -> str | None:
        """Return the Python expression for a string whose last number varies between iterations of one of the loops."""
        if len(set(texts)) == 1:
            return texts[0]
        found = [match for match in map(_TEXT.fullmatch, texts) if match is not None]
        rest = {(match["name"], match["more"] or "") for match in found}
        if len(found) != len(texts) or len(rest) != 1:
            return None
        number = self._number(tuple([int(match["number"] or match["first"]) for match in found]))
        ((name, more),) = rest
        return None if number is None else f'f"{name}{{{number}{more}}}"'

    def _number(self, column: tuple[int, ...]) -> str | None:
        """Return the Python expression for a number that varies by iteration; None if no table variable is free."""
        start, step = column[0], column[1] - column[0]
        counter, *names = NAMES[self.level]
        if stepped(column) < len(column):
            if column not in self.tables and len(self.tables) < MOST_TABLES:
                self.tables[column] = names[len(self.tables)]
            return self.tables.get(column)
        if step == 0:
            return str(start)
        self.counted = True
        times = counter if abs(step) == 1 else f"{abs(step)} * {counter}"
        return f"{start} {'+' if step > 0 else '-'} {times}"


def _needs_brackets(number: str, before: str, behind: str) -> bool:
    """Return whether the sum `number` needs parentheses between the texts `before` and `behind`."""
    if not _ADDS.search(number):
        return False
    return bool(_OPERATOR.search(before) or (_OPERATES.match(behind) and not _ADDS.match(behind)))


def _without_nothing(text: str) -> str:
    """Return a Python line in which `0 + i` is `i` (`i`: a loop counter, or its product with a constant)."""
    pieces = re.split(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", text)
    pieces[::2] = [_NOTHING.sub(lambda found: "-" * (found[1] == "-"), piece) for piece in pieces[::2]]
    return "".join(pieces)


def _spaced(index: re.Match[str]) -> str:
    """Return a Python subscript with spaces around the colons between expressions, as formatters print it."""
    return f"[{index[1].replace(':', ' : ')}]"


def looped(turns: Sequence[Sequence[str]], level: int) -> Loop | None:
    """Return the `for` loop that merges the lines of the iterations `turns`; None if more than numbers differ."""
    if len({len(turn) for turn in turns}) != 1:
        return None
    merging, lines = _Merging(level), list[str]()
    for each in zip(*turns, strict=True):
        line = merging.line(each)
        if line is None:
            return None
        lines.append(line)
    return _loop(merging, len(turns), lines)


def _loop(merging: _Merging, count: int, lines: list[str]) -> Loop:
    counter = (NAMES[merging.level][0],) if merging.counted else ()
    names = tuple(merging.tables.values())
    over = _values(list(merging.tables)) if names else call("range", [str(count)])
    return Loop((*counter, *names), call("enumerate", [over]) if counter and names else over, lines)


def _values(columns: Sequence[tuple[int, ...]]) -> Group:
    """Return the Python values of a `for` that reads one number from each of `columns` per iteration.

    The values are one tuple per iteration if they fit on a line, else one sequence per column, in which arithmetic and
    periodic runs are abbreviated.
    """
    rows = [str(row[0]) if len(row) == 1 else f"({', '.join(map(str, row))})" for row in zip(*columns, strict=True)]
    if len(", ".join(rows)) <= _WIDEST_TABLE:
        return Group("(", tuple(rows), ")")
    short = [Group("(", tuple(runs), ",)" if len(runs) == 1 else ")") for runs in map(runs_of, columns)]
    return short[0] if len(short) == 1 else call("zip", [*short, "strict=True"])


def lines_of_table(columns: Sequence[tuple[int, ...]]) -> int:
    """Return the number of lines, minus one, of a `for` header that iterates over these columns of numbers."""
    over = call("enumerate", [_values(columns)])
    return sum(1 for _ in lines(over, _BLOCKS, "for i, (t, u) in ", ":")) - 1


def stepped(column: Sequence[int]) -> int:
    """Return how many numbers at the start of `column` form an arithmetic sequence."""
    if len(column) > 2:
        step, number = column[1] - column[0], column[1]
        for at in range(2, len(column)):
            number += step
            if column[at] != number:
                return at
    return len(column)


def runs_of(column: Sequence[int]) -> list[str]:
    """Return Python elements for the numbers in `column`: one element for each arithmetic or periodic run."""
    found: list[str] = []
    at = 0
    while at < len(column):
        text, length = max((_row(column[at:]), _cycle(column[at:])), key=lambda run: run[1])
        found.append(text)
        at += length
    return found


def _row(column: Sequence[int]) -> tuple[str, int]:
    """Return the arithmetic run at the start of the numbers `column` as Python, and its length (1 if too short)."""
    length = stepped(column)
    step = column[1] - column[0] if length >= _SHORTEST_RUN else 0
    if step == 0:
        return str(column[0]), 1
    more = "" if step == 1 else f", {step}"
    return f"*range({column[0]}, {column[0] + step * length}{more})", length


def _cycle(column: Sequence[int]) -> tuple[str, int]:
    """Return the periodic run at the start of the numbers `column` as Python, and its total length."""
    best = "", 0
    for period in range(1, _LONGEST_CYCLE + 1):
        same = (one == other for one, other in zip(column, column[period:], strict=False))
        turns = 1 + sum(takewhile(bool, same)) // period
        if turns * period > max(best[1], _SHORTEST_RUN - 1, 2 * period):
            best = f"*[{', '.join(map(str, column[:period]))}] * {turns}", turns * period
    return best
