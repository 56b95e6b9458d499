"""Context variable that holds the active trace; `tracing/trace.py` defines the class."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from pyptx_dsl.errors import NoTraceError

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

ACTIVE: ContextVar[Trace | None] = ContextVar("pyptx_dsl.tracing.trace", default=None)


def active(what: str = "this call") -> Trace:
    """Return the trace of the kernel whose body is running; raise NoTraceError if no body is."""
    trace = ACTIVE.get()
    if trace is None:
        raise NoTraceError(what)
    return trace


def current() -> Trace | None:
    """Return the trace of the kernel whose body is running; None if no body is."""
    return ACTIVE.get()
