"""Conversions. Manual: "Data Movement and Conversion Instructions", cvt (9.7.9.21) and cvt.pack (9.7.9.22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.isa.scalar_types import is_float
from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics import casts
from pyptx_sim.numerics.clamping import saturated
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.semantics.conversion_packed import chain, limit, packed, rectify
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import operation
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation
    from pyptx_sim.semantics.conversion_packed import Bind, Step


def _widen(kind: str) -> Step | None:
    """Return the function that widens values of a 16-bit float type `kind` to float32; None for other types."""
    return HALVES[kind].widen if kind in HALVES else None


def _flush(form: Bound, kind: str) -> Step | None:
    return flushed if "ftz" in form.words and kind == "f32" else None


def _saturate(form: Bound) -> Step | None:
    return saturated if "sat" in form.words else None


def _is_floating(kind: str) -> bool:
    return is_float(kind) or kind in HALVES


def _between_integers(form: Bound) -> Operation:
    target = dtype_of(form.type_of("d"))
    if "sat" in form.words:
        return operation(form, lambda a: casts.clamped(a, target))
    return operation(form, lambda a: a.astype(target))


def _integer_to_float(form: Bound) -> Operation:
    target, mode = form.type_of("d"), form.word("frnd")
    if "sat" not in form.words:
        return operation(form, lambda a: casts.from_integer(a, target, mode))
    # With `.sat`, integers of at least 1 become 1.0, all other integers 0.
    return operation(form, lambda a: casts.from_float((a > 0).astype(np.float32), target, "rn"))


def _float_to_integer(form: Bound) -> Operation:
    source, target = form.type_of("a"), dtype_of(form.type_of("d"))
    bits = 8 * target.itemsize
    # NaN becomes 0; if the source is f64 or the destination has 64 bits, it becomes a number with only the top bit set.
    top = -(1 << (bits - 1)) if target.kind == "i" else 1 << (bits - 1)
    nan = top if source == "f64" or bits == 64 else 0
    integral = casts.INTEGRAL[form.word("irnd")]
    return operation(
        form, chain(_widen(source), _flush(form, source), integral, lambda v: casts.to_integer(v, target, nan))
    )


_CHANGES = frozenset({"ftz", "sat", "relu", "satfinite"})


def _between_floats(form: Bound) -> Operation:
    source, target = form.type_of("a"), form.type_of("d")
    if form.word("irnd"):
        return _integral_float(form)
    if source == target and _CHANGES.isdisjoint(form.words):
        return operation(form, lambda a: a)
    mode = form.word("frnd") or "rn"
    compute = chain(
        _widen(source),
        _flush(form, source),
        canonical if source in HALVES else None,
        _saturate(form) or rectify(form),
        limit(form, target),
        lambda v: casts.from_float(v, target, mode),
        _flush(form, target),
    )
    return operation(form, compute)


def _integral_float(form: Bound) -> Operation:
    """Return the `Operation` that rounds a float to an integral value of the same type."""
    kind = form.type_of("a")
    compute = chain(
        _widen(kind),
        _flush(form, kind),
        casts.INTEGRAL[form.word("irnd")],
        _saturate(form),
        lambda v: casts.from_float(v, kind, "rn"),
    )
    return operation(form, compute)


def _to_tf32(form: Bound) -> Operation:
    mode = form.word("frnd") or "rna"
    return operation(form, chain(rectify(form), limit(form, "tf32"), lambda v: casts.to_tf32(v, mode)))


# --- cvt.pack -----------------------------------------------------------------------------------


def _pack(form: Bound) -> Operation:
    """Return the `Operation` of cvt.pack: `b` is in the low bits, `a` above `b`, and low bits of `c` above `a`."""
    kind = form.word("dtype")
    size = int(kind[1:])
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if kind.startswith("s") else (0, (1 << size) - 1)
    field = np.uint32((1 << size) - 1)
    shift, both = np.uint32(size), np.uint32(2 * size)

    def convert(values: Array) -> Array:
        return np.clip(values, np.int32(low), np.int32(high)).view(np.uint32) & field

    def compute(a: Array, b: Array, *rest: Array) -> Array:
        pair = (convert(a) << shift) | convert(b)
        return pair | (rest[0] << both) if rest else pair

    return operation(form, compute)


# --- selection of the conversion ----------------------------------------------------------------


def _convert(form: Bound) -> Operation:
    source, target = form.type_of("a"), form.type_of("d")
    if "s2f6x2" in form.words and source != "s2f6x2":
        target = "s2f6x2"  # the `.b16` register contains two s2f6 values
    between = _between_scalars(source, target) or packed(source, target)
    if between is None or "pzo" in form.words or form.word("scaled") == _ONE_SCALE or form.word("frnd2") == "rz":
        raise NoSemantics(form.instruction)
    return between(form)


_ONE_SCALE: Final = "scaled::n1::ue8m0"
"""Scale modifier of conversions with two results; like `.pzo` (no negative zeros), it is not simulated."""


def _between_scalars(source: str, target: str) -> Bind | None:
    if packed_element(source) or packed_element(target):
        return None
    if target == "tf32":
        return _to_tf32
    if _is_floating(source):
        return _between_floats if _is_floating(target) else _float_to_integer
    return _integer_to_float if _is_floating(target) else _between_integers


ROWS = (
    Semantics("cvt", _convert),
    Semantics("cvt.pack", _pack),
)
