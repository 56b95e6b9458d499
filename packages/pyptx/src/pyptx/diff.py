"""Differences between two PTX modules, ignoring names and formatting: `compare(before, after)`."""

from pyptx_diff import Change, Comparison, FunctionDifference, Renaming, StatementLine, compare

__all__ = ["Change", "Comparison", "FunctionDifference", "Renaming", "StatementLine", "compare"]
