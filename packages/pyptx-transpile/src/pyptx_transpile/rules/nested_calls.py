"""Instructions in the place of an operand of the next one: a call returns the register that it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.plan import Claim
from pyptx_transpile.rules.expression_trees import Tree, call_width, places_of_sources
from pyptx_transpile.rules.expressions import runs, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body

__all__ = ["NESTED"]

_WIDEST = 96  # columns of a call with others inside, by estimate
_LEAST = 2  # instructions


def find(body: Body, plan: Plan) -> Iterator[Claim]:
    """Yield the instructions that are operands of the one behind them, with that one."""
    for run in runs(body, plan, least=_LEAST):
        before: list[Tree] = []  # what may be an operand
        turn = plan.in_turn(run.start)
        for at in run:
            outer = _alone(body, at, turn=turn)
            if outer is None:
                before.clear()
                continue
            _take_in(body, outer, before)
            if outer.inner:
                yield _claim(outer)
                before.clear()
            elif outer.result is None:
                before.clear()
            else:
                before.append(outer)


def _alone(body: Body, at: int, *, turn: bool) -> Tree | None:
    """Return the call of an instruction, with its result if it may be an operand; None for what is as it is.

    What changes a register in place is a statement of its own: as an operand it would be overlooked.
    """
    node = body.instruction(at)
    if node is None or body.deviates(at):
        return None
    first = node.operands[0] if node.operands and node.guard is None else None
    result = first.name if isinstance(first, tree.Register) and first not in node.operands[1:] else None
    return Tree(at, result, None, call_width(node, turn=turn), named=True)


def _take_in(body: Body, outer: Tree, before: list[Tree]) -> None:
    """Write the last instructions into a call, as many as are its sources in their order, and fit."""
    sources = list(places_of_sources(body.branch(outer.at)))
    taken: list[Tree] = []
    while before and (last := before[-1]).result is not None and sources.count(last.result) == 1:
        if outer.width + last.width > _WIDEST:
            break
        del sources[sources.index(last.result) :]
        outer.width += last.width
        taken.append(before.pop())
    outer.inner = {each.result: each for each in reversed(taken) if each.result is not None}


def _claim(outer: Tree) -> Claim:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        statement(printer, outer)

    start = min(each.at for each in outer.inner.values())
    return Claim("operand", start, outer.at + 1, write, opens=0, like=outer.like(start))


NESTED = SugarRule(
    name="operand",
    summary="an instruction in the place of an operand of the next one",
    before="ld.param.u64 %rd1, [k_param_0];\n\tcvta.to.global.u64 %rd2, %rd1;",
    after='ptx.inst.cvta.to.global_.u64(rd[2], ptx.inst.ld.param.u64(rd[1], ptx.addr("k_param_0")))',
    find=find,
)
