"""Transpiler rule: instructions that advance a stage index and flip the phase become `next_stage(r[1], r[2])`.

The matched instructions are consecutive, in one of the orders of `ptx.mbarrier.advance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.instructions.groups.stage_advances import COMPARED, ORDERS
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

__all__ = ["ADVANCE", "find"]

# Names of Python variables that transpiled kernels may use for functions that advance to the next pipeline stage.
_NAMES = ("next_stage", "next_stage_2", "next_stage_3")
_ZERO, _ONE = tree.Immediate("0"), tree.Immediate("1")
Said: TypeAlias = "tuple[int, str]"
"""Number of pipeline stages, and opcodes of the instructions that advance to the next stage."""


@dataclass(frozen=True, slots=True)
class _Advance:
    """Matched instructions that advance to the next pipeline stage: index of the first one, and their operands."""

    start: int
    steps: tuple[nodes.Instruction, ...]
    stages: int
    stage: tree.Operand
    phase: tree.Operand | None

    @property
    def said(self) -> Said:
        """Number of pipeline stages and opcodes of the instructions; equal ones in the PTX module share a variable."""
        return self.stages, " ".join([".".join(node.opcode) for node in self.steps])


@dataclass(slots=True)
class _Reading:
    """Partial match of an advance to the next pipeline stage: operands of the instructions matched so far."""

    stage: tree.Operand
    next: tree.Operand
    stages: int = 0
    wraps: tree.Operand | None = None
    flips: tree.Operand | None = None
    phase: tree.Operand | None = None

    def takes(self, node: nodes.Instruction, *, flips: bool) -> bool:
        """Match an instruction after the first one; return whether it continues the advance to the next pipeline stage.

        `flips`: the instruction selects the value (1 or 0) that is XORed into the phase.
        """
        match node:
            case nodes.Instruction(("setp", relation, _), (wraps, following, tree.Immediate(text))) if (
                relation in COMPARED and following == self.next and text.isdecimal()
            ):
                self.wraps, self.stages = wraps, int(text) - COMPARED[relation]
                return self.stages > 0 and isinstance(wraps, tree.Register)
            case nodes.Instruction(("selp", *_), (result, one, zero, wraps)) if flips and wraps == self.wraps:
                self.flips = result
                return one == _ONE and zero == _ZERO
            case nodes.Instruction(("selp", *_), (_, zero, following, wraps)) if wraps == self.wraps:
                return zero == _ZERO and following == self.next
            case nodes.Instruction(("xor", *_), (_, phase, by)) if by == self.flips:
                self.phase = phase
                return isinstance(phase, tree.Register)
            case _:
                return False


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each matched advance to the next pipeline stage."""
    named = body.row.derived(_named)
    for found in _advances(body):
        constant = named.get(found.said)
        if constant is not None and plan.in_turn(found.start) == plan.in_turn(found.start + len(found.steps) - 1):
            yield _rewrite(found, constant)


def _advances(body: Body) -> Iterator[_Advance]:
    """Yield the advances to the next pipeline stage in a function body; each match is as long as possible."""
    for at in body.places("add"):
        match body.branch(at):
            case nodes.Instruction(("add", _), (result, tree.Register() as stage, one), None) if one == _ONE:
                found = (_read(body, at, order, _Reading(stage, result)) for order in ORDERS)
                yield from list(filter(None, found))[:1]
            case _:
                pass


def _read(body: Body, at: int, order: tuple[str, ...], reading: _Reading) -> _Advance | None:
    """Return the pipeline stage advance that starts at instruction `at`, with the mnemonics in `order`; else None."""
    places = range(at, at + len(order))
    if places.stop > body.end or any(map(body.deviates, places[1:])):
        return None
    steps = [node for each in places if (node := body.instruction(each)) is not None and node.guard is None]
    if tuple([node.opcode[0] for node in steps]) != order:
        return None
    flips = [following == "xor" for following in (*order[1:], "")]
    if not all(reading.takes(node, flips=flip) for node, flip in zip(steps[1:], flips[1:], strict=True)):
        return None
    return _Advance(at, tuple(steps), reading.stages, reading.stage, reading.phase)


def _rewrite(found: _Advance, constant: Constant) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(found.start)
        given = [found.stage] if found.phase is None else [found.stage, found.phase]
        temps = printer.values.vector(tuple([node.operands[0] for node in found.steps]), ())
        printer.page.say(call(constant.name, [*map(printer.values.expression, given), f"temps={temps}"]))

    end = found.start + len(found.steps)
    return Rewrite("advance", found.start, end, write, opens=0, shared=(constant,), like=found.said)


def _named(row: Row) -> dict[Said, Constant]:
    """Return a Python variable for each number of stages and opcodes of the stage advances in a PTX module."""
    shared = dict.fromkeys(found.said for body in row.bodies() for found in _advances(body))
    return {said: Constant(name, _partial(*said)) for name, said in zip(_NAMES, shared, strict=False)}


def _partial(stages: int, steps: str) -> Expression:
    return call("partial", ["ptx.mbarrier.advance", f"stages={stages}", f"steps={quoted(steps)}"])


ADVANCE = SugarRule(
    name="advance",
    summary="the advance to the next stage of a ring, with the phase flip after the last stage",
    before="add.s32 %r4, %r1, 1;\n\tsetp.eq.s32 %p1, %r4, 3;\n\tselp.b32 %r1, 0, %r4, %p1;\n\t"
    "selp.b32 %r5, 1, 0, %p1;\n\txor.b32 %r2, %r2, %r5;",
    after="next_stage(r[1], r[2], temps=[r[4], p[1], r[1], r[5], r[2]])",
    find=find,
    behind="repeat",
)
