"""Findings of a run as a `pyptx_ir.reports.Report`, for JSON, GitHub Actions, SARIF and JUnit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.debug_info import position_of
from pyptx_ir.reports import Position, Problem, Report, Unreadable
from pyptx_sim.extension.registry import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.plugins.rows import Frame
    from pyptx_sim.findings import Finding

TOOL: Final = "pyptx sim"


def report_of(findings: Sequence[Finding], kernel: str, *, files: Sequence[str] = (), error: str = "") -> Report:
    """Return the report of a run of `kernel`.

    `files` are the names of the linked PTX modules, for findings without a source line; `error` is the message of an
    error that ended the run.
    """
    return report_with(problems_of(findings, kernel, files), kernel, error)


def problems_of(findings: Sequence[Finding], kernel: str, files: Sequence[str] = ()) -> tuple[Problem, ...]:
    """Return the findings of a run of `kernel` as problems; `files` are the names of the linked PTX modules."""
    return tuple(_problem(finding, kernel, files or (kernel,)) for finding in findings)


def report_with(problems: Sequence[Problem], kernel: str, error: str = "") -> Report:
    """Return the report of a run of `kernel` with `problems`, and with the error that ended it, if any."""
    explained = {name: rule.summary for name, rule in rules().items()}
    return Report(TOOL, (kernel,), tuple(problems), (Unreadable(kernel, error),) if error else (), explained)


def _problem(finding: Finding, kernel: str, files: Sequence[str]) -> Problem:
    first = finding.line, finding.module, finding.origin, finding.label
    other = finding.other_line, finding.other_module, finding.other_origin, finding.other_label
    also = (Position(files[finding.module or 0], line) for line in finding.also)
    return Problem(
        kernel,
        finding.rule,
        finding.severity,
        finding.message,
        (*_positions(*first, files), *_positions(*other, files), *also),
        finding.notes,
        finding.help or "",
        finding.count,
    )


def _positions(
    line: int | None, module: int | None, origin: tuple[Frame, ...], label: str | None, files: Sequence[str]
) -> Iterator[Position]:
    """Yield the position of an instruction: the user's source line, or else the line of PTX."""
    if origin:
        yield position_of(origin, label or "")
    elif line is not None:
        yield Position(files[module or 0], line, label=label or "")
