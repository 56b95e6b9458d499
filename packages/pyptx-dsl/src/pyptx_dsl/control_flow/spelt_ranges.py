"""Counted loops as compilers emit them: one `mov`, one `add`, one `setp`, each with a user's opcode, and branches.

mov.b32 i, start;                    mov.b32 i, start;
top:                                 top:
…                                    setp.ge.s32 p, i, stop;
add.s32 i, i, step;                  @p bra end;
setp.lt.s32 p, i, stop;              …
@p bra top;                          add.s32 i, i, step;
bra.uni top;
end:
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyptx_dsl.control_flow.branches import jump
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.exact import spellings
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.registers.texts import text
from pyptx_dsl.types import pred

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.control_flow.frames import LoopFrame
    from pyptx_dsl.control_flow.ranges import Plan
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["Spelt", "TestPlace", "spelt"]

TestPlace: TypeAlias = Literal["bottom", "top"]
"""Position of a loop's test: after the body, which then runs at least once, or before the body."""

_INVERSE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_PARTS = frozenset({"mov", "add", "sub", *_INVERSE})


@dataclass(frozen=True, slots=True)
class Spelt:
    """A counted loop with given opcodes: operation -> opcode, and the position and predicate of its test."""

    plan: Plan
    words: Mapping[str, tuple[str, ...]]
    test: tuple[str, ...]
    place: TestPlace
    predicate: Reg
    uniform: bool | None

    def move(self, trace: Trace, counter: Reg) -> None:
        """Emit the `mov` of `start` to the loop counter, unless `start` is the counter."""
        if self.plan.start is not counter:
            trace.emit(self.words.get("mov", ("mov", self.plan.dtype.name)), (counter, self.plan.start))

    def enter(self, trace: Trace, counter: Reg, frame: LoopFrame) -> None:
        """Emit the loop's test before the body, if its position is the top."""
        if self.place == "top":
            self._test(trace, counter, frame.at_end(), uniform=bool(self.uniform))

    def step(self, trace: Trace, counter: Reg, top: str) -> None:
        """Emit the loop counter's step after the body, the test if it is at the bottom, and the backward branch."""
        step = self.plan.step
        if "sub" in self.words and isinstance(step, int):
            trace.emit(self.words["sub"], (counter, counter, -step))
        else:
            trace.emit(self.words.get("add", ("add", self.plan.word)), (counter, counter, step))
        if self.place == "top":
            jump(trace, top, uniform=self.uniform is not False)
        else:
            self._test(trace, counter, top, uniform=bool(self.uniform))

    def _test(self, trace: Trace, counter: Reg, target: str, *, uniform: bool) -> None:
        written = self.predicate.reg if isinstance(self.predicate, NegPred) else self.predicate
        trace.emit(self.test, (written, counter, self.plan.stop))
        jump(trace, target, self.predicate, uniform=uniform)


def spelt(
    trace: Trace, plan: Plan, spelling: str, place: TestPlace, predicate: Reg | None, *, uniform: bool | None
) -> Spelt:
    """Return a loop with the opcodes in `spelling`; raise OperandError if its test differs from Python's `range`."""
    if place not in {"bottom", "top"}:
        raise OperandError(f"ptx.range_: invalid tested={place!r}", help='use tested="bottom" or tested="top"')
    words = spellings(text("spelling", spelling))
    if not words.keys() <= _PARTS:
        raise OperandError(
            f"ptx.range_: {spelling!r} has an opcode that a range loop does not emit",
            help="use mov, add or sub, and setp",
        )
    for value in (plan.start, plan.stop, plan.step):
        if isinstance(value, Reg) and (value.dtype.bits != plan.dtype.bits or value.readonly):
            raise RegisterTypeError(
                f"ptx.range_ with spelling= does not widen or copy: {value!r} must have type {plan.dtype}",
                help="convert the register before the loop",
            )
    relation, test = _relation(plan, words, place, predicate)
    _judge(plan, relation, place, ".".join(test))
    return Spelt(plan, words, test, place, trace.fresh(pred) if predicate is None else predicate, uniform)


def _relation(
    plan: Plan, words: Mapping[str, tuple[str, ...]], place: TestPlace, predicate: Reg | None
) -> tuple[str, tuple[str, ...]]:
    """Return the relation between loop counter and `stop` that continues the loop, and the opcode of the `setp`."""
    leaves = (place == "top") != isinstance(predicate, NegPred)
    given = [relation for relation in words if relation in _INVERSE]
    if len(given) > 1:
        raise OperandError(f"ptx.range_: expected one setp, got {len(given)}", help="put only one setp into spelling=")
    if given:
        return (_INVERSE[given[0]] if leaves else given[0]), words[given[0]]
    onward = "gt" if isinstance(plan.step, int) and plan.step < 0 else "lt"
    return onward, ("setp", _INVERSE[onward] if leaves else onward, plan.word)


def _judge(plan: Plan, relation: str, place: TestPlace, test: str) -> None:
    """Raise OperandError if the number of iterations may differ from that of Python's `range`."""
    step = plan.step
    if relation not in {"lt", "gt", "ne"} or (isinstance(step, int) and relation == ("gt" if step > 0 else "lt")):
        raise OperandError(
            f"ptx.range_: with {test} and this polarity the loop continues while the counter is {relation} stop",
            help="use a setp for lt (gt for a negative step) or ne; pred=~p inverts the branch",
        )
    numbers = [value for value in (plan.start, plan.stop, step) if isinstance(value, int)]
    if len(numbers) < 3:
        return
    start, stop, by = numbers
    if place == "bottom" and not range(start, stop, by):
        raise OperandError(
            f'ptx.range_({start}, {stop}, {by}) with tested="bottom" runs once instead of never', help='tested="top"'
        )
    if relation == "ne" and (stop - start) % by:
        raise OperandError(
            f"ptx.range_({start}, {stop}, {by}) never reaches its stop exactly: {test} would loop indefinitely",
            help="use a setp for lt (gt for a negative step)",
        )
