"""The errors of pyptx-torch, beside those of pyptx-dsl.

DslError                 (pyptx_dsl.errors)
├── GradientError        a gradient that no kernel computes (also RuntimeError, as torch's own)
├── OperatorNameError    an operator's name that is invalid, taken or ambiguous (also ValueError)
└── KernelMismatchError  a saved program that calls another kernel than it was saved with (also RuntimeError)
"""

from __future__ import annotations

from pyptx_dsl.errors import DslError


class GradientError(DslError, RuntimeError):
    """A gradient was asked of a kernel that has none, or would be lost."""


class OperatorNameError(DslError, ValueError):
    """A name for a kernel's operator that torch cannot take, that is taken, or that may mean another kernel."""


class KernelMismatchError(DslError, RuntimeError):
    """A saved program names an operator that belongs to another kernel than the one that it was saved with."""
