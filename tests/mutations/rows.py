"""Row of the table of injected faults: kernel, change, marked line, and the finding that names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Injected:
    """An injected fault; `number` selects one of several changes that an operator makes to one line."""

    subject: str
    operator: str
    at: str
    rule: str
    lines: tuple[str, ...]
    number: int = 0

    def __str__(self) -> str:
        """Return the fault as a test id."""
        which = f" ({self.number + 1})" if self.number else ""
        return f"{self.subject}: {self.operator}{which} at {self.at}"


def injected(subject: str, *rows: tuple[str, str, str, str] | tuple[str, str, str, str, int]) -> tuple[Injected, ...]:
    """Return the faults of a subject; a row: operator, line's mark, rule, marks of the finding's lines, [`number`]."""
    return tuple(Injected(subject, row[0], row[1], row[2], tuple(row[3].split()), *row[4:]) for row in rows)
