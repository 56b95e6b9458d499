"""Paths of source files in messages."""

from __future__ import annotations

import os.path


def displayed_path(file: str) -> str:
    """Return a path relative to the working directory, if the file is below that directory; else unchanged."""
    try:
        short = os.path.relpath(file)
    except (ValueError, OSError):  # the file is on another drive, or the working directory was deleted
        return file
    return file if short.startswith("..") else short
