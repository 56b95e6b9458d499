"""Errors of inputs."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class SourceError(PyptxError):
    """An input without PTX, damaged, or with several modules where one is expected."""
