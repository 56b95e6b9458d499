"""Transpiler rule that prints acme.frob as a call of its function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import SugarRule
from pyptx_transpile import Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile import Body, BodyPrinter, RewritePlan, Slot


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite of each acme.frob."""
    for at in body.places("acme"):
        if body.branch(at).opcode == ("acme", "frob", "b32"):
            yield _rewrite(at)


def _rewrite(at: int) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(at)
        node = printer.body.branch(at)
        operands = [printer.values.expression(each, node.opcode) for each in node.operands]
        if node.guard is not None:
            operands.append(f"pred={printer.guard(node.guard)}")
        printer.page.line(f"ptx.acme.frob({', '.join(operands)})")

    return Rewrite("acme_frob", at, at + 1, write, opens=0)


FROBS = SugarRule(
    name="acme_frob",
    summary="acme.frob by its function",
    before="acme.frob.b32 %r2, %r1;",
    after="ptx.acme.frob(r[2], r[1])",
    find=find,
)
