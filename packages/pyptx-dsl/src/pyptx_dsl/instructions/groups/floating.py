"""Floating-point instructions: reciprocals, square roots, approximate transcendental functions, `testp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice
from pyptx_dsl.instructions.forms.wrapper import Binary, Unary
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["copysign", "cos", "ex2", "lg2", "rcp", "rsqrt", "sin", "sqrt", "tanh", "testp"]

rcp = Unary("rcp")

sqrt = Unary("sqrt")

rsqrt = Unary("rsqrt")

sin = Unary("sin")

cos = Unary("cos")

lg2 = Unary("lg2")

ex2 = Unary("ex2")

tanh = Unary("tanh")

copysign = Binary("copysign")

_TEST = InstructionForms("ptx.testp", "testp")


@emits(property="op")
def testp(property: str, dtype: PtxType, pred_out: Reg, a: object, *, pred: Reg | None = None) -> Reg:  # noqa: A002, PT028  the manual's words
    """Emit `testp.property.type p, a;` and return `p`.

    `property` is `finite`, `infinite`, `number`, `notanumber`, `normal` or `subnormal`; the type is f32 or f64.
    Manual: "Floating Point Instructions: testp".
    """
    choice("property", property, _TEST.choices("op"))
    active("ptx.testp").emit(_TEST.words(dtype, op=property), (pred_out, a), pred)
    return pred_out
