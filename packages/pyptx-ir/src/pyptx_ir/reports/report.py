"""What a command has found: problems with their positions, and the inputs that it could not read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: Final = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Position:
    """A line of a file, from 1, with columns from 1 in characters; `end_column` is the first one after the problem.

    `label` states what the code at the position did, as `read by lane 3 of warp 0`. `function` contains the position.
    `calls` are the positions in functions that it calls, from the position inwards, down to the faulty code; `callers`
    are those of the calls that lead to it, outwards.
    """

    file: str
    line: int
    column: int | None = None
    end_column: int | None = None
    label: str = ""
    function: str = ""
    calls: tuple[Position, ...] = ()
    callers: tuple[Position, ...] = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """A line for each of `calls` and `callers`, as `called from k.cu:12 in kernel`."""
        return (
            *(f"calls {each.in_function}" for each in self.calls),
            *(f"called from {each.in_function}" for each in self.callers),
        )

    @property
    def in_function(self) -> str:
        """`FILE:LINE in FUNCTION`, or `FILE:LINE` if the function is unknown."""
        return f"{self} in {self.function}" if self.function else str(self)

    def __str__(self) -> str:
        """Return `FILE:LINE` or `FILE:LINE:COLUMN`."""
        return f"{self.file}:{self.line}" + ("" if self.column is None else f":{self.column}")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in an input: its rule or error code, and one line that states it.

    `positions` starts with the position of the problem; the others are related, such as the second access of a data
    race. It is empty if the problem has no line. `notes` are facts that explain the problem, `help` the change that
    removes it, `count` how often it occurred. `suppressed` is the reason why the problem was accepted, if it was.
    """

    input: str
    rule: str
    severity: Severity
    message: str
    positions: tuple[Position, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    count: int = 1
    suppressed: str = ""

    @property
    def headline(self) -> str:
        """Severity, rule and message, as `error[shared-race]: data race on …`."""
        return f"{self.severity}[{self.rule}]: {self.message}"

    @property
    def details(self) -> tuple[str, ...]:
        """Lines about the labels, related positions and calls, notes, number of occurrences, and help."""
        labels = (f"{each}: {each.label}" for each in self.positions if each.label)
        stacks = (f"{each} {call}" for each in self.positions for call in each.stack)
        related = (str(each) for each in self.positions[1:] if not each.label)
        often = (f"{self.count} occurrences",) * (self.count > 1)
        accepted = (f"suppressed: {self.suppressed}",) * bool(self.suppressed)
        notes = (*self.notes, *often, *accepted)
        return (*labels, *related, *stacks, *(f"note: {each}" for each in notes), *self._help)

    @property
    def _help(self) -> tuple[str, ...]:
        return (f"help: {self.help}",) if self.help else ()

    def __str__(self) -> str:
        """Return the headline, then `details` indented."""
        return "\n  ".join((self.headline, *self.details))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An input that a command could not read or run, and the error message."""

    input: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a command, such as `pyptx check`, has found in its inputs, which include the ones without problems.

    `rules` maps rules to one-line explanations; it may contain rules without problems. `details` is what only this
    command reports, as a JSON object; the formats other than JSON leave it out.
    """

    tool: str
    inputs: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    rules: Mapping[str, str] | None = None
    details: Mapping[str, object] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Number of problems per severity, of errors, warnings and notes, and the number of suppressed problems."""
        found = Counter("suppressed" if problem.suppressed else problem.severity for problem in self.problems)
        return {kind: found[kind] for kind in (*SEVERITIES, "suppressed")}


def united(reports: Sequence[Report], rules: Mapping[str, str] | None = None) -> Report:
    """Return one report of several reports of a command, which are not none, with the explanations `rules`."""
    return Report(
        reports[0].tool,
        tuple(each for report in reports for each in report.inputs),
        tuple(each for report in reports for each in report.problems),
        tuple(each for report in reports for each in report.unreadable),
        rules,
    )
