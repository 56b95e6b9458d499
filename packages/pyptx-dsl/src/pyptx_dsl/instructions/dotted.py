"""`ptx.inst.<opcode>.<modifier>…(*operands)`: any PTX instruction, spelt with dots as the manual spells it."""

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
    """The words of an instruction so far; an attribute appends a modifier, a call emits.

    `ptx.inst.ld.global_.v4.f32([a, b, c, d], ptx.addr(p, 16), pred=~q)` is `@!q ld.global.v4.f32 {a, b, c, d},
    [p+16];`: exactly one instruction. How words become attributes is the table in `pyptx_dsl.naming`; what may stand
    as an operand, and how numbers are spelt for the instruction's type, is the table in `pyptx_dsl.registers.operands`.
    """

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        """Start from the words given."""
        self._words = words

    def __getattr__(self, name: str) -> Inst:
        """Return the instruction with one more word."""
        if name[:1] == "_" and not name[1:2].isdecimal():
            raise AttributeError(name)
        longer = Inst((*self._words, to_ptx(name)))
        self.__dict__[name] = longer  # the next look-up finds it without coming here
        return longer

    def __getitem__(self, spelling: str) -> Inst:
        """Return the instruction with the words of a text: `ptx.inst["add.f32.rn"]`.

        For spellings that the typed view of `ptx.inst` does not have: modifiers in another order than the manual's, and
        instructions of plugins. The table checks them all the same, when they are called.
        """
        return Inst((*self._words, *filter(None, spelling.split("."))))

    @overload
    def __call__(self, destination: Reg | EllipsisType, /, *operands: object, pred: Reg | None = None) -> Reg: ...

    @overload
    def __call__(self, *operands: object, pred: Reg | None = None) -> Reg | None: ...

    def __call__(self, *operands: object, pred: Reg | None = None) -> Reg | None:
        """Emit the instruction and return its first operand if that is a register.

        `pred` guards it: a predicate register `p`, or `~p`. `...` in the place of the destination is the next register
        of `with ptx.expr(temps=…):` around the call. Raise NoTraceError outside a kernel, OperandError for a
        value that is no operand, and InstructionUseError where the instruction table knows better.
        """
        trace = ACTIVE.get()
        if trace is None:
            raise NoTraceError(repr(self))
        if not self._words:
            raise CallError("ptx.inst is not an instruction yet", hint="write its words: ptx.inst.add.u32(d, a, b)")
        if operands and operands[0] is ...:
            return _exact(trace, self).compute(self._words, operands[1:], pred)
        trace.emit(self._words, operands, pred, sys._getframe(1))  # noqa: SLF001  where the user calls
        if operands and isinstance(operands[0], Reg):
            return operands[0]
        return None

    def __repr__(self) -> str:
        """Return an expression that makes this: with attributes, or where a word can be none, with the text."""
        if all(map(is_attribute, self._words)):
            return ".".join(["ptx.inst", *map(to_python, self._words)])
        return f"ptx.inst[{'.'.join(self._words)!r}]"

    def __dir__(self) -> Sequence[str]:
        """Return the words that can follow by the instruction table, plugins' rows included; any other may, too."""
        from pyptx_dsl.instructions.completion import following

        return following(self._words)


def _exact(trace: Trace, instruction: Inst) -> Exact:
    """Return the open `ptx.expr(temps=…)`, which has a register for `...`."""
    exact = trace.notes.get(EXACT)
    if not isinstance(exact, Exact):
        raise OperandError(
            f"{instruction!r}: ... is the next temporary of ptx.expr(temps=(…)), and none is open",
            hint="name the destination, or write the call inside `with ptx.expr(temps=(…)):`",
        )
    return exact


inst = Inst()
