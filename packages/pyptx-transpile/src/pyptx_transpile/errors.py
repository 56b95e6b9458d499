"""What can go wrong."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError

__all__ = ["ProofError"]


class ProofError(PyptxError):
    """What was printed does not emit its source, and no rule is to blame: a defect of this package."""
