"""Matching of waits and arrivals on a ring's mbarriers, together with the computation of the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_arch_hopper.sugar.ring_addresses import distance_behind, place_in_front, steps_text
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.rules.wait_shapes import waits
from pyptx_transpile.rules.waits import common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_arch_hopper.sugar.ring_addresses import StageAddress
    from pyptx_ir.syntax import nodes
    from pyptx_transpile.reading.rows import Body
    from pyptx_transpile.rules.wait_shapes import WaitMatch
    from pyptx_transpile.rules.waits import Options

__all__ = ["Arrival", "RingWait", "Said", "arrivals", "ring_waits"]

Said: TypeAlias = "tuple[int, str, Options]"
"""Properties that define an mbarrier ring: offset, opcodes of the stage address computation, and wait options."""
_ARRIVES: dict[tuple[str, ...], str] = {
    ("mbarrier", "arrive", "shared::cta", "b64"): "arrive",
    ("mbarrier", "arrive", "expect_tx", "shared::cta", "b64"): "arrive_expect_tx",
}


@dataclass(frozen=True, slots=True)
class RingWait:
    """A wait on the mbarrier of a pipeline stage.

    `phase` is the instruction between address computation and poll that computes the phase, or None.
    """

    found: WaitMatch
    place: StageAddress
    phase: nodes.Instruction | None

    @property
    def said(self) -> Said:
        """Properties of the mbarrier ring on which the thread waits; waits on one ring have equal properties."""
        return self.place.offset, steps_text(self.place), common(self.found)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrival, without a state operand, at a pipeline stage's mbarrier: the instruction with index `at`.

    `count` is the instruction between address and arrival that computes the count operand, if any.
    """

    at: int
    node: nodes.Instruction
    place: StageAddress
    count: nodes.Instruction | None

    @property
    def method(self) -> str:
        """Name of the method that emits the arrival, such as `arrive`."""
        return _ARRIVES[self.node.opcode]

    @property
    def said(self) -> Said:
        """Properties of the mbarrier ring at which the thread arrives, for a ring without waits."""
        return self.place.offset, steps_text(self.place), ()


def ring_waits(body: Body) -> Iterator[RingWait]:
    """Yield the mbarrier waits of a function body whose address is computed directly before the wait."""
    for found in waits(body):
        if found.computed or body.deviates(found.start):
            continue
        phase = _written_by(body, found.start - 1, found.operands["phase"])
        place = place_in_front(body, found.start - (phase is not None), found.operands["mbar"])
        if place is not None:
            yield RingWait(found, place, phase)


def arrivals(body: Body) -> Iterator[Arrival]:
    """Yield the arrivals directly preceded by the instructions (all, or the last) that compute the mbarrier address."""
    for at in body.places("mbarrier"):
        node = body.branch(at)
        if node.opcode not in _ARRIVES or body.deviates(at):
            continue
        state, mbar, *counts = node.operands
        if not isinstance(state, tree.Sink):
            continue
        count = _written_by(body, at - 1, counts[0]) if counts else None
        end = at - (count is not None)
        place = place_in_front(body, end, mbar) or distance_behind(body, end, mbar)
        if place is not None:
            yield Arrival(at, node, place, count)


def _written_by(body: Body, at: int, operand: tree.Operand) -> nodes.Instruction | None:
    """Return the instruction at an index if it computes `operand` without a guard; else None."""
    node = body.instruction(at) if at >= body.start and not body.deviates(at) else None
    if node is None or node.guard is not None or not node.operands:
        return None
    return node if node.operands[0] == operand else None
