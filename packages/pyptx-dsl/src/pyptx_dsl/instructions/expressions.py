"""`ptx.expr`, `ptx.scope` and `ptx.pipe`: Python syntax that groups instructions and emits no additional ones.

In `ptx.expr(temps=…)`, operators emit one instruction each: they do not copy, widen or declare registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import ControlFlowError, OperandError
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers.exact import EXACT, Exact
from pyptx_dsl.registers.register import NegPred, Reg, SpecialReg, Unplaced
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from types import TracebackType

    from pyptx_dsl.tracing.trace import Scope, Trace
    from pyptx_dsl.types import PtxType

__all__ = ["Expression", "Pipe", "PipeStep", "ScopeBlock", "expr", "pipe", "scope"]


class Expression:
    """Context manager of `ptx.expr`; `exact` is None if operators keep their usual behavior."""

    __slots__ = ("_before", "_exact", "_promise", "_trace")

    def __init__(self, trace: Trace, exact: Exact | None) -> None:
        """Record the `ptx.expr` as not yet entered; operators change only inside the `with`."""
        self._trace = trace
        self._exact = exact
        self._promise = trace.promise("ptx.expr")
        self._before: object = None

    def __enter__(self) -> None:
        """With `temps` or `spelling`, make each operator on registers emit one instruction until the block ends."""
        self._trace.unopened.pop(self._promise, None)
        if self._exact is not None:
            self._before = self._trace.notes.get(EXACT)
            self._trace.notes[EXACT] = self._exact

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the effect of `temps` and `spelling` on operators; raise OperandError for unused temporaries."""
        if self._exact is None:
            return
        self._trace.notes.pop(EXACT, None)
        if self._before is not None:
            self._trace.notes[EXACT] = self._before
        if kind is None:
            self._exact.close()


def expr(temps: Iterable[Reg] | None = None, *, spelling: Mapping[PtxType, str] | None = None) -> Expression:
    """Group the instructions of one Python expression: `with ptx.expr(): d = ((a - 8192) & mask) >> 4 | bits`.

    The PTX is that of the operators, in Python's order of evaluation; the block itself emits nothing.

    With `temps` or `spelling` operators are exact: each emits one instruction into the next register of `temps`, in
    order of emission. Operands are not copied or widened, and no product is emitted later in a wider form. `r[7] = (a +
    b) * c` writes the last instruction into `r[7]`, without a temporary and without a `mov`. `~p` of a predicate still
    emits nothing, unless it is assigned (`not.pred`). `spelling` gives the opcodes of operators by register type:
    `{b32: "add.s32 mul.lo.s32 setp.lt.s32", b64: "add.s64"}`. For operators not listed, the operands' types determine
    the opcode. A string as an operand is parsed as PTX.

    Raise OperandError for unused or missing temporaries, RegisterTypeError for operands that would need an instruction
    of their own.
    """
    trace = active("ptx.expr")
    if temps is None and spelling is None:
        return Expression(trace, None)
    if spelling is not None and not isinstance(cast("object", spelling), Mapping):
        raise OperandError(
            f"ptx.expr: spelling must map types to opcodes, got {spelling!r}", help="write spelling={u32: 'add.s32'}"
        )
    registers = [_temporary(trace, register) for register in _listed(temps)]
    return Expression(trace, Exact(trace, registers, spelling or {}, Unplaced))


def _listed(temps: object) -> Iterable[object]:
    if temps is None:
        return ()
    if isinstance(temps, str | Reg) or not isinstance(temps, Iterable):
        raise OperandError(
            f"ptx.expr: temps must be a list of registers, got {temps!r}", help="write temps=(r[1],), with the comma"
        )
    return cast("Iterable[object]", temps)


def _temporary(trace: Trace, value: object) -> Reg:
    if isinstance(value, Reg) and not isinstance(value, SpecialReg | NegPred) and value.trace is trace:
        return value
    raise OperandError(f"ptx.expr: {value!r} cannot be a temporary", help="pass registers of this kernel")


class ScopeBlock:
    """Context manager of `ptx.scope`: emits `{` and `}`."""

    __slots__ = ("_promise", "_scope", "_trace")

    def __init__(self, trace: Trace) -> None:
        """Record the `ptx.scope` as not yet entered; nothing is emitted."""
        self._trace = trace
        self._promise = trace.promise("ptx.scope")
        self._scope: Scope | None = None

    def __enter__(self) -> None:
        """Emit the `{` of the `ptx.scope`."""
        self._trace.unopened.pop(self._promise, None)
        self._trace.open()
        self._scope = self._trace.open_scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Emit the `}`; without an exception, raise ControlFlowError if the block leaves its own braces unbalanced."""
        if kind is None and self._trace.open_scope is not self._scope:
            raise ControlFlowError(
                "unbalanced ptx.open_scope() and ptx.close_scope() in this ptx.scope()",
                help="match each ptx.open_scope() in the block with one ptx.close_scope()",
            )
        if self._trace.open_scope is self._scope:
            self._trace.close_brace()


def scope() -> ScopeBlock:
    """Emit the statements of a `with` block between `{` and `}`, a PTX scope for variables and labels.

    Registers are still declared at the head of the body, except those of `reg.bank` and `reg.declare`. Raise
    ControlFlowError, at the `with`, if the block closes more or fewer braces than it opens. Manual: "Control Flow
    Instructions: {}".
    """
    return ScopeBlock(active("ptx.scope"))


class Pipe:
    """A `ptx.pipe` chain between two instructions; `register` contains the last result."""

    __slots__ = ("register",)

    def __init__(self, register: Reg) -> None:
        """Store the register with the last result of the `ptx.pipe` chain."""
        self.register = register

    def __getattr__(self, name: str) -> PipeStep:
        """Return the next instruction of the `ptx.pipe` chain: opcode `name`, to which modifiers can be appended."""
        if name.startswith("__"):
            raise AttributeError(name)
        return PipeStep(self.register, (to_ptx(name),))


class PipeStep:
    """An instruction of a `ptx.pipe` chain before its call: its opcode prefix, and its first source register."""

    __slots__ = ("_source", "_words")

    def __init__(self, source: Reg, words: tuple[str, ...]) -> None:
        """Store the opcode prefix, and the register with the previous instruction's result."""
        self._source = source
        self._words = words

    def __getattr__(self, name: str) -> PipeStep:
        """Return the instruction with the modifier `name` appended."""
        if name.startswith("__"):
            raise AttributeError(name)
        return PipeStep(self._source, (*self._words, to_ptx(name)))

    def __call__(self, dst: Reg, *operands: object, pred: Reg | None = None) -> Pipe:
        """Emit `opcode dst, <previous result>, operands;`; return the `ptx.pipe` chain with last result `dst`."""
        active("ptx.pipe").emit(self._words, (dst, self._source, *operands), pred)
        return Pipe(dst)


def pipe(src: Reg) -> Pipe:
    """Chain instructions: each takes the result of the previous one as its first source.

    `ptx.pipe(a).add.s32(b, -8192).and_.b32(c, 262016).shr.u32(d, 4)` emits three instructions in this order, one per
    call. The last result is `.register`.
    """
    return Pipe(src)
