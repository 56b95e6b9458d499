"""f32 arithmetic with f16 or bf16 inputs. Manual: "Mixed Precision Floating Point Instructions" (9.7.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.single import single
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.floating_point import finished
from pyptx_sim.semantics.operations import operation

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation


def _row(name: str) -> Semantics:
    """Return the `Semantics` row of an f32 operation; its last input is f32, the other inputs are f16 or bf16."""

    def bind(form: Bound) -> Operation:
        half = HALVES.get(form.type_of("a"))
        if half is None:
            raise NoSemantics(form.instruction, "only scalar operands are supported")
        widen = half.widen
        core = finished(single(name, form.word("rnd") or "rn"), sat="sat" in form.words)

        def compute(*sources: Array) -> Array:
            return core(*map(widen, sources[:-1]), sources[-1])

        return operation(form, compute)

    return Semantics(name, bind, manual=f"{name} (mixed precision)")


ROWS = (_row("add"), _row("sub"), _row("fma"))
