"""Transpiler rule: the constant of an instruction descriptor becomes a named `InstructionDescriptor`.

`mov.b32 %r4, 136314896;` becomes `ptx.inst.mov.b32(r[4], instruction_descriptor.bits)`; the descriptor's kind, types
and sizes are printed before all functions.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.descriptors import KINDS, DescriptorError, InstructionDescriptor, default_depth
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Constant, Rewrite
from pyptx_transpile.printing.layout import call
from pyptx_transpile.printing.values import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.reading.rows import Body, Row

__all__ = ["PRODUCT", "find"]

# Names of Python variables that transpiled kernels may use for instruction descriptors.
_NAMES = tuple(f"instruction_descriptor{tail}" for tail in ("", "_2", "_3"))
_MOVES = (("mov", "b32"), ("mov", "u32"), ("mov", "s32"))


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each `mov` of an instruction descriptor to a register that an MMA reads."""
    for at, found in _descriptors(body):
        constant = body.row.derived(_named).get(found)
        if constant is not None:
            yield _rewrite(body, at, constant)


def _descriptors(body: Body) -> Iterator[tuple[int, InstructionDescriptor]]:
    """Yield the index of each `mov` of an instruction descriptor, with the decoded descriptor."""
    kinds = _kinds(body)
    for at in body.places("mov") if kinds else ():
        match body.branch(at):
            case nodes.Instruction(opcode, (tree.Register() as register, tree.Immediate(text)), None) if (
                opcode in _MOVES and register in kinds and text.isdecimal()
            ):
                try:
                    yield at, InstructionDescriptor.decode(kinds[register], int(text))
                except DescriptorError:
                    continue  # the constant that this `mov` writes is not a valid instruction descriptor
            case _:
                pass


def _kinds(body: Body) -> dict[tree.Operand, str]:
    """Return the instruction descriptor register of each tcgen05.mma in a function body, with the kind of the MMA."""
    found: dict[tree.Operand, str] = {}
    for at in body.places("tcgen05"):
        node = body.branch(at)
        kind = next((word.removeprefix("kind::") for word in node.opcode if word.startswith("kind::")), "")
        place = 4 if "sp" in node.opcode else 3  # operands of tcgen05.mma: [d], a, b{, [metadata]}, idesc
        if node.opcode[1] == "mma" and kind in KINDS and place < len(node.operands):
            found[node.operands[place]] = kind
    return found


def _rewrite(body: Body, at: int, constant: Constant) -> Rewrite:
    node = body.branch(at)

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(at)
        register = printer.values.expression(node.operands[0])
        printer.page.say(call(printer.form(node), [register, f"{constant.name}.bits"]))

    return Rewrite("product", at, at + 1, write, opens=0, shared=(constant,), like=constant.name)


def _named(row: Row) -> dict[InstructionDescriptor, Constant]:
    """Return the Python variable of each instruction descriptor in a PTX module."""
    every = dict.fromkeys(found for body in row.bodies() for _, found in _descriptors(body))
    return {found: Constant(name, _written(found)) for name, found in zip(_NAMES, every, strict=False)}


def _written(found: InstructionDescriptor) -> Expression:
    """Return the Python expression of an instruction descriptor, without arguments that are defaults."""
    usual = {"depth": default_depth(found.kind, sparse=found.sparse), "scale": None}
    said = [
        f"{each.name}={quoted(value) if isinstance(value, str) else value}"
        for each in fields(found)[1:]
        if (value := getattr(found, each.name)) != usual.get(each.name, each.default)
    ]
    return call("ptx.tcgen05.InstructionDescriptor", [quoted(found.kind), *said])


PRODUCT = SugarRule(
    name="product",
    summary="an instruction descriptor, written as the kind, types and sizes that it encodes",
    before="mov.b32 %r4, 136314896;\n\ttcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1;",
    after="ptx.inst.mov.b32(r[4], instruction_descriptor.bits)",
    find=find,
)
