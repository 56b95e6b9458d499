"""Errors of inputs without usable PTX."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class SourceError(PyptxError):
    """An input that has no PTX, is damaged, or has several modules where one is expected."""
