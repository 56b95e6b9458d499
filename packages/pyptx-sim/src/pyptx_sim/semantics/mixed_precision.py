"""f32 arithmetic with f16 or bf16 inputs. Manual: "Mixed Precision Floating Point Instructions" (9.7.5)."""

from __future__ import annotations

from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.single import single
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.floating_point import finished
from pyptx_sim.semantics.forms import ROUNDING, Bind, Match, form


def _widening(operation: str, halves: int) -> Bind:
    """Bind an operation whose first `halves` inputs are converted to f32; the last one is f32 already."""

    def bind(match: Match) -> Operation:
        match.expect_operands(halves + 2)
        widen = HALVES[match["atype"]].widen
        core = finished(single(operation, match["rnd"] or "rn"), sat="sat" in match)

        def compute(*sources: Array) -> Array:
            return core(*map(widen, sources[:-1]), sources[-1])

        return Operation(("f32",), (match["atype"],) * halves + ("f32",), compute)

    return bind


_HALF = tuple(HALVES)

FORMS = (
    form("add{.rnd}{.sat}.f32.atype", _widening("add", 1), rnd=ROUNDING, atype=_HALF),
    form("sub{.rnd}{.sat}.f32.atype", _widening("sub", 1), rnd=ROUNDING, atype=_HALF),
    form("fma.rnd{.sat}.f32.atype", _widening("fma", 2), rnd=ROUNDING, atype=_HALF),
)
