"""What tcgen05 asks of a kernel as a whole: one `.cta_group` everywhere, and no columns left allocated.

Bodies of exact code (`module`) are left alone: they may be parts of a kernel.
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
_WHOSE: Mapping[str, str] = {"1": "one block", "2": "a pair of blocks"}


def kernel_of(what: str) -> Trace | None:
    """Return the trace of a kernel; None for that of exact code, and where a call is only tried."""
    found = cast("object", active(what))
    return found if isinstance(found, Trace) and not found.exact else None


def one_cta_group(what: str, word: str) -> None:
    """Refuse another `.cta_group` than the kernel's first one. Manual: "Issue Granularity"."""
    trace = kernel_of(what)
    if trace is None:
        return
    first = cast("str", trace.notes.setdefault(_GROUP, word))
    if first != word:
        raise OperandError(
            f"{what}: cta_group={word} ({_WHOSE[word]}), and the kernel has instructions of cta_group={first}",
            hint=f"tcgen05 instructions of a kernel have the same one: cta_group={first} here, or {word} everywhere",
        )


def allocated(what: str) -> None:
    """Have the end of the trace refuse a kernel that allocates here, and frees nothing."""
    trace = kernel_of(what)
    if trace is None or _LEAK in trace.notes:
        return
    leak = AllocationError(
        f"{what}: nothing in kernel {trace.name!r} frees these columns of tensor memory: others wait for them in vain",
        hint="ptx.tcgen05.dealloc(address, columns) in front of ret, or `with ptx.tmem.alloc(columns) as t:`",
    )
    trace.notes[_LEAK] = leak
    trace.faults.append(leak)


def freed(what: str) -> None:
    """Take back what `allocated` has said."""
    trace = kernel_of(what)
    if trace is None:
        return
    leak = trace.notes.get(_LEAK)
    trace.notes.setdefault(_LEAK, None)  # a kernel that frees something is not judged here
    if leak in trace.faults:
        trace.faults.remove(cast("AllocationError", leak))
