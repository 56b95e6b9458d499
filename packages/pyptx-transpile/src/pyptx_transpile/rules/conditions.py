"""Inlining of predicates into branch conditions: `with ptx.if_(ptx.inst.setp.lt.s32(p[1], r[1], 8), …)`.

A call of `ptx.inst` returns its destination. So if the instruction before a branch writes the branch's predicate, its
call can be an argument of the call that branches. Python evaluates arguments first, which keeps the text order. At the
end of a loop the argument is a lambda, which is called there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["CONDITION", "Predicate", "predicates"]

_ENDS = frozenset({"bra", "exit", "ret", "trap"})


@dataclass(frozen=True, slots=True)
class Predicate:
    """Guard of the branch at index `at`; if `start` < `at`, with the instruction at `start` that computes it."""

    at: int
    start: int

    def first(self, printer: BodyPrinter, line: Callable[[str], str], *, negated: bool = False) -> str:
        """Return the Python condition for the branch's line, and print the formatting of the branch.

        The instruction that computes the predicate is printed as a statement if the line would be too long.
        """
        if self.start == self.at:
            printer.deviation(self.at)
        elif _fits(printer, line(call := self._call(printer, negated=negated))):
            printer.deviation(self.start)
            return call
        else:
            printer.statement(self.start)
        return self.name(printer, negated=negated)

    def whole(self, printer: BodyPrinter, *, negated: bool = False) -> str:
        """Return the Python condition with the inlined instruction, whatever the line's length."""
        return self.name(printer, negated=negated) if self.start == self.at else self._call(printer, negated=negated)

    def last(self, printer: BodyPrinter, line: Callable[[str], str]) -> tuple[str, bool]:
        """Return a block's Python header with the predicate last, and whether the header computes the predicate."""
        whole = line(f"lambda: {self._call(printer)}") if self.start < self.at else ""
        if whole and _fits(printer, whole):
            return whole, True
        return line(self.name(printer)), self.start == self.at

    def name(self, printer: BodyPrinter, *, negated: bool = False) -> str:
        """Return the Python expression of the branch's predicate register; "" for an unguarded branch."""
        guard = printer.body.branch(self.at).guard
        return "" if guard is None else printer.guard(guard, negated=negated)

    def _call(self, printer: BodyPrinter, *, negated: bool = False) -> str:
        guard = printer.body.branch(self.at).guard
        sign = "~" if guard is not None and guard.negated != negated else ""
        return f"{sign}{printer.called(printer.body.branch(self.start))}"


def _fits(printer: BodyPrinter, line: str) -> bool:
    return 4 * printer.page.indent + len(line) < WIDTH  # `<`, because a colon follows `line`


def predicates(body: Body, at: int, *, late: bool = False) -> Iterator[Predicate]:
    """Yield the ways to print a branch's guard: with the instruction that computes the guard inlined, and without.

    A predicate computed `late`, at the end of a block, is printed in the block's header, where no formatting can be
    set.
    """
    if _computes(body, at) and not (late and body.deviates(at - 1)):
        yield Predicate(at, at - 1)
    yield Predicate(at, at)


def _computes(body: Body, at: int) -> bool:
    """Return whether the instruction directly before a branch writes its guard."""
    guard, node = body.branch(at).guard, body.instruction(at - 1) if at > body.start else None
    if guard is None or node is None or node.guard is not None or len(node.operands) < 2 or body.deviates(at):
        return False
    return node.operands[0] == tree.Register(guard.register)


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites of unrewritten guarded branches that inline the instruction which computes the guard."""
    for at in body.places(*_ENDS):
        if at > body.start and body.branch(at).guard is not None and plan.owner(at) is None:
            computed, *_ = predicates(body, at)
            if computed.start < at:
                yield _rewrite(computed)


def _rewrite(predicate: Predicate) -> Rewrite:
    def line(printer: BodyPrinter, pred: str) -> str:
        return printer.guarded(predicate.at, pred)

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.page.line(line(printer, predicate.first(printer, lambda pred: line(printer, pred))))

    return Rewrite("condition", predicate.start, predicate.at + 1, write, opens=0)


CONDITION = SugarRule(
    name="condition",
    summary="the instruction that computes a branch's predicate, written as the branch's condition",
    before="setp.lt.s32 %p1, %r1, 8;\n\t@%p1 ret;",
    after="ptx.inst.ret(pred=ptx.inst.setp.lt.s32(p[1], r[1], 8))",
    find=find,
)
