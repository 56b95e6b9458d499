"""Rules of tcgen05 for a whole kernel: one `.cta_group`, and no columns left allocated.

Function bodies in a `module`, emitted exactly as written, are not checked: a body may be only a part of a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import AllocationError, OperandError
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["allocated", "freed", "kernel_of", "one_cta_group"]

_GROUP, _LEAK = "blackwell.cta_group", "blackwell.leak"
_WHOSE: Mapping[str, str] = {"1": "one CTA", "2": "CTA pair"}


def kernel_of(what: str) -> Trace | None:
    """Return the current trace of a kernel; None in a `module` and in a dry run."""
    found = cast("object", active(what))
    return found if isinstance(found, Trace) and not found.exact else None


def one_cta_group(what: str, word: str) -> None:
    """Reject another `.cta_group` than the kernel's first one. Manual: "Issue Granularity"."""
    trace = kernel_of(what)
    if trace is None:
        return
    first = cast("str", trace.notes.setdefault(_GROUP, word))
    if first != word:
        raise OperandError(
            f"{what}: cta_group={word} ({_WHOSE[word]}) here, cta_group={first} earlier in the kernel",
            help=f"use one cta_group in the whole kernel: {first} here, or {word} everywhere",
        )


def allocated(what: str) -> None:
    """Record a tensor memory allocation; the end of the trace raises an error unless a dealloc is traced."""
    trace = kernel_of(what)
    if trace is None or _LEAK in trace.notes:
        return
    leak = AllocationError(
        f"{what}: kernel {trace.name!r} never frees these columns of tensor memory; other CTAs may wait for "
        "them indefinitely",
        help="put ptx.tcgen05.dealloc(address, columns) before ret, or use `with ptx.tmem.alloc(columns) as t:`",
    )
    trace.notes[_LEAK] = leak
    trace.faults.append(leak)


def freed(what: str) -> None:
    """Remove the error that `allocated` recorded: the kernel contains a tcgen05.dealloc."""
    trace = kernel_of(what)
    if trace is None:
        return
    leak = trace.notes.get(_LEAK)
    # None: this kernel has a tcgen05.dealloc, so no allocation is reported as a leak.
    trace.notes.setdefault(_LEAK, None)
    if leak in trace.faults:
        trace.faults.remove(cast("AllocationError", leak))
