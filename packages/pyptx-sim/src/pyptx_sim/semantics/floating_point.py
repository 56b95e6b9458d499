"""Single and double precision. Manual: "Floating Point Instructions" (9.7.3).

Single precision results that are NaN are the canonical one, those of `neg` and `abs` too, which the hardware executes
as additions; `copysign` touches the sign bit only. Double precision keeps payloads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics import approximate
from pyptx_sim.numerics.clamping import saturated
from pyptx_sim.numerics.double import double
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.packed import elementwise
from pyptx_sim.numerics.single import reciprocal, single, single_flushed
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import Unary, binary
from pyptx_sim.semantics.forms import ROUNDING, Bind, Match, form

Core: TypeAlias = Callable[..., Array]

_F32, _U64 = np.dtype(np.float32), np.dtype(np.uint64)


def finished(core: Core, *, sat: bool = False) -> Core:
    """Return float32 `core` with its result saturated or its NaNs made canonical."""
    last = saturated if sat else canonical
    return lambda *sources: last(core(*sources))


def _flushing(core: Core, *, ftz: bool) -> Core:
    """Return float32 `core` with canonical NaNs, and with inputs and results flushed if asked."""
    if not ftz:
        return finished(core)
    return lambda *sources: canonical(flushed(core(*map(flushed, sources))))


def _arithmetic(operation: str, arity: int) -> Bind:
    """Bind an IEEE operation in the rounding mode that the instruction names, or to nearest."""

    def bind(match: Match) -> Operation:
        match.expect_operands(arity + 1)
        kind, mode = match["type"], match["rnd"] or "rn"
        if kind == "f64":
            return Operation(("f64",), ("f64",) * arity, double(operation, mode))
        rounded = single_flushed(operation, mode) if "ftz" in match else single(operation, mode)
        core = finished(rounded, sat="sat" in match)
        if kind == "f32x2":
            core = elementwise(core, _F32, _U64)
        return Operation((kind,), (kind,) * arity, core)

    return bind


def _approximate(core: Core, arity: int = 1) -> Bind:
    def bind(match: Match) -> Operation:
        match.expect_operands(arity + 1)
        return Operation(("f32",), ("f32",) * arity, _flushing(core, ftz="ftz" in match))

    return bind


def _double(core: Core) -> Bind:
    def bind(match: Match) -> Operation:
        match.expect_operands(2)
        return Operation(("f64",), ("f64",), core)

    return bind


def _extreme(match: Match) -> Operation:
    """Bind min or max of two or three values."""
    kind = match["type"]
    arity = match.expect_operands(*((3,) if kind == "f64" or "xorsign" in match else (3, 4))) - 1
    if arity == 2 and ("abs" in match) != ("xorsign" in match):
        raise match.refuse(".xorsign and .abs of two inputs go together")
    core = Extreme(match.instruction.opcode[0] == "max", "NaN" in match, "abs" in match, "xorsign" in match)
    return Operation((kind,), (kind,) * arity, core if kind == "f64" else _flushing(core, ftz="ftz" in match))


def _sign(core: Core) -> Bind:
    """Bind neg or abs."""

    def bind(match: Match) -> Operation:
        match.expect_operands(2)
        kind = match["type"]
        return Operation((kind,), (kind,), core if kind == "f64" else _flushing(core, ftz="ftz" in match))

    return bind


def _copy_sign(match: Match) -> Operation:
    match.expect_operands(3)
    kind = match["type"]
    return binary(kind, (kind, kind), lambda a, b: np.copysign(b, a))


def _is_subnormal(a: Array) -> Array:
    result: Array = (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0)
    return result


_CLASSES: dict[str, Unary] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ~_is_subnormal(a),
    "subnormal": _is_subnormal,
}


def _test(match: Match) -> Operation:
    match.expect_operands(2)
    return Operation(("pred",), (match["type"],), _CLASSES[match["class"]])


_SINGLE = ("f32",)
_PAIR = ("f32x2",)
_DOUBLE = ("f64",)
_EITHER = ("f32", "f64")

FORMS = (
    form("testp.class.type", _test, **{"class": _CLASSES}, type=_EITHER),
    form("copysign.type", _copy_sign, type=_EITHER),
    form("add{.rnd}{.ftz}{.sat}.type", _arithmetic("add", 2), rnd=ROUNDING, type=_SINGLE),
    form("add{.rnd}{.ftz}.type", _arithmetic("add", 2), rnd=ROUNDING, type=_PAIR),
    form("add{.rnd}.type", _arithmetic("add", 2), rnd=ROUNDING, type=_DOUBLE),
    form("sub{.rnd}{.ftz}{.sat}.type", _arithmetic("sub", 2), rnd=ROUNDING, type=_SINGLE),
    form("sub{.rnd}{.ftz}.type", _arithmetic("sub", 2), rnd=ROUNDING, type=_PAIR),
    form("sub{.rnd}.type", _arithmetic("sub", 2), rnd=ROUNDING, type=_DOUBLE),
    form("mul{.rnd}{.ftz}{.sat}.type", _arithmetic("mul", 2), rnd=ROUNDING, type=_SINGLE),
    form("mul{.rnd}{.ftz}.type", _arithmetic("mul", 2), rnd=ROUNDING, type=_PAIR),
    form("mul{.rnd}.type", _arithmetic("mul", 2), rnd=ROUNDING, type=_DOUBLE),
    form("fma.rnd{.ftz}{.sat}.type", _arithmetic("fma", 3), rnd=ROUNDING, type=_SINGLE),
    form("fma.rnd{.ftz}.type", _arithmetic("fma", 3), rnd=ROUNDING, type=_PAIR),
    form("fma.rnd.type", _arithmetic("fma", 3), rnd=ROUNDING, type=_DOUBLE),
    form("mad{.rnd}{.ftz}{.sat}.type", _arithmetic("fma", 3), rnd=ROUNDING, type=_SINGLE),
    form("mad{.rnd}.type", _arithmetic("fma", 3), rnd=ROUNDING, type=_DOUBLE),
    form("div.rnd{.ftz}.type", _arithmetic("div", 2), rnd=ROUNDING, type=_SINGLE),
    form("div.rnd.type", _arithmetic("div", 2), rnd=ROUNDING, type=_DOUBLE),
    form("div.approx{.ftz}.f32", _approximate(approximate.divide, 2)),
    form("div.full{.ftz}.f32", _approximate(np.divide, 2)),
    form("rcp.rnd{.ftz}.type", _arithmetic("rcp", 1), rnd=ROUNDING, type=_SINGLE),
    form("rcp.rnd.type", _arithmetic("rcp", 1), rnd=ROUNDING, type=_DOUBLE),
    form("rcp.approx{.ftz}.f32", _approximate(reciprocal)),
    form("rcp.approx.ftz.f64", _double(approximate.reciprocal_high)),
    form("sqrt.rnd{.ftz}.type", _arithmetic("sqrt", 1), rnd=ROUNDING, type=_SINGLE),
    form("sqrt.rnd.type", _arithmetic("sqrt", 1), rnd=ROUNDING, type=_DOUBLE),
    form("sqrt.approx{.ftz}.f32", _approximate(np.sqrt)),
    form("rsqrt.approx{.ftz}.f32", _approximate(approximate.rsqrt)),
    form("rsqrt.approx.f64", _double(approximate.rsqrt)),
    form("rsqrt.approx.ftz.f64", _double(approximate.rsqrt_high)),
    form("sin.approx{.ftz}.f32", _approximate(np.sin)),
    form("cos.approx{.ftz}.f32", _approximate(np.cos)),
    form("lg2.approx{.ftz}.f32", _approximate(approximate.log2)),
    form("ex2.approx{.ftz}.f32", _approximate(approximate.exp2)),
    form("tanh.approx.f32", _approximate(approximate.tanh)),
    form("min{.ftz}{.NaN}{.xorsign}{.abs}.type", _extreme, type=_SINGLE),
    form("min.type", _extreme, type=_DOUBLE),
    form("max{.ftz}{.NaN}{.xorsign}{.abs}.type", _extreme, type=_SINGLE),
    form("max.type", _extreme, type=_DOUBLE),
    form("neg{.ftz}.type", _sign(np.negative), type=_SINGLE),
    form("neg.type", _sign(np.negative), type=_DOUBLE),
    form("abs{.ftz}.type", _sign(np.abs), type=_SINGLE),
    form("abs.type", _sign(np.abs), type=_DOUBLE),
)
