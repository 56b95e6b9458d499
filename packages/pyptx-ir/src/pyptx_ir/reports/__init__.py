"""Reports of commands in formats for tools: JSON, annotations of GitHub Actions, SARIF and JUnit XML.

A command states what it has found as a `Report` of `Problem`s, and `render` prints it in the format of `--format`.
Findings of the simulator and diagnostics of `pyptx check` become `Problem`s; their texts for people remain their own.
"""

from __future__ import annotations

from pyptx_ir.reports.formats import FORMATS, render
from pyptx_ir.reports.report import Position, Problem, Report, Severity, Unreadable, united

__all__ = ["FORMATS", "Position", "Problem", "Report", "Severity", "Unreadable", "render", "united"]
