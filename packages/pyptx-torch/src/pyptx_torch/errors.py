"""Exceptions of pyptx-torch, in addition to those of pyptx-dsl.

DslError                 (pyptx_dsl.errors)
├── GradientError        of pyptx-dsl too: a gradient that no kernel computes (also RuntimeError, as torch's own)
├── OperatorNameError    an operator's name that is invalid, taken or ambiguous (also ValueError)
└── KernelMismatchError  a saved program calls another kernel than the one that it was saved with (also RuntimeError)
"""

from __future__ import annotations

from pyptx_dsl.errors import DslError, GradientError

__all__ = ["GradientError", "KernelMismatchError", "OperatorNameError"]


class OperatorNameError(DslError, ValueError):
    """The name of a kernel's operator is invalid, taken, or ambiguous in another process."""


class KernelMismatchError(DslError, RuntimeError):
    """A saved program calls the operator of a kernel other than the kernel with which it was saved."""
