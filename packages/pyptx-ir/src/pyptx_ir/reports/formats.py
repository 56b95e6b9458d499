"""The formats of `--format`, each a function from a `Report` to its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.reports.github import github
from pyptx_ir.reports.json import as_json
from pyptx_ir.reports.junit import junit
from pyptx_ir.reports.sarif import sarif

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.reports.report import Report

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "json": as_json,
    "github": github,
    "sarif": sarif,
    "junit": junit,
}
"""Function from a report to its text, by the name of a format; `text` is not here, because each command has its own."""


def render(report: Report, style: str) -> str:
    """Return a report in `style`, one of `FORMATS`, ending with a newline unless it is empty.

    Raises:
        KeyError: no format has this name.

    """
    return FORMATS[style](report)
