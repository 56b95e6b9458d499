"""Differences between two PTX modules, ignoring names and formatting: `compare(before, after)`."""

from pyptx_ir.diff import Change, Comparison, Part, Place, Renaming, compare

__all__ = ["Change", "Comparison", "Part", "Place", "Renaming", "compare"]
