"""What can go wrong.

PyptxError
├── ProofError      what was printed does not emit its source, and no rule is to blame: a defect of this package
└── RuleError       a rule that there is not
"""

from __future__ import annotations

from pyptx_ir.errors import PyptxError

__all__ = ["ProofError", "RuleError"]


class ProofError(PyptxError):
    """What was printed does not emit its source, and no rule is to blame: a defect of this package."""


class RuleError(PyptxError):
    """A rule is asked for that no package has, or one raises while it looks for its sites."""
