"""Context variable that holds the active trace; `trace` defines traces."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from pyptx_dsl.errors import NoTraceError

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

ACTIVE: ContextVar[Trace | None] = ContextVar("pyptx_dsl.tracing.trace", default=None)


def active(what: str = "this call") -> Trace:
    """Return the active trace, that of the kernel whose body is running; raise NoTraceError if there is none."""
    trace = ACTIVE.get()
    if trace is None:
        raise NoTraceError(what)
    return trace


def current() -> Trace | None:
    """Return the active trace, or None."""
    return ACTIVE.get()
