"""Reports in SARIF 2.1.0, the OASIS standard for static analysis results, which code scanning services read."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from pyptx_ir.reports.report import Position, Problem, Report, Unreadable

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def text(report: Report) -> str:
    """Return a report as a SARIF log with one run."""
    rules = {problem.rule: "" for problem in report.problems} | dict(report.rules or {})
    names = list(rules)
    driver = {
        "name": report.tool,
        "semanticVersion": version("pyptx-ir"),
        "rules": [
            {"id": rule, **({"shortDescription": {"text": text}} if text else {})} for rule, text in rules.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report.unreadable)],
        "artifacts": [{"location": {"uri": uri(each)}} for each in report.inputs],
        "results": [_result(problem, names) for problem in report.problems],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def uri(file: str) -> str:
    """Return a file as a URI: relative for a relative path, `file:` for an absolute one."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _invocation(unreadable: tuple[Unreadable, ...]) -> dict[str, object]:
    notifications = [
        {"level": "error", "message": {"text": each.message}, "locations": [_artifact(each.input)]}
        for each in unreadable
    ]
    found = {"toolExecutionNotifications": notifications} if notifications else {}
    return {"executionSuccessful": not unreadable, **found}


def _artifact(file: str) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri(file)}}}


def _result(problem: Problem, rules: list[str]) -> dict[str, object]:
    first, *related = problem.positions or [None]
    result: dict[str, object] = {
        "ruleId": problem.rule,
        "ruleIndex": rules.index(problem.rule),
        "level": problem.severity,
        "message": {"text": "\n".join((problem.message, *problem.details))},
        "occurrenceCount": problem.count,
        "locations": [_artifact(problem.input) if first is None else _location(first)],
    }
    if problem.suppressed:
        reason = {"kind": "external", "status": "accepted", "justification": problem.suppressed}
        result["suppressions"] = [reason]
    if related:
        result["relatedLocations"] = [_location(each) for each in related if each is not None]
    if first is not None and first.stack:
        innermost_first = (*reversed(first.calls), first, *first.callers)
        result["stacks"] = [{"frames": [{"location": _location(each)} for each in innermost_first]}]
    return result


def _location(position: Position) -> dict[str, object]:
    region = {"startLine": position.line, "startColumn": position.column, "endColumn": position.end_column}
    physical = {
        "artifactLocation": {"uri": uri(position.file)},
        "region": {name: value for name, value in region.items() if value is not None},
    }
    message = {"message": {"text": position.label}} if position.label else {}
    function = {"logicalLocations": [{"name": position.function, "kind": "function"}]} if position.function else {}
    return {"physicalLocation": physical, **function, **message}
