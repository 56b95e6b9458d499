"""`break_` and `continue_` for open loops and blocks, and `block`, which only defines its end label.

Labels after a loop and before its test are defined if `break_` and `continue_` use them, or if they are named.
`end_label` is after the loop; with `define_end=False` other code defines it. `next_label` is before the test, or is the
loop's first label, to which `continue_` then branches. Manual: "Control Flow Instructions: bra".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.control_flow.branches import jump, refuse_unnamed
from pyptx_dsl.control_flow.frames import LoopFrame, open_frames
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.escapes import enter_block

if TYPE_CHECKING:
    from types import TracebackType

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["LoopLabels", "block", "break_", "continue_"]


@dataclass(frozen=True, slots=True)
class LoopLabels:
    """A loop's options for the labels that `continue_` and `break_` branch to."""

    next_label: str | None = None
    end_label: str | None = None
    define_end: bool = True

    def __post_init__(self) -> None:
        """Raise OperandError if `define_end` is False and `end_label` is None."""
        refuse_unnamed("end_label", self.end_label, define=self.define_end)

    def frame(self, trace: Trace, label: str | None) -> LoopFrame:
        """Record a loop with these labels as the innermost open loop."""
        return LoopFrame(trace, self.end_label, label=label, next_label=self.next_label, define_end=self.define_end)


def _around(trace: Trace, what: str, label: str | None) -> LoopFrame:
    """Return the innermost open loop, or the open loop or block with `label`; else raise ControlFlowError."""
    for frame in reversed(open_frames(trace)):
        if (label is None and not frame.is_block) or (label is not None and label in {frame.label, frame.end}):
            return frame
    if label is None:
        raise ControlFlowError(
            f"ptx.{what} outside a loop", help="write the call in a ptx.loop, ptx.while_, ptx.range_ or ptx.kloop"
        )
    raise ControlFlowError(
        f"ptx.{what}: no enclosing loop or block is labelled {label!r}",
        help="pass that label to the loop or block, or branch to any label with ptx.bra",
    )


def break_(label: str | None = None, *, pred: Reg | None = None, uniform: bool = False) -> None:
    """Emit a `bra` to the end of the innermost loop; with `pred`, for the threads where it is true.

    `label` selects the construct to leave: an enclosing loop or `block`, by its `label` or its `end_label`, or an
    `if_`, `elif_` or `else_`, by the label after it. Python's own `break` ends the tracing of a `range_` body, not the
    loop. Raises ControlFlowError outside a loop, or for an unknown label.
    """
    trace = active("ptx.break_")
    jump(trace, _around(trace, "break_", label).at_end(), pred, uniform=uniform)


def continue_(label: str | None = None, *, pred: Reg | None = None, uniform: bool = False) -> None:
    """Emit a `bra` to the next iteration of the innermost loop; with `pred`, for the threads where it is true.

    `label` selects a loop as in `break_`. Raises ControlFlowError outside a loop, for a block, or for an unknown label.
    """
    trace = active("ptx.continue_")
    frame = _around(trace, "continue_", label)
    if frame.is_block:
        raise ControlFlowError(
            f"ptx.continue_: {label!r} is a block, not a loop", help="leave the block with ptx.break_"
        )
    jump(trace, frame.at_next(), pred, uniform=uniform)


class LabelledBlock:
    """Context manager of `ptx.block`: defines a label after the statements of its `with` block."""

    __slots__ = ("_frame", "_label", "_promise", "_trace", "_watch")

    def __init__(self, trace: Trace, label: str | None) -> None:
        """Record the `ptx.block` as not yet entered; nothing is emitted."""
        self._trace = trace
        self._label = label
        self._promise = trace.promise("ptx.block")
        self._frame: LoopFrame | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> str:
        """Open the `ptx.block` and return the label that `__exit__` defines; nothing is emitted."""
        trace = self._trace
        enter_block(trace, self._promise)
        label = self._label or trace.new_label("block")
        self._frame = LoopFrame(trace, label, label=label, is_block=True)
        self._watch = Watch(trace, "ptx.block", repeats=False, skipped=True)
        return label

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Define the end label of the `ptx.block` after the block's statements."""
        frame, watch = self._frame, self._watch
        self._watch = None
        if frame is None or watch is None:
            return
        frame.close()
        if kind is not None:
            return
        if frame.left:
            watch.close()
        frame.define_end()


def block(label: str | None = None) -> LabelledBlock:
    """Define a label after a block, so that branches can leave it: `with ptx.block("$L__BB0_9") as done: …`.

    Emits nothing else. `ptx.break_(done)`, also with `pred=`, leaves the block from any depth; without a label,
    `break_` leaves the innermost loop, never a block. Raises DuplicateNameError if the label is taken. Raises
    ControlFlowError for a name that a block with a `break_` rebinds and that is read after the block.
    """
    return LabelledBlock(active("ptx.block"), label)
