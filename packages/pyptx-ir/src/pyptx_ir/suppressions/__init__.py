"""Suppressions: reviewed findings that no longer fail a run, in a TOML file with a reason for each.

`Suppressions.load(path)` reads the file, `apply` marks the problems of a report, `unused` returns the entries that
matched nothing. `pyptx suppress` writes entries for review.
"""

from __future__ import annotations

from pyptx_ir.suppressions.entries import CodeLine, Suppression
from pyptx_ir.suppressions.errors import SuppressionError
from pyptx_ir.suppressions.options import add_suppressions, load_suppressions, remarks, unused_problems
from pyptx_ir.suppressions.suppressions import UNUSED, UNUSED_HELP, Run, Suppressions

__all__ = [
    "UNUSED",
    "UNUSED_HELP",
    "CodeLine",
    "Run",
    "Suppression",
    "SuppressionError",
    "Suppressions",
    "add_suppressions",
    "load_suppressions",
    "remarks",
    "unused_problems",
]
