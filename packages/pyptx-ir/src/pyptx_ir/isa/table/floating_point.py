"""Manual: "Floating Point Instructions", "Half Precision Floating Point Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import BRAINS, HALVES, ROUNDINGS

FLOATS = ("f32", "f64")
TESTS = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def _arithmetic(name: str) -> tuple[InstructionRow, ...]:
    """Return the floating-point forms of add, sub or mul."""
    full = f"{name} (floating point)"
    return (
        row(f"{name}{{.rnd}}{{.ftz}}{{.sat}}.f32 d, a, b", rnd=ROUNDINGS, manual=full),
        row(f"{name}{{.rnd}}.f64 d, a, b", rnd=ROUNDINGS, manual=full),
        row(f"{name}{{.rnd}}{{.ftz}}.f32x2 d, a, b", rnd=ROUNDINGS, since=ptx(8, 6), targets=("sm_100",), manual=full),
        *_half_product(name),
    )


def _half_product(name: str) -> tuple[InstructionRow, ...]:
    """Return the f16 and bf16 forms of add, sub or mul."""
    return (
        row(
            f"{name}{{.rn}}{{.ftz}}{{.sat}}.type d, a, b",
            type=HALVES,
            since=ptx(4, 2),
            targets=("sm_53",),
            manual=f"{name} (half precision)",
        ),
        row(
            f"{name}{{.rn}}.type d, a, b",
            type=BRAINS,
            since=ptx(7, 8),
            targets=("sm_90",),
            manual=f"{name} (half precision)",
        ),
    )


def _extremum(name: str) -> tuple[InstructionRow, ...]:
    """Return the floating-point forms of min or max."""
    full, half = f"{name} (floating point)", f"{name} (half precision)"
    return (
        row(f"{name}{{.ftz}}.f32 d, a, b", manual=full),
        row(f"{name}{{.ftz}}.NaN.f32 d, a, b", since=ptx(7, 0), targets=("sm_80",), manual=full),
        row(f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.f32 d, a, b", since=ptx(7, 2), targets=("sm_86",), manual=full),
        row(f"{name}.f64 d, a, b", manual=full),
        row(f"{name}{{.ftz}}{{.NaN}}{{.abs}}.f32 d, a, b, c", since=ptx(8, 8), targets=("sm_100",), manual=full),
        row(f"{name}{{.ftz}}{{.NaN}}.type d, a, b", type=HALVES, since=ptx(7, 0), targets=("sm_80",), manual=half),
        row(f"{name}{{.NaN}}.type d, a, b", type=BRAINS, since=ptx(7, 0), targets=("sm_80",), manual=half),
        row(
            f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.type d, a, b",
            type=HALVES,
            since=ptx(7, 2),
            targets=("sm_86",),
            manual=half,
        ),
        row(f"{name}{{.NaN}}.xorsign.abs.type d, a, b", type=BRAINS, since=ptx(7, 2), targets=("sm_86",), manual=half),
    )


def _sign(name: str, since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the floating-point forms of abs or neg."""
    full, half = f"{name} (floating point)", f"{name} (half precision)"
    return (
        row(f"{name}{{.ftz}}.f32 d, a", manual=full),
        row(f"{name}.f64 d, a", manual=full),
        row(f"{name}{{.ftz}}.type d, a", type=HALVES, since=since, targets=("sm_53",), manual=half),
        row(f"{name}.type d, a", type=BRAINS, since=ptx(7, 0), targets=("sm_80",), manual=half),
    )


def _root(name: str) -> tuple[InstructionRow, ...]:
    """Return the forms that rcp and sqrt have in common."""
    return (
        row(f"{name}.approx{{.ftz}}.f32 d, a", manual=name),
        row(f"{name}.rnd{{.ftz}}.f32 d, a", rnd=ROUNDINGS, manual=name),
        row(f"{name}.rnd.f64 d, a", rnd=ROUNDINGS, manual=name),
    )


SUMMARIES = {
    "Arithmetic": {
        "fma": "Multiply two floating-point numbers and add a third number, with one rounding at the end.",
    },
    "Floating point": {
        "testp": "Test whether a floating-point value is finite, infinite, not NaN, NaN, normal or subnormal.",
        "copysign": "Combine the sign of the first number with the magnitude of the second number.",
        "rcp": "Take the reciprocal of a number, rounded or approximate (1 ulp).",
        "rcp.approx.ftz.f64": "Approximate the reciprocal of a double, from its upper 32 bits.",
        "sqrt": "Take the square root of a number, rounded or approximate.",
        "rsqrt": "Approximate the reciprocal of the square root of a number (relative error 2^-22.9).",
        "rsqrt.approx.ftz.f64": "Approximate the reciprocal square root of a double, from its upper 32 bits.",
        "sin": "Approximate the sine of an angle in radians (absolute error 2^-20.5 within a period).",
        "cos": "Approximate the cosine of an angle in radians (absolute error 2^-20.5 within a period).",
        "lg2": "Approximate the base-2 logarithm of a number (absolute error 2^-22 near 1).",
        "ex2": "Approximate 2 to the power of a number (f32: 2 ulp).",
        "tanh": "Approximate the hyperbolic tangent of a number (f32: relative error 2^-11).",
    },
}

ROWS = summarised(
    SUMMARIES,
    row("testp.op.type p, a", op=TESTS, type=FLOATS, since=ptx(2, 0), manual="testp"),
    row("copysign.type d, a, b", type=FLOATS, since=ptx(2, 0), manual="copysign"),
    *_arithmetic("add"),
    *_arithmetic("sub"),
    *_arithmetic("mul"),
    row("fma.rnd{.ftz}{.sat}.f32 d, a, b, c", rnd=ROUNDINGS, since=ptx(2, 0), manual="fma"),
    row("fma.rnd.f64 d, a, b, c", rnd=ROUNDINGS, manual="fma"),
    row("fma.rnd{.ftz}.f32x2 d, a, b, c", rnd=ROUNDINGS, since=ptx(8, 6), targets=("sm_100",), manual="fma"),
    row(
        "fma.rn{.ftz}{.sat}.type d, a, b, c",
        type=HALVES,
        since=ptx(4, 2),
        targets=("sm_53",),
        manual="fma (half precision)",
    ),
    row(
        "fma.rn{.ftz}.relu.type d, a, b, c",
        type=HALVES,
        since=ptx(7, 0),
        targets=("sm_80",),
        manual="fma (half precision)",
    ),
    row(
        "fma.rn{.relu}.type d, a, b, c", type=BRAINS, since=ptx(7, 0), targets=("sm_80",), manual="fma (half precision)"
    ),
    row(
        "fma.rn.oob{.relu}.type d, a, b, c",
        type=(*HALVES, *BRAINS),
        since=ptx(8, 1),
        targets=("sm_90",),
        manual="fma (half precision)",
    ),
    row("mad.rnd{.ftz}{.sat}.f32 d, a, b, c", rnd=ROUNDINGS, manual="mad (floating point)"),
    row("mad.rnd.f64 d, a, b, c", rnd=ROUNDINGS, manual="mad (floating point)"),
    row("div.approx{.ftz}.f32 d, a, b", since=ptx(1, 4), manual="div (floating point)"),
    row("div.full{.ftz}.f32 d, a, b", leading=True, since=ptx(1, 4), manual="div (floating point)"),
    row("div.rnd{.ftz}.f32 d, a, b", rnd=ROUNDINGS, since=ptx(1, 4), manual="div (floating point)"),
    row("div.rnd.f64 d, a, b", rnd=ROUNDINGS, manual="div (floating point)"),
    *_sign("abs", ptx(6, 5)),
    *_sign("neg", ptx(6, 0)),
    *_extremum("min"),
    *_extremum("max"),
    *_root("rcp"),
    row("rcp.approx.ftz.f64 d, a", since=ptx(2, 1), manual="rcp.approx.ftz.f64"),
    *_root("sqrt"),
    row("rsqrt.approx{.ftz}.f32 d, a", manual="rsqrt"),
    row("rsqrt.approx.f64 d, a", manual="rsqrt"),
    row("rsqrt.approx.ftz.f64 d, a", manual="rsqrt", instruction="rsqrt.approx.ftz.f64"),
    row("sin.approx{.ftz}.f32 d, a", since=ptx(1, 4), manual="sin"),
    row("cos.approx{.ftz}.f32 d, a", since=ptx(1, 4), manual="cos"),
    row("lg2.approx{.ftz}.f32 d, a", since=ptx(1, 4), manual="lg2"),
    row("ex2.approx{.ftz}.f32 d, a", since=ptx(1, 4), manual="ex2"),
    row("ex2.approx.type d, a", type=HALVES, since=ptx(7, 0), targets=("sm_75",), manual="ex2 (half precision)"),
    row("ex2.approx.ftz.type d, a", type=BRAINS, since=ptx(7, 8), targets=("sm_90",), manual="ex2 (half precision)"),
    row("tanh.approx.f32 d, a", since=ptx(7, 0), targets=("sm_75",), manual="tanh"),
    row("tanh.approx.type d, a", type=HALVES, since=ptx(7, 0), targets=("sm_75",), manual="tanh (half precision)"),
    row("tanh.approx.type d, a", type=BRAINS, since=ptx(7, 8), targets=("sm_90",), manual="tanh (half precision)"),
)
