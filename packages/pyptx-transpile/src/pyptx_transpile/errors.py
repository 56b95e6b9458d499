"""Errors of pyptx-transpile.

PyptxError
├── ProofError      the printed Python does not emit its source, and no rule causes it: a bug of this package
└── RuleError       unknown rule
"""

from __future__ import annotations

from pyptx_ir.errors import PyptxError

__all__ = ["ProofError", "RuleError"]


class ProofError(PyptxError):
    """The printed Python does not emit its source, and no rule causes it: a bug of this package."""


class RuleError(PyptxError):
    """A requested rule exists in no package, or a rule raised while it searched for matches."""
