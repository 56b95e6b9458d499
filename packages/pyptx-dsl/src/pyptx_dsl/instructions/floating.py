"""Functions of floating-point numbers: reciprocals, roots, transcendental approximations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.wrapper import Binary, Unary, choice, form, ptx_type
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["copysign", "cos", "ex2", "lg2", "rcp", "rsqrt", "sin", "sqrt", "tanh", "testp"]

_ROUND = "rn rz rm rp"

rcp = Unary(
    "rcp",
    "Reciprocal: `d = 1 / a`, rounded to nearest unless `approx=True` (1 ulp).",
    "d, a",
    "Floating Point Instructions: rcp, rcp.approx.ftz.f64",
    form("rcp.rounding{.ftz}.type", "f32", rounding=_ROUND),
    form("rcp{.approx}{.ftz}.type", "f32"),
    form("rcp.rounding.type", "f64", rounding=_ROUND),
    form("rcp{.approx}.ftz.type", "f64"),
)

sqrt = Unary(
    "sqrt",
    "Square root, rounded to nearest unless `approx=True`.",
    "d, a",
    "Floating Point Instructions: sqrt",
    form("sqrt.rounding{.ftz}.type", "f32", rounding=_ROUND),
    form("sqrt{.approx}{.ftz}.type", "f32"),
    form("sqrt.rounding.type", "f64", rounding=_ROUND),
)

rsqrt = Unary(
    "rsqrt",
    "Approximate reciprocal of the square root (relative error 2^-22.9).",
    "d, a",
    "Floating Point Instructions: rsqrt, rsqrt.approx.ftz.f64",
    form("rsqrt.approx{.ftz}.type", "f32 f64"),
)

sin = Unary(
    "sin",
    "Approximate sine of radians (absolute error 2^-20.5 within a period).",
    "d, a",
    "Floating Point Instructions: sin",
    form("sin.approx{.ftz}.type", "f32"),
)

cos = Unary(
    "cos",
    "Approximate cosine of radians (absolute error 2^-20.5 within a period).",
    "d, a",
    "Floating Point Instructions: cos",
    form("cos.approx{.ftz}.type", "f32"),
)

lg2 = Unary(
    "lg2",
    "Approximate logarithm to the base 2 (absolute error 2^-22 near 1).",
    "d, a",
    "Floating Point Instructions: lg2",
    form("lg2.approx{.ftz}.type", "f32"),
)

ex2 = Unary(
    "ex2",
    "Approximate power of 2 (f32: 2 ulp).",
    "d, a",
    "Floating Point Instructions: ex2; Half Precision Floating Point Instructions: ex2",
    form("ex2.approx{.ftz}.type", "f32"),
    form("ex2.approx.type", "f16 f16x2"),
    form("ex2.approx.ftz.type", "bf16 bf16x2"),
)

tanh = Unary(
    "tanh",
    "Approximate hyperbolic tangent (f32: relative error 2^-11).",
    "d, a",
    "Floating Point Instructions: tanh; Half Precision Floating Point Instructions: tanh",
    form("tanh.approx.type", "f32 f16 f16x2 bf16 bf16x2"),
)

copysign = Binary(
    "copysign",
    "The magnitude of `b` with the sign of `a`.",
    "d, a, b",
    "Floating Point Instructions: copysign",
    form("copysign.type", "f32 f64"),
)

_CLASSES = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def testp(property: str, dtype: PtxType, pred_out: Reg, a: object, *, pred: Reg | None = None) -> Reg:  # noqa: A002, PT028  the manual's words
    """Emit `testp.property.type p, a;` and return `p`.

    `property` is `finite`, `infinite`, `number`, `notanumber`, `normal` or `subnormal`; the type is f32 or f64.
    Manual: "Floating Point Instructions: testp".
    """
    words = ("testp", choice("property", property, _CLASSES), ptx_type(dtype, "ptx.testp").name)
    active("ptx.testp").emit(words, (pred_out, a), pred)
    return pred_out
