"""Rewrites that name registers after their values: the thread index is `tid_x`, a parameter has its own name.

A register that is written once, before all reads, holds one value. If it is loaded from a special register or a
parameter, the call of that instruction binds the name, and later statements use it instead of the group's element.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.values import special_register
from pyptx_transpile.reading.spelling import banks_of
from pyptx_transpile.rules.register_uses import uses_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["REGISTER", "naming", "wanted_name"]

_NUMBERED = re.compile(r".*_(param_\d+)", re.ASCII | re.DOTALL)


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites of instructions that no other rule rewrites, and whose result is named after its source."""
    if body.declared != body.start:
        return  # in a helper function, registers are parameters with names already
    uses, banks = uses_of(body), banks_of(body)
    loaded: dict[tree.Operand, str] = {}
    for at in body.places("mov", "ld", "cvta"):
        node = body.branch(at)
        wanted = wanted_name(node, loaded, body.items[at].function)
        if wanted is None:
            continue
        result = node.operands[0]
        loaded[result] = wanted
        if banks.type_of(result) is None or not uses.is_one_value(spell(result)):
            continue
        if not body.deviates(at) and plan.owner(at) is None and not plan.in_turn(at):
            yield naming("register", at, node, wanted)


def wanted_name(node: nodes.Instruction, loaded: dict[tree.Operand, str], function: str) -> str | None:
    """Return the name of an instruction's source, a special register or a parameter; None for any other source."""
    match node:
        case nodes.Instruction(("mov", *_), (_, tree.Register(name) | tree.Symbol(name)), None):
            return name[1:].replace(".", "_") if special_register(name) else None
        case nodes.Instruction(("ld", "param", *_), (_, tree.Address(base=tree.Symbol(name), offset=None)), None):
            numbered = _NUMBERED.fullmatch(name)
            return name.removeprefix(f"{function}_") if numbered is None else numbered[1]
        case nodes.Instruction(("cvta", "to", *_), (_, source), None):
            return loaded.get(source)
        case _:
            return None


def naming(rule: str, at: int, node: nodes.Instruction, wanted: str) -> Rewrite:
    """Return the rewrite that binds the result of an instruction to a Python name, `wanted` if that is free."""

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        said, result = printer.called(node), node.operands[0]
        element = printer.values.expression(result)
        printer.page.bind(printer.registers.name(spell(result), wanted), said, element)

    return Rewrite(rule, at, at + 1, write, opens=0)


REGISTER = SugarRule(
    name="register",
    summary="names for registers that hold a special register or a parameter",
    before="mov.u32 %r1, %tid.x;\n\tadd.s32 %r2, %r1, %r1;\n\tst.global.b32 [%rd1], %r1;",
    after="tid_x = ptx.inst.mov.u32(r[1], ptx.special.tid.x())\nptx.inst.add.s32(r[2], tid_x, tid_x)\n"
    "ptx.inst.st.global_.b32(ptx.addr(rd[1]), tid_x)",
    find=find,
)
