"""Single and double precision. Manual: "Floating Point Instructions" (9.7.3).

Single precision NaN results are canonical, including those of `neg` and `abs`, which the hardware executes as
additions; `copysign` changes the sign bit only. Double precision keeps payloads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics import approximate, transcendental
from pyptx_sim.numerics.clamping import saturated
from pyptx_sim.numerics.double import double
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.packed import elementwise
from pyptx_sim.numerics.single import reciprocal, single, single_flushed
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.operations import operation
from pyptx_sim.types import packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Core: TypeAlias = Callable[..., Array]
Bind: TypeAlias = "Callable[[Bound], Operation]"

_F32, _U64 = np.dtype(np.float32), np.dtype(np.uint64)


def finished(core: Core, *, sat: bool = False) -> Core:
    """Wrap float32 function `core`: saturate its result if `sat`, else replace NaNs by the canonical NaN."""
    last = saturated if sat else canonical
    return lambda *sources: last(core(*sources))


def _lanewise(form: Bound, core: Core) -> Operation:
    """Return the `Operation` of function `core`; in float32, NaNs are canonical, and `.ftz` flushes subnormals."""
    if form.type_of("a") == "f64":
        return operation(form, core)
    if "ftz" not in form.words:
        return operation(form, finished(core))
    return operation(form, lambda *sources: canonical(flushed(core(*map(flushed, sources)))))


def _each(core: Core) -> Bind:
    return lambda form: _lanewise(form, core)


def _arithmetic(name: str) -> Bind:
    """Return the function that binds IEEE operation `name` to an `Operation`, in the form's rounding mode or `rn`."""

    def bind(form: Bound) -> Operation:
        mode = form.word("rnd") or "rn"
        if form.type_of("d") == "f64":
            return operation(form, double(name, mode))
        rounded = single_flushed(name, mode) if "ftz" in form.words else single(name, mode)
        core = finished(rounded, sat="sat" in form.words)
        return operation(form, elementwise(core, _F32, _U64) if packed_element(form.type_of("d")) else core)

    return bind


def _or_approximate(name: str, single_core: Core, double_core: Core | None = None) -> Bind:
    """Return a binding function: to IEEE operation `name` if the form has a rounding mode, else to `single_core`.

    `double_core`: the approximate function for f64.
    """
    rounded = _arithmetic(name)

    def bind(form: Bound) -> Operation:
        if form.word("rnd"):
            return rounded(form)
        return _lanewise(form, double_core if double_core and form.type_of("d") == "f64" else single_core)

    return bind


def _divide(form: Bound) -> Operation:
    if form.word("rnd"):
        return _arithmetic("div")(form)
    return _lanewise(form, np.divide if "full" in form.words else approximate.divide)


def _reciprocal_root(form: Bound) -> Operation:
    if form.type_of("d") == "f64" and "ftz" in form.words:
        return operation(form, approximate.rsqrt_high)
    return _lanewise(form, approximate.rsqrt)


def _extreme(*, largest: bool) -> Bind:
    """Return the function that binds min or max, of two or three values, to an `Operation`."""

    def bind(form: Bound) -> Operation:
        return _lanewise(form, Extreme(largest, "NaN" in form.words, "abs" in form.words, "xorsign" in form.words))

    return bind


def _copy_sign(a: Array, b: Array) -> Array:
    return np.copysign(b, a)


def _is_subnormal(a: Array) -> Array:
    result: Array = (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0)
    return result


_TESTS: dict[str, Core] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ~_is_subnormal(a),
    "subnormal": _is_subnormal,
}


def _test(form: Bound) -> Operation:
    return operation(form, _TESTS[form.word("op")])


ROWS = (
    Semantics("testp", _test),
    Semantics("copysign", compute=_copy_sign),
    Semantics("add", _arithmetic("add"), manual="add (floating point)"),
    Semantics("sub", _arithmetic("sub"), manual="sub (floating point)"),
    Semantics("mul", _arithmetic("mul"), manual="mul (floating point)"),
    Semantics("mad", _arithmetic("fma"), manual="mad (floating point)"),
    Semantics("fma", _arithmetic("fma"), manual="fma"),
    Semantics("div", _divide, manual="div (floating point)"),
    Semantics("rcp", _or_approximate("rcp", reciprocal, approximate.reciprocal_high)),
    Semantics("sqrt", _or_approximate("sqrt", np.sqrt)),
    Semantics("rsqrt", _reciprocal_root),
    Semantics("sin", _each(transcendental.sin)),
    Semantics("cos", _each(transcendental.cos)),
    Semantics("lg2", _each(transcendental.log2)),
    Semantics("ex2", _each(transcendental.exp2), manual="ex2"),
    Semantics("tanh", _each(transcendental.tanh), manual="tanh"),
    Semantics("min", _extreme(largest=False), manual="min (floating point)"),
    Semantics("max", _extreme(largest=True), manual="max (floating point)"),
    Semantics("neg", _each(np.negative), manual="neg (floating point)"),
    Semantics("abs", _each(np.abs), manual="abs (floating point)"),
)
