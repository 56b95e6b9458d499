"""The error of inputs."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class SourceError(PyptxError):
    """An input holds no PTX, is damaged, or holds several modules where one is wanted."""
