"""Exceptions of pyptx-torch, in addition to those of pyptx-dsl.

DslError                 (pyptx_dsl.errors)
├── GradientError        a gradient without a backward kernel; defined in pyptx-dsl (also RuntimeError, like torch's)
├── OperatorNameError    a kernel's operator name is invalid, already used or ambiguous (also ValueError)
└── KernelMismatchError  a saved program calls another kernel than the one that it was saved with (also RuntimeError)
"""

from __future__ import annotations

from pyptx_dsl.errors import DslError, GradientError

__all__ = ["GradientError", "KernelMismatchError", "OperatorNameError"]


class OperatorNameError(DslError, ValueError):
    """A kernel's operator name is invalid, already used, or does not identify the kernel in another process."""


class KernelMismatchError(DslError, RuntimeError):
    """A saved program calls the operator of a kernel other than the kernel with which it was saved."""
