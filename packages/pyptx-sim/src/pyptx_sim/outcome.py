"""What the results of runs have in common: a summary, the findings as text and as JSON, and an assertion for tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.reports import render
from pyptx_ir.syntax.source import visible
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.registry import rules
from pyptx_sim.reports import report_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.drawing import Markup
    from pyptx_sim.findings import Finding

LINES: Final = 15
"""Maximum number of lines of a summary."""


class Outcome(ABC):
    """Base of the results of one run, and of runs under several schedules.

    A subclass defines `kernel` (the kernel's name), `all_findings`, `stops` (messages of errors that ended runs), and
    `extent` (the size of what ran, in one line). It may define more `facts`, a line each.
    """

    __slots__ = ()

    kernel: str
    timeline: Markup | None = None
    """SVG of the timeline that the run drew (`trace="run.svg"`); None without one."""

    @property
    @abstractmethod
    def all_findings(self) -> Sequence[Finding]:
        """Findings in order of first occurrence."""

    @property
    def stops(self) -> Sequence[str]:
        """Messages of the errors that ended runs; empty if every run completed."""
        return ()

    @property
    @abstractmethod
    def extent(self) -> str:
        """What ran: `72 instructions of 4 warps in 4 CTAs`."""

    @property
    def facts(self) -> Sequence[str]:
        """Further lines of the summary, such as the shapes of the outputs."""
        return ()

    @property
    def rows(self) -> Sequence[str]:
        """A line per finding: headline and positions."""
        return [finding.summary for finding in self.all_findings]

    @property
    def clean(self) -> bool:
        """Whether every run completed without findings."""
        return not self.all_findings and not self.stops

    @property
    def headline(self) -> str:
        """Number of findings per severity and of errors that ended runs, and what ran."""
        found = Counter(finding.severity for finding in self.all_findings)
        counts = [counted(count, severity) for severity, count in found.items()] or ["no findings"]
        stopped = [f"{counted(len(self.stops), 'run')} ended by an error"] if self.stops else []
        return f"{', '.join((*counts, *stopped))}: {self.extent}"

    @property
    def _titled(self) -> str:
        """The headline after the kernel's name."""
        return f"{visible(self.kernel)}: {self.headline}"

    @property
    def text(self) -> str:
        """All findings, as `pyptx sim` prints them, the errors that ended runs, and the headline."""
        return "\n\n".join((*map(str, self.all_findings), *self.stops, self.headline))

    def __str__(self) -> str:
        """Return a summary of at most 15 lines: the headline, facts, and a line for each of the first findings."""
        lines = [self._titled, *(f"  {fact}" for fact in self.facts)]
        rows = [*self.rows, *(each.splitlines()[0] for each in self.stops)]
        room = LINES - len(lines)
        if len(rows) > room:
            more = len(rows) - (room - 1)
            rows = [*rows[: room - 1], f"and {more} more; print(result.text) shows all"]
        return "\n".join([*lines, *(f"  {row}" for row in rows)])

    def _repr_html_(self) -> str:
        """Return the summary as HTML, for notebooks; each finding opens to its text, and a drawn timeline follows."""
        from pyptx_sim.html import html_of

        return html_of(self)

    def assert_clean(self, allow: Iterable[str] = ()) -> None:
        """Raise an AssertionError whose text is the findings, except findings of the rules `allow`.

        An error that ended a run also raises AssertionError.

        Raises:
            LaunchError: a name in `allow` is not the name of a rule.

        """
        __tracebackhide__ = True  # pytest shows the caller's line
        allowed = {allow} if isinstance(allow, str) else set(allow)
        if unknown := sorted(allowed - set(rules())):
            raise LaunchError(f"allow: no rule {', '.join(unknown)}", help="pyptx explain --list lists all rules")
        found = [finding for finding in self.all_findings if finding.rule not in allowed]
        if found or self.stops:
            raise AssertionError("\n\n".join((self._titled, *map(str, found), *self.stops)))

    def to_json(self) -> str:
        """Return the findings as a JSON report, which docs/reports.md describes."""
        return render(report_of(self.all_findings, self.kernel, error="\n".join(self.stops)), "json")
