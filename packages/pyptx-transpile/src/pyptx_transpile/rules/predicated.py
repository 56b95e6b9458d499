"""Rewrites of consecutive instructions with one guard to `with ptx.predicated(p):`, if that adds no lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import spell
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import lines
from pyptx_transpile.reading.operand_registers import registers
from pyptx_transpile.reading.rows import spelling_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax import nodes
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["PREDICATED"]

_FEWEST = 2  # minimum instructions with one guard in a `ptx.predicated` block
_LONG = 60  # minimum characters of a PTX instruction whose call with a guard may not fit on one line


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each run of instructions with one guard, if the call of one instruction may exceed a line."""
    for row in plan.unclaimed():
        at = row.start
        while at < row.stop:
            end = _end(body, at, row.stop)
            if end - at >= _FEWEST and any(len(spell(body.branch(each))) > _LONG for each in range(at, end)):
                yield _rewrite(at, end)
            at = max(end, at + 1)


def _end(body: Body, start: int, stop: int) -> int:
    """Return the end of the run of instructions with the first instruction's guard; a write of the guard ends it."""
    guard = _guard(body, start)
    at = start
    while guard is not None and at < stop and _guard(body, at) == guard:
        at += 1
        if guard.register in {name for operand in body.branch(at - 1).operands[:1] for name in registers(operand)}:
            break
    return at


def _guard(body: Body, at: int) -> nodes.Guard | None:
    """Return the guard of an instruction; None for a branch, or an instruction printed as source text."""
    node = body.instruction(at)
    if node is None or node.guard is None or node.opcode[0] in {"bra", "brx", "ret", "exit"}:
        return None
    return node.guard if spelling_of(body.items[at]) is None else None


def _rewrite(start: int, end: int) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        indent = printer.page.indent
        nodes = [printer.body.branch(at) for at in range(start, end)]
        before = sum(len(list(lines(printer.called(node), indent))) for node in nodes)
        inside = sum(len(list(lines(printer.unguarded(node), indent + 1))) for node in nodes)
        if before < 1 + inside:
            for at in range(start, end):
                printer.statement(at)
            return
        guard = nodes[0].guard
        with printer.page.block(f"with ptx.predicated({'' if guard is None else printer.guard(guard)})"):
            for at, node in enumerate(nodes, start):
                printer.deviation(at)
                printer.page.say(printer.unguarded(node))

    return Rewrite("predicated", start, end, write)


PREDICATED = SugarRule(
    name="predicated",
    summary="a block for consecutive instructions with the same guard predicate",
    before="@%p1 cp.async.cg.shared.global.L2::cache_hint [%r1+128], [%rd1+128], 16, %r2, %rd2;\n\t"
    "@%p1 st.global.b32 [%rd3], %r3;",
    after="with ptx.predicated(p[1]):\n    ptx.inst.cp.async_.cg.shared.global_.L2__cache_hint("
    "ptx.addr(r[1], 128), ptx.addr(rd[1], 128), 16, r[2], rd[2])\n    ptx.inst.st.global_.b32(ptx.addr(rd[3]), r[3])",
    find=find,
)
