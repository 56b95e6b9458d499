"""Dry-run trace that records the one instruction that a call emits, without side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from pyptx_dsl.instructions.forms.call_forms import perform
from pyptx_dsl.registers.operands import lower, lower_selected
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.trace_context import ACTIVE
from pyptx_dsl.types import BY_NAME, PtxType
from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import instruction
from pyptx_ir.syntax.nodes import Guard, Instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_dsl.instructions.forms.call_forms import Call
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_ir.syntax.operands import Operand

__all__ = ["DryRun", "rehearsed"]


class OtherWorkError(PyptxError):
    """Raised if a call in a `DryRun` does more than emit one instruction and declare its destination."""


class DryRun:
    """Dry-run trace that records one emitted instruction; registers have the types that `declared` returns.

    `result` is the register for a call that declares its destination.
    """

    name = "rehearsal"

    def __init__(self, declared: Callable[[str], str | None], result: Operand | None) -> None:
        """Start without a recorded instruction; `declared` returns a register's type by name, None if unknown."""
        self._declared = declared
        self._result = result
        self.emitted: Instruction | None = None
        self.returned: Operand | None = None

    def emit(self, opcode: tuple[str, ...], operands: Sequence[object] = (), guard: object | None = None) -> None:
        """Record the emitted instruction; raise OtherWorkError for a second instruction."""
        if self.emitted is not None:
            raise OtherWorkError("a second instruction")
        values = lower_selected(operands, self._trace, opcode) if opcode[0] == "slct" else operands
        self.emitted = instruction(opcode, self.lowered(values, opcode), self._guard(guard), "")

    def _guard(self, guard: object | None) -> Guard | None:
        match None if guard is None else lower(guard, self._trace):
            case tree.Register(name=name) | tree.Symbol(name=name):
                return Guard(name)
            case tree.Negated(operand=tree.Register(name=name) | tree.Symbol(name=name)):
                return Guard(name, negated=True)
            case _:
                return None

    def lowered(self, values: Sequence[object], opcode: tuple[str, ...]) -> tuple[Operand, ...]:
        """Return the operands for Python values; numbers become literals of the type that `opcode` requires."""
        return tuple([lower(value, self._trace, opcode) for value in values])

    def mention(self, operand: Operand) -> None:
        """Do nothing: `Trace.mention` records uses of offsets, and a dry run has no offsets."""

    def fresh(self, dtype: PtxType) -> Reg:
        """Return the register for a call's destination; raise OtherWorkError for a second register of the call."""
        if self.returned is not None or not isinstance(self._result, tree.Register | tree.Symbol):
            raise OtherWorkError("another register")
        self.returned = self._result
        return Reg(self._result.name, dtype, self._trace)

    def value(self, operand: Operand) -> object:
        """Return the argument for an operand: a `Reg` if its type is known, else its name or the operand itself."""
        match operand:
            case tree.Register(name=name) | tree.Symbol(name=name) if (dtype := self._type(name)) is not None:
                return Reg(name, dtype, self._trace)
            case tree.Negated(operand=inner) if isinstance(register := self.value(inner), Reg):
                return NegPred(register)
            case tree.Register(name=name):
                return name
            case _:
                return operand

    def _type(self, name: str) -> PtxType | None:
        return BY_NAME.get(self._declared(name) or "")

    @property
    def _trace(self) -> Trace:
        return cast("Trace", self)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise OtherWorkError for every `Trace` attribute that this class does not define."""
        raise OtherWorkError(f"Trace.{name}")


def rehearsed(
    call: Call, declared: Callable[[str], str | None], result: Operand | None
) -> tuple[Instruction, Operand | None] | None:
    """Return a call's only instruction, and its declared destination; None if the call fails or emits several."""
    rehearsal = DryRun(declared, result)
    token = ACTIVE.set(cast("Trace", rehearsal))
    try:
        perform(call, rehearsal.value)
    except (PyptxError, TypeError, ValueError, AttributeError):  # the `ptx` function rejects an argument
        return None
    finally:
        ACTIVE.reset(token)
    return None if rehearsal.emitted is None else (rehearsal.emitted, rehearsal.returned)
