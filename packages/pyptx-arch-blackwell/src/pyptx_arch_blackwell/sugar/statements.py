"""Transpiler rule: tensor memory instructions become calls like `ptx.tcgen05.wait_ld()`, if shorter than `ptx.inst`.

Frequent instructions are not rewritten: the transpiler rule `form` binds their opcodes with modifiers to Python names,
and calls of these names are as short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.call_forms import source
from pyptx_dsl.instructions.forms.inversion import call_of
from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.body_printer import opcode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.instructions.forms.call_forms import Call
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["STATEMENT", "find"]


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each tensor memory instruction that has a `ptx.tcgen05` function."""
    for at in body.places("tcgen05"):
        call = call_of(body.branch(at))
        if call is not None:
            yield _rewrite(at, call)


def _rewrite(at: int, call: Call) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        node = printer.body.branch(at)
        said = source(call, printer.values.expression)
        if printer.form(node) != opcode(node.opcode) or len(str(printer.called(node))) < len(said):
            printer.statement(at)
            return
        printer.deviation(at)
        printer.page.say(said)

    return Rewrite("tensor memory", at, at + 1, write, opens=0, like=call.name)


STATEMENT = SugarRule(
    name="tensor memory",
    summary="tensor memory instructions as functions",
    before="tcgen05.wait::ld.sync.aligned;",
    after="ptx.tcgen05.wait_ld()",
    find=find,
    behind="place",
)
