"""Statements between the comments that compilers put around inline assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ControlFlowError, OperandError
from pyptx_dsl.registers.texts import text
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from types import TracebackType

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["AsmRegion", "asm_region"]

_OPEN = "ptx.asm_region.open"


class AsmRegion:
    """The block of `asm_region`, as a context manager."""

    __slots__ = ("_begin", "_end", "_promise", "_trace")

    def __init__(self, trace: Trace, begin: str, end: str) -> None:
        """Prepare the block."""
        self._trace = trace
        self._begin = begin
        self._end = end
        self._promise = trace.promise("ptx.asm_region")

    def __enter__(self) -> None:
        """Put the first comment in front of what comes next."""
        trace = self._trace
        trace.unopened.pop(self._promise, None)
        if _OPEN in trace.notes:
            raise ControlFlowError(
                "ptx.asm_region inside another one: compilers never nest them", hint="end the outer region first"
            )
        trace.notes[_OPEN] = self
        trace.comment(self._begin)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Put the second one in front of what comes behind."""
        self._trace.notes.pop(_OPEN, None)
        if kind is None:
            self._trace.comment(self._end)


def asm_region(*, begin: str = "begin inline asm", end: str = "end inline asm") -> AsmRegion:
    """Put `// begin inline asm` and `// end inline asm` around a block, as compilers do: `with ptx.asm_region(): …`.

    Emits nothing else: the comments are part of the tree, in front of the block's first statement and of the one behind
    it. A Python function with such a block is the template of an `asm` statement. `ptx.scope()` writes its braces.
    Raise OperandError for a text of several lines, and ControlFlowError for a region in a region.
    """
    for comment in (begin, end):
        if len(text("a comment", comment).splitlines()) != 1:
            raise OperandError(f"{comment!r} is no comment of one line", hint="ptx.comment writes several")
    return AsmRegion(active("ptx.asm_region"), begin, end)
