"""The formats of `--format`: each is a module of this package with a function `text`, imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from pyptx_ir.reports.report import Report

FORMATS: Final = ("json", "github", "sarif", "junit")
"""Names of the formats; `text` is not one of them, because each command prints its own text."""


def render(report: Report, style: str) -> str:
    """Return a report in `style`, one of `FORMATS`, ending with a newline unless it is empty.

    Raises:
        KeyError: no format has this name.

    """
    if style not in FORMATS:
        raise KeyError(style)
    return cast("str", import_module(f"pyptx_ir.reports.{style}").text(report))
