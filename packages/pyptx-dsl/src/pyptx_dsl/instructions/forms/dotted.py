"""`ptx.inst.<opcode>.<modifier>…(*operands)`: any PTX instruction, with dots as in the manual."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

from pyptx_dsl.errors import CallError, NoTraceError, OperandError
from pyptx_dsl.naming import is_attribute, to_ptx, to_python
from pyptx_dsl.registers.exact import EXACT, Exact
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["Inst", "inst"]


class Inst:
    """An opcode prefix; an attribute access appends a modifier, a call emits the instruction.

    `ptx.inst.ld.global_.v4.f32([a, b, c, d], ptx.addr(p, 16), pred=~q)` is `@!q ld.global.v4.f32 {a, b, c, d},
    [p+16];`: exactly one instruction. The table in `pyptx_dsl.naming` maps modifiers to attributes. The table in
    `pyptx_dsl.registers.operands` lists the valid operands and the format of numbers by instruction type.
    """

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        """Store the opcode prefix `words`."""
        self._words = words

    def __getattr__(self, name: str) -> Inst:
        """Return the opcode prefix with the modifier `name` appended; cache it as an attribute."""
        if name[:1] == "_" and not name[1:2].isdecimal():
            raise AttributeError(name)
        longer = Inst((*self._words, to_ptx(name)))
        self.__dict__[name] = longer  # the next lookup of `name` does not call `__getattr__`
        return longer

    def __getitem__(self, spelling: str) -> Inst:
        """Return the opcode prefix with the dotted modifiers in a string appended: `ptx.inst["add.f32.rn"]`.

        For opcodes that type checkers do not know as attributes of `ptx.inst`: modifiers in another order than the
        manual's, and instructions of plugins. A call checks these against the instruction table, too.
        """
        return Inst((*self._words, *filter(None, spelling.split("."))))

    @overload
    def __call__(self, destination: Reg | EllipsisType, /, *operands: object, pred: Reg | None = None) -> Reg: ...

    @overload
    def __call__(self, *operands: object, pred: Reg | None = None) -> Reg | None: ...

    def __call__(self, *operands: object, pred: Reg | None = None) -> Reg | None:
        """Emit the instruction and return its first operand if that is a register.

        `pred` is the guard: a predicate register `p`, or `~p`. `...` as the destination is the next temporary of the
        enclosing `with ptx.expr(temps=…):`. Raise NoTraceError outside a kernel, OperandError for an invalid operand,
        and InstructionUseError if the instruction table rejects the instruction.
        """
        trace = ACTIVE.get()
        if trace is None:
            raise NoTraceError(repr(self))
        if not self._words:
            raise CallError("ptx.inst needs an opcode", help="append the opcode: ptx.inst.add.u32(d, a, b)")
        if operands and operands[0] is ...:
            return _exact(trace, self).compute(self._words, operands[1:], pred)
        trace.emit(self._words, operands, pred, sys._getframe(1))  # noqa: SLF001  where the user calls
        if operands and isinstance(operands[0], Reg):
            return operands[0]
        return None

    def __repr__(self) -> str:
        """Return the Python expression `ptx.inst.a.b`, or `ptx.inst["a.b"]` if a modifier cannot be an attribute."""
        if all(map(is_attribute, self._words)):
            return ".".join(["ptx.inst", *map(to_python, self._words)])
        return f"ptx.inst[{'.'.join(self._words)!r}]"

    def __dir__(self) -> Sequence[str]:
        """Return the modifiers that can follow the prefix in the instruction table, with plugins."""
        from pyptx_dsl.instructions.completion import following

        return following(self._words)


def _exact(trace: Trace, instruction: Inst) -> Exact:
    """Return the `Exact` of the open `ptx.expr(temps=…)`, which supplies the register for `...`."""
    exact = trace.notes.get(EXACT)
    if not isinstance(exact, Exact):
        raise OperandError(
            f"{instruction!r}: ... stands for the next temporary of ptx.expr(temps=(…)), but none is open",
            help="name the destination, or write the call inside `with ptx.expr(temps=(…)):`",
        )
    return exact


inst = Inst()
