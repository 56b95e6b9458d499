"""Transpiler rule: wgmma accumulators get names, `acc` instead of a register slice that each call repeats."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.reading.spelling import banks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["ACCUMULATOR", "find"]

_FEWEST_USES = 2  # minimum uses of an accumulator that gets a Python variable
_SHORTEST = 4  # minimum registers of an accumulator that gets a Python variable


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each `.reg` declaration of accumulator registers, which also binds Python names to them."""
    if body.declared != body.start:
        return  # the body of a helper function: its accumulators are parameters and need no variables
    found = _accumulators(body)
    for at in range(body.start, body.end) if found else ():
        node = body.items[at].node
        if isinstance(node, nodes.RegisterDeclaration) and body.items[at].depth == 1:
            stems = {each.name for each in node.names}
            of_bank = [vector for vector in found if _stem(vector) in stems]
            if of_bank:
                yield _rewrite(at, of_bank)


def _accumulators(body: Body) -> list[tree.Vector]:
    """Return the accumulators that several wgmma of a function body share, in text order."""
    counts: Counter[tree.Vector] = Counter()
    for at in body.places("wgmma"):
        match body.branch(at):
            case nodes.Instruction(("wgmma", "mma_async", *_), (tree.Vector() as vector, *_)):
                counts[vector] += 1
            case _:
                pass
    banks = banks_of(body)
    return [
        vector
        for vector, count in counts.items()
        if count >= _FEWEST_USES and len(vector.elements) >= _SHORTEST and all(map(banks.type_of, vector.elements))
    ]


def _stem(vector: tree.Vector) -> str:
    first = vector.elements[0]
    return first.name.rstrip("0123456789") if isinstance(first, tree.Register) else ""


def _rewrite(at: int, vectors: Sequence[tree.Vector]) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.statement(at)
        for vector in vectors:
            element = printer.values.expression(vector)
            if element.startswith("["):
                continue  # Python code shows the accumulator as a list: its registers are not consecutive
            printer.page.bind(printer.registers.name(vector.elements, "acc"), element, element)

    return Rewrite("accumulator", at, at + 1, write, opens=0)


ACCUMULATOR = SugarRule(
    name="accumulator",
    summary="a name for an accumulator that several wgmma instructions use",
    before=".reg .f32 %g<8>;\n\t"
    + "\n\t".join(
        ["wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%g4, %g5, %g6, %g7}, %rd1, %rd2, 1, 1, 1, 0, 0;"] * 2
    ),
    after='g = reg.bank("%g", f32, 8)\nacc = g[4:8]',
    find=find,
)
