"""Transpiler rule: a pipeline stage's mbarrier address, and the wait or arrival, become one call on an mbarrier ring.

`full.at(stage).wait(phase)`, `empty.at(stage).arrive(…)`. The computation of the address must directly precede the wait
or arrival, except for one instruction that computes the phase or count, which becomes the argument. If the address is
computed elsewhere (compilers hoist the computation out of loops), the computation and the wait or arrival are printed
unchanged. If only the last `add` of the computation precedes the arrival, the mbarrier is `empty.behind(place)`, where
`place` is the value to which this `add` adds the ring's offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.sugar.ring_names import rings
from pyptx_arch_hopper.sugar.ring_uses import arrivals, ring_waits
from pyptx_dsl.instructions.groups.wait_forms import FORMS
from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import call
from pyptx_transpile.rules.waits import common, keywords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_arch_hopper.sugar.ring_addresses import StageAddress
    from pyptx_arch_hopper.sugar.ring_names import Rings
    from pyptx_arch_hopper.sugar.ring_uses import Arrival, RingWait
    from pyptx_ir.syntax import nodes
    from pyptx_ir.syntax import operands as tree
    from pyptx_transpile.planning.plan import Constant, RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

__all__ = ["ARRIVAL", "RING", "find_arrivals", "find_waits"]


def find_waits(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each wait and the computation of its mbarrier address."""
    named = body.row.derived(rings)
    for ring in ring_waits(body):
        constant = named.get(ring.said)
        if constant is not None:
            yield _wait(ring, constant)


def find_arrivals(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each arrival with the instructions (all, or the last) that compute its mbarrier address."""
    named = body.row.derived(rings)
    for arrival in arrivals(body):
        constant = _ring_of(arrival, named)
        if constant is not None and plan.in_turn(arrival.at) == plan.in_turn(arrival.place.start):
            yield _arrive(arrival, constant)


def _ring_of(arrival: Arrival, named: Rings) -> Constant | None:
    """Return the first mbarrier ring whose address computation, or the last step of it, is that of the arrival."""
    place = arrival.place
    offset, steps, _ = arrival.said
    if place.stage is not None:
        return next((ring for said, ring in named.items() if said[:2] == (offset, steps)), None)
    return next((ring for said, ring in named.items() if said[0] == offset and _ends(said[1], steps)), None)


def _ends(steps: str, step: str) -> bool:
    """Return whether address computation `steps` ends with `step`, an add of the offset after the add of the base."""
    opcodes = steps.split()
    return opcodes[-1] == step and sum(each.startswith("add.") for each in opcodes) > 1


def _wait(ring: RingWait, constant: Constant) -> Rewrite:
    found = ring.found

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(ring.place.start)
        how = [_argument(printer, found.operands["phase"], ring.phase), *keywords(printer, found, common(found))]
        printer.page.say(call(f"{_barrier(printer, ring.place, constant)}.wait", how))

    loops = "again:" in FORMS[found.form].steps
    return Rewrite("ring", ring.place.start, found.end, write, opens=0, shared=(constant,), loops=loops, lines=1)


def _arrive(arrival: Arrival, constant: Constant) -> Rewrite:
    place = arrival.place

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(place.start)
        counts = [_argument(printer, each, arrival.count) for each in arrival.node.operands[2:]]
        guard = arrival.node.guard
        how = [*counts, 'state="_"', *([] if guard is None else [f"pred={printer.guard(guard)}"])]
        printer.page.say(call(f"{_barrier(printer, place, constant)}.{arrival.method}", how))

    like = constant.name, arrival.method, arrival.count is None, place.stage is None
    return Rewrite("arrival", place.start, arrival.at + 1, write, opens=0, shared=(constant,), like=like, lines=1)


def _barrier(printer: BodyPrinter, place: StageAddress, constant: Constant) -> str:
    """Return the Python expression for the mbarrier of a pipeline stage."""
    temps = printer.values.vector(tuple([node.operands[0] for node in place.steps]), ())
    base = printer.values.expression(place.base)
    if place.stage is None:
        return f"{constant.name}.behind({base}, {temps})"
    return f"{constant.name}.at({printer.values.expression(place.stage)}, {base}, {temps})"


def _argument(printer: BodyPrinter, operand: tree.Operand, computed: nodes.Instruction | None) -> str:
    """Return the Python expression of an operand, or of the instruction that computes the operand."""
    return printer.values.expression(operand) if computed is None else str(printer.called(computed))


_ADDRESS = "shl.b32 %r4, %r1, 3;\n\tadd.s32 %r5, %r2, %r4;\n\tadd.s32 %r6, %r5, 64;\n"
RING = SugarRule(
    name="ring",
    summary="a wait for a stage of a ring, with the address of its barrier",
    before=f"{_ADDRESS}$W:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r6], %r3;\n\t@!%p1 bra $W;",
    after='barriers.at(r[1], r[2], r[4:7]).wait(r[3], label="$W", done=p[1])',
    find=find_waits,
)
ARRIVAL = SugarRule(
    name="arrival",
    summary="an arrive at a stage of a ring, with the address of its barrier",
    before=f"{_ADDRESS}\tmbarrier.arrive.shared::cta.b64 _, [%r6];",
    after='empty.at(r[1], r[2], r[4:7]).arrive(state="_")',
    find=find_arrivals,
    behind="repeat",
)
