"""Rewrites that nest an instruction as an operand of the next: a call returns the register that it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.rules.expressions import runs, statement
from pyptx_transpile.rules.nested_trees import nested

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body
    from pyptx_transpile.rules.expression_trees import Tree

__all__ = ["NESTED"]

_LEAST = 2  # minimum instructions of a range in which nested calls are searched


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites of instructions whose results are operands of the next instruction."""
    for run in runs(body, plan, least=_LEAST):
        for one in nested(body, run, turn=plan.in_turn(run.start)):
            if one is not None and one.inner:
                yield _rewrite(one)


def _rewrite(outer: Tree) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        statement(printer, outer)

    start = next(iter(outer.temporaries()))
    return Rewrite("operand", start, outer.at + 1, write, opens=0, like=outer.like(start))


NESTED = SugarRule(
    name="operand",
    summary="an instruction nested as an operand of the next instruction",
    before="ld.param.u64 %rd1, [k_param_0];\n\tcvta.to.global.u64 %rd2, %rd1;",
    after='ptx.inst.cvta.to.global_.u64(rd[2], ptx.inst.ld.param.u64(rd[1], ptx.addr("k_param_0")))',
    find=find,
)
