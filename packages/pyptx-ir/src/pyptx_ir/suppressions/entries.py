"""Entries of a suppressions file, and the code lines that they match."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.reports import Position, Problem

_INSTALLED: Final = ("site-packages/", "dist-packages/")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code by which an entry finds a problem; parts that are None match every line.

    `code` is the text of the line, by which the line is found again after edits of the file: line numbers shift with
    each edit above the line, but the statement stays. `line` (from 1) selects one of several lines with this text, the
    nearest one. Without `code`, and for a file that cannot be read, the line's number must be the same.
    """

    file: str | None = None
    line: int | None = None
    code: str | None = None
    function: str | None = None

    def matches(self, position: Position, folder: str) -> bool:
        """Return whether this is the line of a position; `folder` contains the suppressions file."""
        if self.function is not None and self.function != position.function:
            return False
        if self.file is not None and not is_file(position.file, self.file, folder):
            return False
        lines = [] if self.code is None else lines_of(position.file)
        if self.code is None or not lines:
            return self.line in {None, position.line}
        return self._is_nearest(normalized(self.code), lines, position.line)

    def _is_nearest(self, code: str, lines: Sequence[str], number: int) -> bool:
        """Return whether line `number` of a file has the code, and no line with this code is nearer to `line`.

        Of two lines at the same distance, the first one is nearer.
        """
        if number > len(lines) or normalized(lines[number - 1]) != code:
            return False
        hint = number if self.line is None else self.line
        away = abs(number - hint)
        nearer = lines[max(hint - away - (number > hint), 0) : hint + away - 1] if away else lines[:0]
        return all(normalized(line) != code for line in nearer)


@dataclass(frozen=True, slots=True)
class Suppression:
    """An accepted problem: its rule, its place and the reason.

    `at` is the line of the problem or of its second instruction; with `other`, both lines must match, in any order,
    because the schedule decides which access of a data race is the second one. `kernel` limits the entry to a kernel,
    named by its entry, or to an input of a report. `number` (from 0) is the entry's number in its file, `row` its line.
    """

    rule: str
    at: CodeLine
    other: CodeLine | None = None
    kernel: str | None = None
    reason: str = ""
    number: int = 0
    row: int = 1

    def matches(self, problem: Problem, kernel: str, folder: str) -> bool:
        """Return whether this is the entry of a problem of `kernel`; `folder` contains the suppressions file."""
        if self.rule != problem.rule or self.kernel not in {None, kernel, problem.input}:
            return False
        found = places_of(problem)
        if self.other is None:
            anywhere = self.at == CodeLine()
            return anywhere or any(self.at.matches(each, folder) for each in found)
        orders = (found, found[::-1]) if len(found) == 2 else ()
        return any(self.at.matches(first, folder) and self.other.matches(second, folder) for first, second in orders)


def places_of(problem: Problem) -> tuple[Position, ...]:
    """Return the positions of a problem's instruction and of its second one, if two are involved.

    Further positions have no label: they have the same cause.
    """
    second = problem.positions[1:2]
    return (*problem.positions[:1], *(each for each in second if each.label))


def is_file(path: str, name: str, folder: str) -> bool:
    """Return whether `path` is the file `name` of an entry: absolute, from `folder`, or `site-packages/…`.

    So entries match in every checkout, and those of an installed package in every environment.
    """
    if name.startswith(_INSTALLED):
        return Path(path).absolute().as_posix().endswith(f"/{name}")
    return Path(path).resolve() == Path(folder, name).resolve()


def lines_of(file: str) -> list[str]:
    """Return the lines of a file; empty if the file cannot be read."""
    linecache.checkcache(file)
    return linecache.getlines(file)


def normalized(text: str) -> str:
    """Return a line of code without indentation and with single spaces: formatting does not change the entry."""
    return " ".join(text.split())
