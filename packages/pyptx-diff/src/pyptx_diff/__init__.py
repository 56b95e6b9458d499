"""Semantic differences between PTX modules: changes beyond names and formatting."""

from __future__ import annotations

from pyptx_diff.comparison import compare
from pyptx_diff.result import Change, Comparison, FunctionDifference, Renaming, StatementLine

__tracebackhide__ = True

__all__ = ["Change", "Comparison", "FunctionDifference", "Renaming", "StatementLine", "compare"]
