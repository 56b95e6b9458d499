"""Loops: `loop` and `while_`. Counted loops are in `ranges` and `kloops`, `break_` and `continue_` in `blocks`.

Every loop tests at its end, so an iteration takes one branch. Labels are named as in `blocks`; `uniform` makes the
branches of the loop `bra.uni`. Manual: "Control Flow Instructions: bra".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.control_flow.blocks import LoopLabels
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

    from pyptx_dsl.control_flow.frames import LoopFrame
    from pyptx_dsl.tracing.trace import Scope, Trace

__all__ = ["loop", "while_"]


class Loop:
    """Context manager that emits `label: … @pred bra label;`."""

    __slots__ = ("_condition", "_frame", "_label", "_labels", "_promise", "_start", "_trace", "_uniform", "_watch")

    def __init__(
        self,
        trace: Trace,
        label: str | None,
        condition: Condition | None,
        labels: LoopLabels,
        *,
        uniform: bool,
        start: str | None,
    ) -> None:
        """Store the options of the `ptx.loop`; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._start = start
        self._promise = trace.promise("ptx.loop")
        self._label = label
        self._labels = labels
        self._uniform = uniform
        self._condition = condition
        self._frame: LoopFrame | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> str:
        """Emit the branch to `start_label`, if given, then define the loop's label; return the loop's label."""
        enter_block(self._trace, self._promise)
        if self._start is not None:
            jump(self._trace, self._start, uniform=True)
        if self._label is None:
            self._label = self._trace.new_label("loop")
        self._trace.append(nodes.Label(name=self._label))
        self._frame = self._labels.frame(self._trace, self._label)
        self._watch = Watch(self._trace, "ptx.loop", repeats=True, skipped=False)
        return self._label

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Emit the loop's condition and the backward branch, and define the labels of `break_` and `continue_`."""
        frame, trace, watch = self._frame, self._trace, self._watch
        self._watch = None
        if frame is None or watch is None or self._label is None:
            return
        frame.close()
        if kind is not None:
            return
        watch.close(self._condition)
        frame.define_next()
        guard = None if self._condition is None else evaluate(self._condition, "ptx.loop")
        jump(trace, self._label, guard, uniform=self._uniform)
        frame.define_end()


def loop(
    label: str | None = None,
    *,
    pred: Condition | None = None,
    uniform: bool | None = None,
    start_label: str | None = None,
    next_label: str | None = None,
    end_label: str | None = None,
    define_end: bool = True,
) -> Loop:
    """Repeat a block while `pred` is true at its end: `with ptx.loop("k_loop", pred=more): …`.

    Emits one instruction after the block: `@pred bra label;`, or without `pred` `bra.uni label;`, an endless loop that
    `break_`, `ret` or a `bra` leaves. The block runs at least once. `pred` is a predicate register that the block
    updates, or a function that emits its computation; `~p` continues while p is false. `uniform` selects `bra.uni` (the
    default without `pred`).

    `start_label` names a label in the block, or the loop's own: the first iteration starts there, by a `bra.uni` before
    the loop. `next_label` names the label before the instructions of `pred`, or is the loop's own. `end_label` names
    the label after the loop; `define_end=False` leaves its definition to other code.

    Raises DuplicateNameError if a label is taken, and ControlFlowError for a name that the block rebinds and that its
    next iteration reads.
    """
    trace = active("ptx.loop")
    if pred is not None and not callable(pred):
        predicate(pred, "ptx.loop")
    labels = LoopLabels(next_label, end_label, define_end)
    uniform = pred is None if uniform is None else uniform
    return Loop(trace, label, pred, labels, uniform=uniform, start=start_label)


class While:
    """Context manager of `ptx.while_`: a loop with its test at the end, entered by a branch or after a first test."""

    __slots__ = (
        *("_condition", "_frame", "_guard", "_labels", "_promise", "_scope"),
        *("_start", "_top", "_trace", "_uniform", "_watch"),
    )

    def __init__(
        self,
        trace: Trace,
        condition: Condition,
        guard: Condition | None,
        label: str | None,
        labels: LoopLabels,
        *,
        uniform: bool,
    ) -> None:
        """Store the options of the `ptx.while_`; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._promise = trace.promise("ptx.while_")
        self._condition = condition
        self._guard = guard if guard is not None or callable(condition) else condition
        self._labels = labels
        self._uniform = uniform
        self._frame: LoopFrame | None = None
        self._top = label or ""
        self._scope: Scope = trace.open_scope
        self._start = 0
        self._watch: Watch | None = None

    def __enter__(self) -> str:
        """Emit the branch to the loop's test, or a first test of a register or guard; return the loop's label."""
        trace = self._trace
        enter_block(trace, self._promise)
        self._scope, self._top = trace.open_scope, self._top or trace.new_label("while")
        self._frame = frame = self._labels.frame(trace, self._top)
        if self._guard is None:
            jump(trace, frame.at_next(), uniform=self._uniform)
        else:
            jump(trace, frame.at_end(), ~evaluate(self._guard, "ptx.while_"), uniform=self._uniform)
        trace.append(nodes.Label(name=self._top))
        self._start = len(self._scope.nodes)
        self._watch = Watch(trace, "ptx.while_", repeats=True, skipped=True)
        return self._top

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Emit the test of the condition and the backward branch."""
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
                help="pass a function, which is emitted for every iteration: ptx.while_(lambda: i < n)",
            )
        frame.define_next()
        jump(trace, self._top, evaluate(condition, "ptx.while_"), uniform=self._uniform)
        frame.define_end()


def while_(
    condition: Condition,
    *,
    guard: Condition | None = None,
    label: str | None = None,
    uniform: bool = False,
    next_label: str | None = None,
    end_label: str | None = None,
    define_end: bool = True,
) -> While:
    """Repeat a block while a condition is true: `with ptx.while_(lambda: i < n): …`.

    - With a function: one `bra` to the test, then, after the block, the instructions that the function emits and `@p
      bra` back.
    - With a predicate register, which the block must update: `@!p bra` around the loop, and `@p bra` back.

    Either loop has two branches, one of them per iteration. With `guard`, `guard` is tested before the loop, by
    `@!guard bra` around the loop, and `condition` after each iteration: a rotated loop, as compilers emit it. `label`
    names the loop's label, the other labels are those of `loop`; `uniform` makes both branches `bra.uni`. Raises
    ControlFlowError for a register that the block never writes.
    """
    trace = active("ptx.while_")
    if not callable(condition):
        predicate(condition, "ptx.while_")
    if guard is not None and not callable(guard):
        predicate(guard, "ptx.while_")
    return While(trace, condition, guard, label, LoopLabels(next_label, end_label, define_end), uniform=uniform)


def _may_change(statements: Iterable[object], name: str) -> bool:
    """Return whether any statement in a loop may write the register `name`, or branch out of the loop."""
    flat = list(_flat(statements))
    labels = {node.name for node in flat if isinstance(node, nodes.Label)}
    return any(_writes(node, name) or _leaves(node, labels) for node in flat)


def _flat(statements: Iterable[object]) -> Iterator[object]:
    """Yield the statements of a PTX `{ }` scope, and of the scopes inside it."""
    for node in statements:
        inner = getattr(node, "nodes", None)
        if isinstance(inner, list):
            yield from _flat(cast("list[object]", inner))
        else:
            yield node


def _leaves(node: object, labels: AbstractSet[str]) -> bool:
    """Return whether a statement may branch to a label other than these; True for a block of raw text."""
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
