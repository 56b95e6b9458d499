"""Reports in JUnit XML, as continuous integration services read it: a test case per input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.reports.report import Problem, Report

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(report: Report) -> str:
    """Return a report as a test suite: an input with errors fails; warnings, notes and suppressed errors are output."""
    failed = {problem.input for problem in report.problems if _fails(problem)}
    unreadable = {each.input: each.message for each in report.unreadable}
    inputs = list(dict.fromkeys((*report.inputs, *(each.input for each in report.problems), *unreadable)))
    counts = f'tests="{len(inputs)}" failures="{len(failed - set(unreadable))}" errors="{len(unreadable)}"'
    cases = [line for each in inputs for line in _case(report, each, unreadable.get(each))]
    head = f"<testsuites name={_attribute(report.tool)} {counts}>"
    suite = f"<testsuite name={_attribute(report.tool)} {counts}>"
    lines = ['<?xml version="1.0" encoding="utf-8"?>', head, suite, *cases, "</testsuite>", "</testsuites>"]
    return "\n".join(lines) + "\n"


def _case(report: Report, name: str, unreadable: str | None) -> Iterator[str]:
    mine = [problem for problem in report.problems if problem.input == name]
    errors = [problem for problem in mine if _fails(problem)]
    others = [problem for problem in mine if not _fails(problem)]
    yield f"<testcase classname={_attribute(report.tool)} name={_attribute(name)}>"
    if unreadable is not None:
        yield f"<error message={_attribute(unreadable)}/>"
    elif errors:
        message = errors[0].headline if len(errors) == 1 else f"{len(errors)} errors"
        yield f"<failure message={_attribute(message)}>{_texts(errors)}</failure>"
    if others:
        yield f"<system-out>{_texts(others)}</system-out>"
    yield "</testcase>"


def _fails(problem: Problem) -> bool:
    return problem.severity == "error" and not problem.suppressed


def _texts(problems: list[Problem]) -> str:
    return _text("\n\n".join(f"{each.positions[0]}: {each}" if each.positions else str(each) for each in problems))


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_IN_XML.sub("\ufffd", text))
