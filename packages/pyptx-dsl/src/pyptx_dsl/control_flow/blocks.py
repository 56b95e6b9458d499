"""How `break_` and `continue_` leave loops and blocks that are open; `block`, which is nothing but its end.

Labels behind a loop and before its test exist if `break_` and `continue_` use them, or if they are named: `end_label`
behind the loop (not with `define_end=False`, which leaves it to another place), `next_label` before the test (not where
it names the loop's own label, to which `continue_` then goes). Manual: "Control Flow Instructions: bra".
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
    """What a loop's call says of the labels of `continue_` and `break_`."""

    next_label: str | None = None
    end_label: str | None = None
    define_end: bool = True

    def __post_init__(self) -> None:
        """Refuse an end without a name that nothing would define."""
        refuse_unnamed("end_label", self.end_label, define=self.define_end)

    def frame(self, trace: Trace, label: str | None) -> LoopFrame:
        """Open a loop with these names."""
        return LoopFrame(trace, self.end_label, label=label, next_label=self.next_label, define_end=self.define_end)


def _around(trace: Trace, what: str, label: str | None) -> LoopFrame:
    """Return the innermost loop, or what has a name."""
    for frame in reversed(open_frames(trace)):
        if (label is None and not frame.is_block) or (label is not None and label in {frame.label, frame.end}):
            return frame
    if label is None:
        raise ControlFlowError(
            f"ptx.{what} outside a loop", hint="use it inside ptx.loop, ptx.while_, ptx.range_ or ptx.kloop"
        )
    raise ControlFlowError(
        f"ptx.{what}: no loop or block around this is named {label!r}",
        hint="give it that label, or branch to any label with ptx.bra",
    )


def break_(label: str | None = None, *, pred: Reg | None = None, uniform: bool = False) -> None:
    """Emit one `bra` behind the innermost loop; with `pred`, for the threads where it is true.

    `label` chooses what it leaves: a loop or a `block` around this, by its `label` or its `end_label`, or an `if_`,
    `elif_` or `else_`, by the label that it was given for what is behind it. Python's own `break` leaves the tracing of
    a `range_` body, not the loop. Raise ControlFlowError outside a loop, or if none is so named.
    """
    trace = active("ptx.break_")
    jump(trace, _around(trace, "break_", label).at_end(), pred, uniform=uniform)


def continue_(label: str | None = None, *, pred: Reg | None = None, uniform: bool = False) -> None:
    """Emit one `bra` to the next iteration of the innermost loop; with `pred`, for the threads where it is true.

    `label` chooses a loop as in `break_`. Raise ControlFlowError outside a loop, for a block, or if none is so named.
    """
    trace = active("ptx.continue_")
    frame = _around(trace, "continue_", label)
    if frame.is_block:
        raise ControlFlowError(f"ptx.continue_: {label!r} is a block, which runs once", hint="leave it by ptx.break_")
    jump(trace, frame.at_next(), pred, uniform=uniform)


class LabelledBlock:
    """Statements behind which a label stands, as a context manager."""

    __slots__ = ("_frame", "_label", "_promise", "_trace", "_watch")

    def __init__(self, trace: Trace, label: str | None) -> None:
        """Prepare the block."""
        self._trace = trace
        self._label = label
        self._promise = trace.promise("ptx.block")
        self._frame: LoopFrame | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> str:
        """Return the label; nothing is emitted."""
        trace = self._trace
        enter_block(trace, self._promise)
        label = self._label or trace.new_label("block")
        self._frame = LoopFrame(trace, label, label=label, is_block=True)
        self._watch = Watch(trace, "ptx.block", repeats=False, skipped=True)
        return label

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Define the label."""
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
    """Define a label behind a block, which branches leave for it: `with ptx.block("$L__BB0_9") as done: …`.

    Emits nothing else. `ptx.break_(done)`, or with `pred=`, leaves the block from any depth; without a name, `break_`
    leaves the innermost loop and no block. Raise DuplicateNameError if the label is taken, and ControlFlowError for a
    name that a block with a `break_` binds to another value and that is read behind it.
    """
    return LabelledBlock(active("ptx.block"), label)
