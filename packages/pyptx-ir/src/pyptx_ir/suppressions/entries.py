"""Entries of a suppressions file, and the code lines that they match."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
        return self.number_in(position.file) in {None, position.line}

    def number_in(self, file: str) -> int | None:
        """Return the line's number in a file; None for any line, and 0 if no line has the code."""
        lines = [] if self.code is None else lines_of(file)
        if not lines:
            return self.line
        numbers = [number for number, text in enumerate(lines, 1) if text == normalized(self.code or "")]
        return min(numbers, key=lambda number: abs(number - (self.line or number)), default=0)


@dataclass(frozen=True, slots=True)
class Suppression:
    """An accepted problem: its rule, its place and the reason.

    `at` is the line of the problem or of its second instruction; with `other`, both lines must match, in any order,
    because the schedule decides which access of a data race is the second one. `kernel` limits the entry to a kernel,
    named by its entry, or to an input of a report.
    `number` (from 0) is the entry's number in its file, `row` its line there.
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
    """Return the lines of a file, with single spaces; empty if the file cannot be read."""
    linecache.checkcache(file)
    return [normalized(line) for line in linecache.getlines(file)]


def normalized(text: str) -> str:
    """Return a line of code without indentation and with single spaces: formatting does not change the entry."""
    return " ".join(text.split())
