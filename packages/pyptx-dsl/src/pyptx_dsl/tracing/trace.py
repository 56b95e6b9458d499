"""`Trace`: recording of the PTX that one kernel function emits.

The body of a kernel runs once while its Trace is active; each call of a function of `ptx` appends to the active trace.
The active trace is a context variable, so threads and nested builds are independent. All generated names depend on the
trace only, so a kernel has the same PTX text in any order of builds, process and thread.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ControlFlowError, NoTraceError, OperandError, RegisterTypeError, TraceError
from pyptx_dsl.origin import Recorder, Site
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.offsets import OffsetSlot, Term
from pyptx_dsl.registers.operands import lower, lower_selected
from pyptx_dsl.registers.register import Reg, RegArray, declared_register
from pyptx_dsl.trace_context import ACTIVE, active, current
from pyptx_dsl.tracing.banks import Banks
from pyptx_dsl.tracing.checker import Checker, unchecked
from pyptx_dsl.tracing.deviations import Deviation, NextStatement, lost
from pyptx_dsl.tracing.memories import Memories
from pyptx_dsl.tracing.names import Names, register_kinds, register_names
from pyptx_dsl.tracing.scope import Scope
from pyptx_dsl.tracing.trivia import usual_trivia
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import instruction, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from types import FrameType

    from pyptx_dsl.tracing.checker import Forms
    from pyptx_dsl.tracing.statement_checks import StatementChecker
    from pyptx_dsl.types import PtxType

__all__ = ["Scope", "Trace", "active", "current", "register_names", "tracing"]


class Trace:
    """Instructions and declarations that the body of one kernel emits.

    If `exact`, as in functions of a module, `[x+0]` keeps its offset, and variables are declared at their position.
    `leading_trivia` is the usual whitespace before the next statement.
    """

    exact = False

    def __init__(
        self,
        name: str = "kernel",
        target: str = "sm_90a",
        version: tuple[int, int] = (8, 5),
        forms: Forms | None = None,
    ) -> None:
        """Start an empty trace for the entry `name`; `forms` are instruction forms that are known to be valid."""
        self.name = name
        self.target = target
        self.version = version
        self.banks = Banks()
        self.recorder = Recorder()
        self.memories = Memories()
        self.offsets: dict[str, OffsetSlot] = {}
        self.checker = Checker(target, version, forms)
        self.declarations: StatementChecker | None = None  # checker of variable declarations, created on demand
        self.names = Names(name, self.checker.declared)
        self.globals: list[nodes.Statement] = []
        self.descriptors: dict[tuple[str, str], Reg] = {}  # (tensor name, descriptor kind) -> descriptor's address
        self.parameter_types: Mapping[str, PtxType | None] = {}  # parameter name -> type; None for an array
        self.faults: list[TraceError] = []
        """Errors found where Python cannot raise, as in a closing generator; the trace's end raises the first one."""
        self.tma_slots = "value"
        self.unopened: dict[int, tuple[str, Site]] = {}
        """Number that `promise` returned -> name and Site of a block (`ptx.if_(p)`) that no `with` has entered yet."""
        self.notes: dict[object, object] = {}
        """Key of a module of `ptx` -> its state during this trace, such as the `if_` chain that `else_` continues."""
        self.label_count = 0
        self.statement_count = 0
        self.prologue = Scope(1, usual_trivia(0))
        self.root_scope = Scope(1, usual_trivia(0))
        self._scopes = [self.root_scope]
        self.leading_trivia = usual_trivia(1)
        self._next = NextStatement()
        self._checks: Callable[[nodes.Instruction], None] = self.checker.check
        self.check: Callable[[nodes.Instruction], None] = self._checks
        self._closed = False
        self._promises = 0
        self._append = self.root_scope.nodes.append
        self._append_site = self.root_scope.sites.append

    # --- statements ---------------------------------------------------------------------------------

    def emit(
        self, words: tuple[str, ...], operands: Sequence[object] = (), guard: object = None, of: FrameType | None = None
    ) -> None:
        """Append an instruction; `guard` is `p` or `~p`, `of` the Python frame that emits it (default: the caller)."""
        if words[0] == "slct":
            operands = lower_selected(operands, self, words)
        lowered = self.lowered(operands, words)
        node = instruction(words, lowered, None if guard is None else self._guard(guard), self.leading_trivia)
        self.check(node)
        self._record(node, of or sys._getframe(1))  # noqa: SLF001  the user's stack starts above this call
        if self.offsets and lowered:
            self._written(lowered[0])

    def lowered(self, values: Sequence[object], opcode: tuple[str, ...]) -> tuple[tree.Operand, ...]:
        """Return the operands for Python values; numbers become literals of the type that `opcode` requires."""
        # Fast path for literals and for registers without an OffsetSlot; `lower` would return the same operands.
        return tuple(
            [
                value.operand
                if type(value) is Reg and value.trace is self and value.slot is None
                else value
                if type(value) is tree.Immediate
                else lower(value, self, opcode)
                for value in values
            ]
        )

    def append(self, node: nodes.Statement) -> None:
        """Append a statement, with the usual leading whitespace unless it was parsed from source text."""
        leading_trivia = self.leading_trivia
        match node:
            case nodes.Instruction(operands=parts):
                for part in parts:
                    self.mention(part)
                self._record(_placed(node, leading_trivia), sys._getframe(1))  # noqa: SLF001  as above
                if self.offsets and parts:
                    self._written(parts[0])
                return
            case nodes.Label(name=name):
                self.names.define_label(name)
                self.label_count += 1
                leading_trivia = usual_trivia(len(self._scopes) - 1)
            case nodes.Variable():
                self.names.declare_variable(node)
        self._record(_placed(node, leading_trivia), sys._getframe(1))  # noqa: SLF001  as above

    def offset(self, operation: str, words: tuple[str, ...], terms: tuple[Term, ...], dtype: PtxType) -> Reg:
        """Append an OffsetSlot, expanded to instructions when the trace ends; return its register of type `dtype`."""
        register = self.fresh(dtype)
        slot = OffsetSlot(operation, register, words, terms, self.leading_trivia, labels=self.label_count)
        register.slot = slot
        self.offsets[register.raw_name] = slot
        self._record(slot, sys._getframe(1))  # noqa: SLF001  as above
        return register

    def promise(self, what: str) -> int:
        """Record a block that a `with` must enter; return its key in `unopened`. Entering the block removes the key."""
        self._promises += 1
        self.unopened[self._promises] = (what, self.recorder.capture(sys._getframe(1)))  # noqa: SLF001  as above
        return self._promises

    def comment(self, text: str) -> None:
        """Add a `// text` line before the next statement."""
        self._next.comment(f"{self.leading_trivia}// {text}")

    def deviate(self, deviation: Deviation) -> None:
        """Set the formatting of the next statement or brace."""
        self._next.deviate(deviation)
        if deviation.unchecked:
            self.check = unchecked

    @property
    def unchecked(self) -> bool:
        """Whether checks are disabled for the next statement."""
        return self.check is unchecked

    def take_spelling(self) -> str | None:
        """Return and reset the source text for the next statement; the caller passes it to `Scope.spell` later."""
        return self._next.take_spelling()

    def check_nothing(self) -> None:
        """Disable the checks of instructions and of declarations."""
        self.check = self._checks = unchecked

    def _record(self, node: nodes.Statement | OffsetSlot, frame: FrameType) -> None:
        if self._closed:
            raise NoTraceError(f"an instruction of kernel {self.name!r}, whose trace has ended,")
        if self._next.waiting:
            node = self.dressed(node)
        self._append(node)
        self._append_site(self.recorder.capture(frame))
        self.statement_count += 1

    def dressed(self, node: nodes.Statement | OffsetSlot) -> nodes.Statement | OffsetSlot:
        """Return a statement with the comments and formatting that were set for the next statement."""
        comment, deviation = self._undress()
        if not isinstance(node, OffsetSlot):
            return deviation.of(node, comment)
        if deviation.spelling is not None:
            raise ControlFlowError("cannot set the source text of an operator", help="use ptx.<instruction> instead")
        node.leading_trivia = deviation.behind(comment, node.leading_trivia)
        return node

    def _undress(self) -> tuple[str, Deviation]:
        """Return and reset the comments and formatting of the next statement, and enable the checks again."""
        self.check = self._checks
        return self._next.take()

    def _guard(self, guard: object) -> nodes.Guard:
        if type(guard) is Reg and guard.trace is self and guard.dtype.kind == "pred":
            return _plain_guard(guard.raw_name)
        if isinstance(guard, Handle) and guard.dtype.kind != "pred":
            raise RegisterTypeError(
                f"a guard must be a predicate, got the {guard.dtype} register {guard.raw_name}",
                help="compare the register with 0: pred=(value != 0)",
            )
        match lower(guard, self):
            case tree.Register(name=name) | tree.Symbol(name=name):
                return nodes.Guard(name)
            case tree.Negated(operand=tree.Register(name=name) | tree.Symbol(name=name)):
                return nodes.Guard(name, negated=True)
            case _:
                raise OperandError(
                    f"a guard must be a predicate, got {guard!r}", help="pass a predicate register p, or ~p, as pred="
                )

    # --- offsets ------------------------------------------------------------------------------------

    def mention(self, operand: tree.Operand) -> None:
        """Record that an operand reads the 16- or 32-bit registers of the offsets (OffsetSlot) in it."""
        if not self.offsets:
            return
        for name in register_names(operand):
            slot = self.offsets.get(name)
            if slot is not None:
                slot.need_narrow()

    def _written(self, destination: tree.Operand) -> None:
        """Record that an instruction may have written the registers of offsets (OffsetSlot) in its first operand."""
        match destination:
            case tree.Register(name=name):
                slot = self.offsets.get(name)
                if slot is not None:
                    slot.written()
            case tree.Vector(elements=parts) | tree.CallList(elements=parts):
                for part in parts:
                    self._written(part)
            case tree.Pair(first=first, second=second):
                self._written(first)
                self._written(second)
            case _:
                return

    # --- names --------------------------------------------------------------------------------------

    def fresh(self, type: PtxType, name: str | None = None, prefix: str | None = None) -> Reg:  # noqa: A002  the contract
        """Declare and return one register: the next of its type's register group, or one with the name `name`."""
        if name is None:
            name = self.banks.fresh(type, prefix)
        else:
            self.names.refuse(name)
            self.banks.named(name, type)
            if not name.startswith("%"):
                self.claim_symbol(name)
        self.checker.declared[name] = type.checked
        return Reg(name, type, self)

    def array(self, dtype: PtxType, count: int, name: str | None = None) -> RegArray:
        """Declare and return `count` registers in a register group of their own."""
        registers = RegArray(self.banks.array(dtype, count, name), count, dtype, self)
        if not registers.base.startswith("%"):
            for register in registers:
                self.claim_symbol(register.raw_name)
        self.checker.declared.update(dict.fromkeys((register.raw_name for register in registers), dtype.checked))
        return registers

    def declare_registers(self, node: nodes.RegisterDeclaration, dtype: PtxType) -> tuple[Reg | RegArray, ...]:
        """Append a `.reg`: its names belong to the innermost `{ }` scope; the trace's register groups avoid them."""
        for each in node.names:
            self.banks.reserve(each)
        for names, kind in register_kinds(node):
            self.names.declare(names, kind)
        self.append(node)
        declared = tuple([declared_register(each, dtype, self) for each in node.names])
        self.names.hold(declared)
        return declared

    def new_label(self, stem: str = "L") -> str:
        """Return a label unused in this trace; define it with `append(Label(name=…))`."""
        return self.names.fresh_label(stem)

    def claim_symbol(self, name: str, space: str = "") -> None:
        """Reserve a name for a variable or parameter in `space`; raise DuplicateNameError if it is in use."""
        self.names.claim(name, space and f".{space}")

    def fresh_symbol(self, stem: str, space: str = "") -> str:
        """Reserve the next free `stem_N`, for a variable in `space`."""
        name = self.names.fresh(stem)
        if space:
            self.checker.declared[name] = f".{space}"
        return name

    def has_symbol(self, name: str) -> bool:
        """Return whether a variable or parameter of that name is declared."""
        return self.names.has(name) and not self.has_label(name)

    def has_label(self, name: str) -> bool:
        """Return whether a label of that name is defined."""
        return name in self.names.labels

    # --- scopes -------------------------------------------------------------------------------------

    def open(self) -> None:
        """Emit a `{`; registers of `fresh` are still declared at the start of the body."""
        comment, deviation = self._undress()
        if deviation.spelling is not None or deviation.unchecked:
            raise ControlFlowError("only the leading trivia of a `{` can be set", help="format the next statement")
        inner = Scope(len(self._scopes) + 1, self.leading_trivia)
        inner.leading_trivia = deviation.behind(comment, inner.leading_trivia)
        self._append(inner)
        self._append_site(self.recorder.capture(sys._getframe(1)))  # noqa: SLF001  as above
        self._enter(inner)
        self._scopes.append(inner)
        self.names.enter()

    def close_brace(self) -> None:
        """Emit the `}` of the innermost open `{`; raise ControlFlowError if none is open."""
        if len(self._scopes) == 1:
            raise ControlFlowError("no scope is open here", help="open a scope with ptx.open_scope()")
        self._end(self._scopes.pop())
        self.names.leave()
        self._enter(self._scopes[-1])

    def _end(self, scope: Scope) -> None:
        comment, deviation = self._undress()
        if deviation.spelling is not None or deviation.unchecked:
            self.faults.append(lost(deviation))
        scope.closing_trivia = deviation.behind(comment, scope.closing_trivia)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Open a `{ … }` for the statements of a `with` block."""
        self.open()
        try:
            yield
        finally:
            self.close_brace()

    @contextmanager
    def in_prologue(self) -> Generator[None]:
        """Put the statements of a `with` block at the start of the body, which executes before all other statements."""
        outside, self._next = self._next, NextStatement()
        self._scopes.append(self.prologue)
        self.names.enter_body()
        self._enter(self.prologue)
        try:
            yield
        finally:
            self._next = outside
            self.names.leave_body()
            self._scopes.pop()
            self._enter(self._scopes[-1])

    @property
    def open_scope(self) -> Scope:
        """Innermost open `{ }` scope, which receives new statements."""
        return self._scopes[-1]

    def _enter(self, scope: Scope) -> None:
        self._append, self._append_site = scope.nodes.append, scope.sites.append
        self.leading_trivia = usual_trivia(scope.indent)

    def close(self) -> None:
        """End the trace: a later `append` raises NoTraceError."""
        self._end(self.root_scope)
        if len(self._scopes) > 1:
            where, help = self.recorder.where(self._scopes[-2].sites[-1]), "close the scope with ptx.close_scope()"
            self.faults.append(ControlFlowError("a scope is not closed at the end of the body", where=where, help=help))
        self._closed = True


@lru_cache(maxsize=1 << 8)
def _plain_guard(predicate: str) -> nodes.Guard:
    return nodes.Guard(predicate)


def _placed(node: nodes.Statement, leading_trivia: str) -> nodes.Statement:
    """Return a node with `leading_trivia` and its own source text."""
    return node if node.leading_trivia is leading_trivia else rewritten(node, leading_trivia, node.raw)


@contextmanager
def tracing(trace: Trace) -> Generator[Trace]:
    """Make `trace` the active one for a `with` block, and close it afterwards, also on an exception."""
    if trace.statement_count:
        raise TraceError(f"this Trace has already traced kernel {trace.name!r}")
    token, outside = ACTIVE.set(trace), trace.recorder.root
    trace.recorder.stop_at(sys._getframe(2))  # noqa: SLF001  the frames of the tracer and above are not the user's
    try:
        yield trace
    finally:
        ACTIVE.reset(token)
        trace.close()
        trace.recorder.root = outside  # the outer root, usually None: a recorded frame keeps its variables alive
