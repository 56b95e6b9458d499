"""The error of an invalid suppressions file."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class SuppressionError(PyptxError):
    """A suppressions file that is not valid TOML, or has an entry without a rule, a place or a reason."""
