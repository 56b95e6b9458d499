"""`ptx.asm_region`: the comments that compilers emit around the PTX of inline assembly."""

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
    """Context manager of `ptx.asm_region`: emits a comment before and after its block."""

    __slots__ = ("_begin", "_end", "_promise", "_trace")

    def __init__(self, trace: Trace, begin: str, end: str) -> None:
        """Store the `begin` and `end` comments; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._begin = begin
        self._end = end
        self._promise = trace.promise("ptx.asm_region")

    def __enter__(self) -> None:
        """Put the `begin` comment before the next statement; raise ControlFlowError inside another region."""
        trace = self._trace
        trace.unopened.pop(self._promise, None)
        if _OPEN in trace.notes:
            raise ControlFlowError("ptx.asm_region must not be nested", help="close the outer ptx.asm_region first")
        trace.notes[_OPEN] = self
        trace.comment(self._begin)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Put the `end` comment before the next statement, unless an exception is propagating."""
        self._trace.notes.pop(_OPEN, None)
        if kind is None:
            self._trace.comment(self._end)


def asm_region(*, begin: str = "begin inline asm", end: str = "end inline asm") -> AsmRegion:
    """Emit `// begin inline asm` and `// end inline asm` around a block, as compilers do: `with ptx.asm_region(): …`.

    Emits nothing else: the comments are part of the tree, before the block's first statement and before the statement
    after the block. A Python function with such a block is the template of an `asm` statement; `ptx.scope()` emits the
    braces of the statement. Raise OperandError for a text of several lines, and ControlFlowError for nested regions.
    """
    for comment in (begin, end):
        if len(text("a comment", comment).splitlines()) != 1:
            raise OperandError(
                f"expected a comment of one line, got {comment!r}", help="emit several lines with ptx.comment"
            )
    return AsmRegion(active("ptx.asm_region"), begin, end)
