"""Descriptors of matrices: the instructions that make one of an address are one call, `descriptor(a, 32, …)`.

Each takes what the one in front of it has written; the last one writes what a wgmma takes. What stands between them, or
is shared by several descriptors, is said as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.instructions.matrix_descriptors import STEPS
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.layout import call
from pyptx_transpile.plan import Claim, Constant
from pyptx_transpile.values import WHOLE, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.layout import Expression
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body, Row

__all__ = ["DESCRIPTOR", "find"]

_FEWEST = 3  # steps: fewer are as short by themselves
_NAMES = ("descriptor", "descriptor_2", "descriptor_3")  # which are reserved: see pyptx_transpile.names
Said: TypeAlias = "tuple[str, str]"
"""What descriptors may have in common: their bits but for the address, and the steps."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The instructions from a place on that make a descriptor, and what they take besides the address.

    These are numbers or, in functions that stand for several places, parameters.
    """

    start: int
    steps: tuple[nodes.Instruction, ...]
    taken: dict[str, tree.Operand]

    @property
    def said(self) -> Said:
        """What other descriptors may have too."""
        return spell(self.taken["const_bits"]), " ".join([".".join(node.opcode) for node in self.steps])


def find(body: Body, _plan: Plan) -> Iterator[Claim]:
    """Yield a claim for each sum like those that a wgmma of the module takes."""
    for found in _descriptors(body):
        constant = body.row.derived(_named).get(found.said)
        if constant is not None:
            yield _claim(found, constant)


def _descriptors(body: Body) -> Iterator[_Found]:
    """Yield what may be descriptors of a body, each with all of its steps."""
    for at in body.places("or"):
        found = _read(body, at)
        if found is not None:
            yield found


def _used(body: Body) -> set[tree.Operand]:
    """Return what the wgmma of a body take for matrices."""
    nodes_of = map(body.branch, body.places("wgmma"))
    return {each for node in nodes_of if node.opcode[1] == "mma_async" for each in node.operands}


def _read(body: Body, last: int) -> _Found | None:
    """Return the descriptor whose last instruction is at a place; None if that is another sum."""
    steps: list[nodes.Instruction] = []
    taken: dict[str, tree.Operand] = {}
    at, wanted = last, body.branch(last).operands[0]
    while at >= body.start and (node := body.instruction(at)) is not None and _is_step(node, wanted, taken):
        if steps and body.deviates(at + 1):
            break
        steps.append(node)
        at, wanted = at - 1, node.operands[1]
    if len(steps) < _FEWEST or not _is_whole(taken["const_bits"]):
        return None
    return _Found(at + 1, tuple(reversed(steps)), taken)


def _is_step(node: nodes.Instruction, wanted: tree.Operand, taken: dict[str, tree.Operand]) -> bool:
    """Tell whether an instruction computes a register by a step that was not taken yet; take what it adds."""
    takes = STEPS.get(node.opcode[0])
    if takes is None or node.guard is not None or node.operands[0] != wanted or len(node.operands) != 2 + len(takes):
        return False
    more = dict(zip(takes, node.operands[2:], strict=True))
    if not isinstance(node.operands[1], tree.Register) or more.keys() & taken.keys():
        return False
    if any(isinstance(name, int) and value != tree.Immediate(str(name)) for name, value in more.items()):
        return False
    taken |= {name: value for name, value in more.items() if isinstance(name, str)}
    return all(isinstance(value, tree.Register) or _is_whole(value) for value in more.values())


def _is_whole(operand: tree.Operand) -> bool:
    return isinstance(operand, tree.Immediate) and WHOLE.match(operand.text) is not None


def _claim(found: _Found, constant: Constant) -> Claim:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(found.start)
        base, *temps = (found.steps[0].operands[1], *(node.operands[0] for node in found.steps))
        given = [printer.values.expression(each) for each in (base, found.taken.get("byte_offset")) if each is not None]
        if "mask" in found.taken:
            given.append(f"mask={printer.values.expression(found.taken['mask'])}")
        given.append(f"temps={printer.values.vector(tuple(temps), ())}")
        printer.page.say(call(constant.name, given))

    end = found.start + len(found.steps)
    return Claim("descriptor", found.start, end, write, opens=0, shared=(constant,), like=found.said)


def _named(row: Row) -> dict[Said, Constant]:
    """Return what the descriptors of a module have in common, under a name for each."""
    shared: dict[Said, None] = {}
    for body in row.bodies():
        used = _used(body)
        made = [found for found in _descriptors(body) if found.steps[-1].operands[0] in used]
        shared |= dict.fromkeys(found.said for found in made)
    return {said: Constant(name, _partial(*said)) for name, said in zip(_NAMES, shared, strict=False)}


def _partial(const_bits: str, steps: str) -> Expression:
    said = [f"const_bits={const_bits}", f"steps={quoted(steps)}"]
    return call("partial", ["ptx.wgmma.masked_descriptor", *said])


DESCRIPTOR = SugarRule(
    name="descriptor",
    summary="the instructions that make a matrix descriptor of an address",
    before="add.s32 %r4, %r1, 32;\n\tand.b32 %r5, %r4, 262112;\n\tshr.u32 %r6, %r5, 4;\n\tcvt.u64.u32 %rd1, %r6;\n\t"
    "or.b64 %rd2, %rd1, 4611686293305360384;\n\twgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
    "{%f0, %f1, %f2, %f3}, %rd2, %rd2, 1, 1, 1, 0, 0;",
    after="descriptor(r[1], 32, mask=262112, temps=[*r[4:7], rd[1], rd[2]])",
    find=find,
    behind="repeat",
)
