"""Predicated instructions: `with ptx.predicated(p): …` adds `@p` to each. Manual: "@"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.control_flow.branches import predicate
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.escapes import enter_block
from pyptx_dsl.tracing.scope import Scope
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import instruction

if TYPE_CHECKING:
    from types import TracebackType

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["predicated"]


class PredicatedBlock:
    """Context manager of `ptx.predicated`: adds one guard to all instructions of its `with` block."""

    __slots__ = ("_guard", "_promise", "_scope", "_start", "_trace", "_watch")

    def __init__(self, trace: Trace, guard: nodes.Guard) -> None:
        """Record the `ptx.predicated` as not yet entered; nothing is emitted."""
        self._trace = trace
        self._guard = guard
        self._promise = trace.promise("ptx.predicated")
        self._scope = trace.open_scope
        self._start = 0
        self._watch: Watch | None = None

    def __enter__(self) -> None:
        """Start the `ptx.predicated` block; nothing is emitted."""
        enter_block(self._trace, self._promise)
        self._scope = self._trace.open_scope
        self._start = len(self._scope.nodes)
        self._watch = Watch(self._trace, "ptx.predicated", repeats=False, skipped=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Add the guard to all instructions that the block has emitted."""
        watch, self._watch = self._watch, None
        if kind is not None or watch is None:
            return
        watch.close()
        for place in range(self._start, len(self._scope.nodes)):
            node = self._scope.nodes[place]
            wrong = _wrong(node)
            if wrong is not None:
                raise ControlFlowError(
                    f"ptx.predicated guards single instructions, but {wrong}",
                    where=self._trace.recorder.where(self._scope.sites[place]),
                    help="branch around the statement: with ptx.if_(…)",
                )
            if isinstance(node, nodes.Instruction):
                self._scope.nodes[place] = instruction(node.opcode, node.operands, self._guard, node.leading_trivia)


def _wrong(node: object) -> str | None:
    """Return why a statement cannot have a guard; None if it can have one, or is not an instruction."""
    match node:
        case nodes.Label(name=name):
            return f"{name!r} is a label"
        case Scope() | nodes.Block():
            return "this is a scope"
        case nodes.Instruction(guard=nodes.Guard()):
            return "this instruction already has a guard"
        case nodes.Instruction(raw=str()):
            return "this instruction has a source text without a guard"
        case _:
            return None


def predicated(pred: Reg) -> PredicatedBlock:
    """Guard each instruction of a block: `with ptx.predicated(p): …` adds `@p` to each, `~p` adds `@!p`.

    Emits nothing itself, in particular no branch: threads with a false guard skip each instruction. An instruction that
    writes the predicate changes the guard of later instructions. Instructions that compute address offsets get no
    guard. Raises ControlFlowError for a label, a scope or another guard inside, and for a name that the block rebinds
    and that is read after it.
    """
    trace = active("ptx.predicated")
    (operand,) = trace.lowered((predicate(pred, "ptx.predicated"),), ())
    match operand:
        case tree.Negated(operand=tree.Register(name=name) | tree.Symbol(name=name)):
            return PredicatedBlock(trace, nodes.Guard(name, negated=True))
        case tree.Register(name=name) | tree.Symbol(name=name):
            return PredicatedBlock(trace, nodes.Guard(name))
        case _:
            raise TypeError(f"{operand!r} is not a predicate")
