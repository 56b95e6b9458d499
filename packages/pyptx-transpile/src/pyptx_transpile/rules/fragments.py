"""Rewrites that name matrix fragments: `ldmatrix(a := r[1:5], …)`, and `a` in later MMA instructions.

A name stands for the registers of a vector operand, whatever values they contain. The call of the first instruction
with this vector binds the name; calls of later instructions with the same vector use the name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import Group
from pyptx_transpile.reading.spelling import banks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["FRAGMENT"]

_FEWEST_USES = 2  # minimum later uses of a matrix fragment that gets a name
_PRODUCTS = frozenset({"mma", "wgmma"})
_ROLES = {0: "acc", 1: "a", 2: "b", 3: "acc"}  # name of the matrix fragment at each operand index of an MMA


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each matrix fragment's first instruction, if later instructions use the fragment, too."""
    if body.declared != body.start:
        return  # in a helper function, matrix fragments are parameters with names already
    first: dict[tree.Vector, int] = {}
    roles: dict[tree.Vector, str] = {}
    uses: Counter[tree.Vector] = Counter()
    for at, vector, number in _vectors(body, plan):
        first.setdefault(vector, at)
        uses[vector] += 1
        if body.branch(at).opcode[0] in _PRODUCTS and number in _ROLES:
            roles.setdefault(vector, _ROLES[number])
    banks = banks_of(body)
    named: defaultdict[int, dict[tree.Vector, str]] = defaultdict(dict)
    for vector, at in first.items():
        if uses[vector] > _FEWEST_USES and vector in roles and all(map(banks.type_of, vector.elements)):
            named[at][vector] = roles[vector]
    for at, names in named.items():
        if not body.deviates(at) and not _is_addressed(body, at):
            yield _rewrite(at, names)


def _vectors(body: Body, plan: RewritePlan) -> Iterator[tuple[int, tree.Vector, int]]:
    """Yield the register vectors of instructions that no rule rewrites, with their operand indices."""
    for slice_ in list(plan.unclaimed()):
        if plan.in_turn(slice_.start):
            continue
        for at in slice_:
            node = body.instruction(at)
            if node is None or node.guard is not None:
                continue
            for number, operand in enumerate(node.operands):
                if isinstance(operand, tree.Vector):
                    yield at, operand, number


def _is_addressed(body: Body, at: int) -> bool:
    """Return whether the instruction before `at` computes the address that the instruction at `at` accesses."""
    before = body.instruction(at - 1)
    bases = [each.base for each in body.branch(at).operands if isinstance(each, tree.Address)]
    return before is not None and bool(before.operands) and before.operands[0] in bases


def _rewrite(at: int, names: Mapping[tree.Vector, str]) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        node = printer.body.branch(at)
        said = printer.called(node)
        items, bound = list(said.items), list[tuple[str, str]]()
        for vector, wanted in names.items():
            element = str(items[node.operands.index(vector)])
            name = printer.registers.name(vector.elements, wanted)
            places = [place for place, operand in enumerate(node.operands) if operand == vector]
            for place in places:
                items[place] = name
            items[places[0]] = f"{name} := {element}"
            bound.append((name, element))
        printer.page.bind_several(Group(said.opening, tuple(items), said.closing), bound)

    return Rewrite("fragment", at, at + 1, write, opens=0, like=at)


FRAGMENT = SugarRule(
    name="fragment",
    summary="names for matrix fragments that several MMA instructions use",
    before=".reg .b32 %h<9>;\n\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%h1, %h2, %h3, %h4}, [%r1];\n\t"
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r3}, {%h1, %h2, %h3, %h4}, {%r4, %r5}, {%r6, %r7};\n\t"
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r6, %r7}, {%h1, %h2, %h3, %h4}, {%r4, %r8}, {%r2, %r3};",
    after="ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16(a := h[1:5], ptx.addr(r[1]))",
    find=find,
)
