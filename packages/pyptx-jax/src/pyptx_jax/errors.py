"""Exceptions of pyptx-jax.

    PyptxError
    ├── NotDifferentiableError  the gradient of a plain kernel was requested (also TypeError)
    └── ExecutionError          a kernel failed while it ran, with the message of its runtime (also RuntimeError)

Errors in a call's arrays and keywords are a ContractError or KeywordError of pyptx-dsl. Inside `jax.jit`, a failure at
run time is jax's own JaxRuntimeError (a ValueError, if the program has run before) with the same text.
"""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class NotDifferentiableError(PyptxError, TypeError):
    """A derivative was requested of a kernel without a backward kernel."""


class ExecutionError(PyptxError, RuntimeError):
    """A kernel failed while it ran."""
