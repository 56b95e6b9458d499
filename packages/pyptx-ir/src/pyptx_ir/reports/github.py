"""Reports as workflow commands of GitHub Actions, which show each problem at its line of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyptx_ir.reports.report import Problem, Report

_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}
_IN_MESSAGES: Final = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTIES: Final = (*_IN_MESSAGES, (":", "%3A"), (",", "%2C"))


def text(report: Report) -> str:
    """Return a line such as `::error file=a.ptx,line=6,col=2,title=shared-race::…` per unsuppressed problem."""
    shown = (problem for problem in report.problems if not problem.suppressed)
    unreadable = (_command("error", {"file": each.input}, each.message) for each in report.unreadable)
    return "".join((*map(_line, shown), *unreadable))


def _line(problem: Problem) -> str:
    properties: dict[str, object] = {}
    if problem.positions:
        first = problem.positions[0]
        columns = {"col": first.column, "endColumn": first.end_column}
        properties = {"file": first.file, "line": first.line}
        properties |= {name: column for name, column in columns.items() if column is not None}
    title = {"title": f"{problem.severity}[{problem.rule}]"}
    return _command(_COMMANDS[problem.severity], properties | title, "\n".join((problem.message, *problem.details)))


def _command(name: str, properties: dict[str, object], message: str) -> str:
    words = ",".join(f"{key}={_escaped(str(value), _IN_PROPERTIES)}" for key, value in properties.items())
    return f"::{name} {words}::{_escaped(message, _IN_MESSAGES)}\n"


def _escaped(text: str, replacements: tuple[tuple[str, str], ...]) -> str:
    for character, escape in replacements:
        text = text.replace(character, escape)
    return text
