"""Loops: `loop`, `while_`, `break_`, `continue_`. Counted ones are in `ranges` and `kloops`.

Every loop tests at its end, so an iteration takes one branch. Labels behind a loop and before its test exist only if
`break_` and `continue_` use them. Manual: "Control Flow Instructions: bra".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.control_flow.branches import Condition, evaluate, jump, predicate
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.escapes import enter_block
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from types import TracebackType

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Scope, Trace

__all__ = ["Frame", "break_", "continue_", "loop", "while_"]

_LOOPS = "ptx.loops.open"


class Frame:
    """One open loop of a trace: where `break_` and `continue_` go, once somebody asks."""

    __slots__ = ("_trace", "end", "next")

    def __init__(self, trace: Trace, end: str | None = None) -> None:
        """Open the loop."""
        self._trace = trace
        self.end = end
        self.next: str | None = None
        _open(trace).append(self)

    def at_end(self) -> str:
        """Return the label behind the loop."""
        if self.end is None:
            self.end = self._trace.new_label("end")
        return self.end

    def at_next(self) -> str:
        """Return the label in front of what leads to the next iteration."""
        if self.next is None:
            self.next = self._trace.new_label("next")
        return self.next

    def define_next(self) -> None:
        """Define the label of `continue_`, if it is used."""
        if self.next is not None:
            self._trace.append(nodes.Label(name=self.next))

    def define_end(self) -> None:
        """Define the label of `break_`, if it is used."""
        if self.end is not None:
            self._trace.append(nodes.Label(name=self.end))

    def close(self) -> None:
        """Close this loop, and those inside that were left without notice."""
        frames = _open(self._trace)
        if self in frames:
            del frames[frames.index(self) :]


def _open(trace: Trace) -> list[Frame]:
    """Return the open loops, innermost last."""
    return cast("list[Frame]", trace.notes.setdefault(_LOOPS, list[Frame]()))


def _innermost(trace: Trace, what: str) -> Frame:
    frames = _open(trace)
    if not frames:
        raise ControlFlowError(
            f"ptx.{what} outside a loop", hint="use it inside ptx.loop, ptx.while_, ptx.range_ or ptx.kloop"
        )
    return frames[-1]


def break_(*, pred: Reg | None = None) -> None:
    """Emit one `bra` behind the innermost loop; with `pred`, for the threads where it is true.

    Python's own `break` leaves the tracing of a `range_` body, not the loop. Raise ControlFlowError outside a loop.
    """
    trace = active("ptx.break_")
    jump(trace, _innermost(trace, "break_").at_end(), pred)


def continue_(*, pred: Reg | None = None) -> None:
    """Emit one `bra` to the next iteration of the innermost loop; with `pred`, for the threads where it is true.

    Raise ControlFlowError outside a loop.
    """
    trace = active("ptx.continue_")
    jump(trace, _innermost(trace, "continue_").at_next(), pred)


class Loop:
    """`label: … @pred bra label;` as a context manager."""

    __slots__ = ("_condition", "_frame", "_label", "_promise", "_trace", "_watch")

    def __init__(self, trace: Trace, label: str | None, condition: Condition | None) -> None:
        """Prepare the loop; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._promise = trace.promise("ptx.loop")
        self._label = label
        self._condition = condition
        self._frame: Frame | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> None:
        """Define the label."""
        enter_block(self._trace, self._promise)
        if self._label is None:
            self._label = self._trace.new_label("loop")
        self._trace.append(nodes.Label(name=self._label))
        self._frame = Frame(self._trace)
        self._watch = Watch(self._trace, "ptx.loop", repeats=True, skipped=False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Branch back."""
        frame, trace, watch = self._frame, self._trace, self._watch
        self._watch = None
        if frame is None or watch is None or self._label is None:
            return
        frame.close()
        if kind is not None:
            return
        watch.close(self._condition)
        frame.define_next()
        if self._condition is None:
            trace.emit(("bra", "uni"), (tree.Symbol(self._label),))
        else:
            jump(trace, self._label, evaluate(self._condition, "ptx.loop"))
        frame.define_end()


def loop(label: str | None = None, *, pred: Condition | None = None) -> Loop:
    """Repeat a block while `pred` is true at its end: `with ptx.loop("k_loop", pred=more): …`.

    Emits one instruction behind the block: `@pred bra label;`, or without `pred` `bra.uni label;`, an endless loop that
    `break_`, `ret` or a `bra` leaves. The block runs at least once. `pred` is a predicate register that the block
    updates, or a function that emits its computation. Raise DuplicateNameError if the label is taken, and
    ControlFlowError for a name that the block binds to another value and that its next turn reads.
    """
    trace = active("ptx.loop")
    if pred is not None and not callable(pred):
        predicate(pred, "ptx.loop")
    return Loop(trace, label, pred)


class While:
    """A loop with its test at the end, entered there (or around it), as a context manager."""

    __slots__ = ("_condition", "_frame", "_promise", "_scope", "_start", "_top", "_trace", "_watch")

    def __init__(self, trace: Trace, condition: Condition) -> None:
        """Prepare the loop; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._promise = trace.promise("ptx.while_")
        self._condition = condition
        self._frame: Frame | None = None
        self._top = ""
        self._scope: Scope = trace.open_scope
        self._start = 0
        self._watch: Watch | None = None

    def __enter__(self) -> None:
        """Enter the loop at its test; a register is tested here instead."""
        trace, condition = self._trace, self._condition
        enter_block(trace, self._promise)
        self._scope, self._top = trace.open_scope, trace.new_label("while")
        self._frame = frame = Frame(trace)
        if callable(condition):
            jump(trace, frame.at_next())
        else:
            jump(trace, frame.at_end(), ~predicate(condition, "ptx.while_"))
        trace.append(nodes.Label(name=self._top))
        self._start = len(self._scope.nodes)
        self._watch = Watch(trace, "ptx.while_", repeats=True, skipped=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Test, and branch back."""
        frame, trace, condition, watch = self._frame, self._trace, self._condition, self._watch
        self._watch = None
        if frame is None or watch is None:
            return
        frame.close()
        if kind is not None:
            return
        watch.close(condition)
        if not callable(condition) and not _may_change(self._scope.nodes[self._start :], condition.raw_name):
            raise ControlFlowError(
                f"the condition of ptx.while_, {condition.raw_name}, never changes inside the loop",
                hint="pass a function, which is computed anew for every iteration: ptx.while_(lambda: i < n)",
            )
        frame.define_next()
        jump(trace, self._top, evaluate(condition, "ptx.while_"))
        frame.define_end()


def while_(condition: Condition) -> While:
    """Repeat a block while a condition is true: `with ptx.while_(lambda: i < n): …`.

    With a function: one `bra` to the test, then, behind the block, the instructions that the function emits and `@p
    bra` back. With a predicate register, which the block must update: `@!p bra` around the loop, and `@p bra` back.
    Two branches in both cases, one of them per iteration. Raise ControlFlowError for a register that the block never
    writes.
    """
    trace = active("ptx.while_")
    if not callable(condition):
        predicate(condition, "ptx.while_")
    return While(trace, condition)


def _may_change(statements: Iterable[object], name: str) -> bool:
    """Tell whether some statement writes a register, or leaves the loop."""
    flat = list(_flat(statements))
    labels = {node.name for node in flat if isinstance(node, nodes.Label)}
    return any(_writes(node, name) or _leaves(node, labels) for node in flat)


def _flat(statements: Iterable[object]) -> Iterator[object]:
    """Yield the statements of a scope and of those inside it."""
    for node in statements:
        inner = getattr(node, "nodes", None)
        if isinstance(inner, list):
            yield from _flat(cast("list[object]", inner))
        else:
            yield node


def _leaves(node: object, labels: AbstractSet[str]) -> bool:
    """Tell whether control may go elsewhere than to these labels; nobody looks inside a block of raw text."""
    if not isinstance(node, nodes.Instruction):
        return isinstance(node, nodes.Block)
    if node.opcode[0] == "bra" and node.operands:
        return getattr(node.operands[0], "name", None) not in labels
    return node.opcode[0] in {"brx", "ret", "exit", "call"}


def _writes(node: object, name: str) -> bool:
    if not isinstance(node, nodes.Instruction) or not node.operands:
        return False
    match node.operands[0]:
        case tree.Register(name=written) | tree.Symbol(name=written):
            return written == name
        case tree.Pair(first=first, second=second):
            return tree.Register(name) in {first, second}
        case _:
            return False
