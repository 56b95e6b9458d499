"""The open `with` blocks that `break_` can leave: loops, `ptx.block`, `if_`, `elif_` and `else_`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["LoopFrame", "open_frames"]

_OPEN = "ptx.loops.open"


def open_frames(trace: Trace) -> list[LoopFrame]:
    """Return the mutable list of open loops, `ptx.block` and `if_` around the next statement, innermost last."""
    return cast("list[LoopFrame]", trace.notes.setdefault(_OPEN, list[LoopFrame]()))


class LoopFrame:
    """One open loop, `ptx.block` or `if_`: its labels for `break_` and `continue_`, created at their first use."""

    __slots__ = ("_defines_end", "_trace", "end", "is_block", "label", "left", "next")

    def __init__(
        self,
        trace: Trace,
        end: str | None = None,
        *,
        label: str | None = None,
        next_label: str | None = None,
        define_end: bool = True,
        is_block: bool = False,
    ) -> None:
        """Open a loop or a `ptx.block` with this `label`; only a `break_` with the label leaves a block."""
        self._trace = trace
        self._defines_end = define_end
        self.end = end
        self.next = next_label
        self.label = label
        self.is_block = is_block
        self.left = False
        open_frames(trace).append(self)

    def at_end(self) -> str:
        """Return the label after the loop or block, created at the first use, and record that a branch uses it."""
        self.left = True
        if self.end is None:
            self.end = self._trace.new_label("end")
        return self.end

    def at_next(self) -> str:
        """Return the label of `continue_`, before the code of the next iteration; create it at the first use."""
        if self.next is None:
            self.next = self._trace.new_label("next")
        return self.next

    def define_next(self) -> None:
        """Define the label of `continue_` here, if the label is used or named, and is not the loop's first label."""
        if self.next is not None and self.next != self.label:
            self._trace.append(nodes.Label(name=self.next))

    def define_end(self) -> None:
        """Define the label of `break_` here, if the label is used or named, and other code does not define it."""
        if self.end is not None and self._defines_end:
            self._trace.append(nodes.Label(name=self.end))

    def close(self) -> None:
        """Remove this loop, block or `if_`, and all opened inside it, from the list of open ones."""
        frames = open_frames(self._trace)
        if self in frames:
            del frames[frames.index(self) :]
