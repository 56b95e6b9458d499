"""Reports in JSON: one object, with the version of its schema, `report.schema.json` next to this module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyptx_ir.reports.report import Position, Problem, Report

VERSION: Final = 1
"""Version of the schema. It rises when a field changes or goes; new fields do not change it."""


def text(report: Report) -> str:
    """Return a report as an indented JSON object."""
    return json.dumps(as_object(report), indent=2) + "\n"


def as_line(report: Report) -> str:
    """Return a report as one line of JSON."""
    return json.dumps(as_object(report)) + "\n"


def as_object(report: Report) -> dict[str, object]:
    """Return a report as the value of its JSON object, with a fixed order of keys."""
    details = {} if report.details is None else {"details": dict(report.details)}
    return {
        "version": VERSION,
        "tool": report.tool,
        "inputs": list(report.inputs),
        "problems": [_problem(each) for each in report.problems],
        "unreadable": [{"input": each.input, "message": each.message} for each in report.unreadable],
        "counts": report.counts,
        **details,
    }


def _problem(problem: Problem) -> dict[str, object]:
    return {
        "input": problem.input,
        "rule": problem.rule,
        "severity": problem.severity,
        "message": problem.message,
        "positions": [_position(each) for each in problem.positions],
        "notes": list(problem.notes),
        "help": problem.help,
        "count": problem.count,
        **({"suppressed": problem.suppressed} if problem.suppressed else {}),
    }


def _position(position: Position) -> dict[str, object]:
    columns = {"column": position.column, "end_column": position.end_column}
    found = {name: column for name, column in columns.items() if column is not None}
    function = {"function": position.function} if position.function else {}
    calls = {"calls": position.calls, "callers": position.callers}
    stack = {name: [_position(each) for each in found] for name, found in calls.items() if found}
    return {"file": position.file, "line": position.line, **found, "label": position.label, **function, **stack}
