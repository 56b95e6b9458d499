"""The errors of pyptx-jax.

    PyptxError
    ├── NotDifferentiableError  the gradient of a plain kernel was asked for (also TypeError)
    └── ExecutionError          a kernel failed while it ran, in the words of what ran it (also RuntimeError)

What is wrong with a call's arrays and keywords is a ContractError or KeywordError of pyptx-dsl. Inside `jax.jit`, a
failure at run time is jax's own JaxRuntimeError (a ValueError, when the program has run before) with the same text.
"""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class NotDifferentiableError(PyptxError, TypeError):
    """The derivative of a kernel that has none."""


class ExecutionError(PyptxError, RuntimeError):
    """A kernel that failed while it ran."""
