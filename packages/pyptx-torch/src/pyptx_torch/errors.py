"""The errors of pyptx-torch, beside those of pyptx-dsl.

DslError                 (pyptx_dsl.errors)
└── GradientError        a gradient that no kernel computes (also RuntimeError, as torch's own)
"""

from __future__ import annotations

from pyptx_dsl.errors import DslError


class GradientError(DslError, RuntimeError):
    """A gradient was asked of a kernel that has none, or would be lost."""
