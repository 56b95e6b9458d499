"""Rewrites that name shared memory addresses: registers with the address of a variable plus a constant offset.

`tile_base = ptx.inst.mov.u32(r[1], tile)`, and `tile_1024 = ptx.inst.add.s32(r[2], tile_base, 1024)`. This rule is last
and names only results that no other rule rewrites: an unnamed nested expression is shorter than two named statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.reading.mangled import plain
from pyptx_transpile.reading.spelling import banks_of
from pyptx_transpile.rules.register_names import naming
from pyptx_transpile.rules.register_uses import uses_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.reading.rows import Body, Row

__all__ = ["PLACE"]

# Maximum characters of a shared variable whose whole name is used in names of its addresses, and of one word used
# instead.
_LONGEST, _LONGEST_WORD = 8, 4


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites of instructions that compute a shared memory address and that no other rule rewrites."""
    shared = body.row.derived(_shared_variables)
    if body.declared != body.start or not shared:
        return  # in a helper function, registers are parameters with names already
    uses, banks = uses_of(body), banks_of(body)
    stems: dict[tree.Operand, str] = {}
    for at in body.places("mov", "add"):
        match body.branch(at):
            case nodes.Instruction(("mov", _), (tree.Register() as result, tree.Symbol(name)), None) as node if (
                name in shared
            ):
                stem = _stem(plain(name), alone=len(shared) == 1)
                wanted = f"{stem}_base" if stem == plain(name) else stem
            case nodes.Instruction(("add", _), (tree.Register() as result, source, number), None) as node if (
                source in stems and isinstance(number, tree.Immediate) and number.text.isdecimal()
            ):
                stem = stems[source]
                wanted = f"{stem}_{number.text}"
            case _:
                continue
        if not uses.is_known(result.name) or banks.type_of(result) is None:
            continue
        stems[result] = stem
        is_free = plan.owner(at) is None and not plan.in_turn(at)
        if is_free and uses.is_one_value(result.name) and not body.deviates(at):
            yield naming("place", at, node, wanted)


def _stem(variable: str, *, alone: bool) -> str:
    """Return the stem of names for a variable's addresses: its name, a word of its name, or `smem`."""
    if len(variable) <= _LONGEST:
        return variable
    word = variable.partition("_")[0]
    return word if not alone and 1 < len(word) <= _LONGEST_WORD else "smem"


def _shared_variables(row: Row) -> frozenset[str]:
    """Return the names of the shared variables of the module and its functions."""
    found = [item.node for item in row.items if isinstance(item.node, nodes.Variable)]
    return frozenset([each.name for node in found if node.space == "shared" for each in node.declarators])


PLACE = SugarRule(
    name="place",
    summary="names for registers that hold an address in shared memory",
    before=".shared .b8 tile[64];\n\tmov.u32 %r1, tile;\n\tbar.sync 0;\n\tst.shared.b32 [%r1], %r2;"
    "\n\tst.shared.b32 [%r1+4], %r3;",
    after="tile_base = ptx.inst.mov.u32(r[1], tile)\nptx.inst.bar.sync(0)\n"
    "ptx.inst.st.shared.b32(ptx.addr(tile_base), r[2])\nptx.inst.st.shared.b32(ptx.addr(tile_base, 4), r[3])",
    find=find,
)
