"""Instructions of tensor memory that stand by themselves: `ptx.tcgen05.wait_ld()`, where no form of theirs has a name.

Those that come often have one: the rule `form` names it, and its calls are as short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.call_forms import source
from pyptx_dsl.instructions.inversion import call_of
from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.body_printer import opcode
from pyptx_transpile.plan import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.instructions.call_forms import Call
    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body

__all__ = ["STATEMENT", "find"]

_SHORTER = (
    *("alloc", "dealloc", "relinquish_alloc_permit", "commit", "wait::ld", "wait::st"),
    *("fence::before_thread_sync", "fence::after_thread_sync"),
)


def find(body: Body, _plan: Plan) -> Iterator[Claim]:
    """Yield a claim for each instruction of tensor memory whose call is shorter than its form."""
    for at in body.places("tcgen05"):
        node = body.branch(at)
        call = call_of(node) if node.opcode[1] in _SHORTER else None
        if call is not None:
            yield _claim(at, call)


def _claim(at: int, call: Call) -> Claim:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        node = printer.body.branch(at)
        if printer.form(node) != opcode(node.opcode):
            printer.statement(at)
            return
        printer.deviation(at)
        printer.page.say(source(call, printer.values.expression))

    return Claim("tensor memory", at, at + 1, write, opens=0, like=call.name)


STATEMENT = SugarRule(
    name="tensor memory",
    summary="allocations, waits, fences and commits of tensor memory as functions",
    before="tcgen05.wait::ld.sync.aligned;",
    after="ptx.tcgen05.wait_ld()",
    find=find,
    behind="place",
)
