"""Conversions. Manual: "Data Movement and Conversion Instructions", cvt (9.7.9.21) and cvt.pack (9.7.9.22).

Not simulated: stochastic rounding (`.rs`) and the scaled formats, whose rounding the manual leaves to Blackwell's own
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.isa.scalar_types import is_float
from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics import casts
from pyptx_sim.numerics.clamping import rectified, saturated
from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES
from pyptx_sim.numerics.minifloats import MINIFLOATS, Minifloat, decode, encode
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.operations import operation
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Step: TypeAlias = Callable[[Array], Array]
Bind: TypeAlias = "Callable[[Bound], Operation]"


def _chain(*steps: Step | None) -> Step:
    """Return the steps one after the other; None is no step."""
    present = tuple(step for step in steps if step is not None)
    if len(present) == 1:
        return present[0]

    def run(values: Array) -> Array:
        for step in present:
            values = step(values)
        return values

    return run


def _widen(kind: str) -> Step | None:
    """Return what turns a register of `kind` into floats to compute with."""
    return HALVES[kind].widen if kind in HALVES else None


def _flush(form: Bound, kind: str) -> Step | None:
    return flushed if "ftz" in form.words and kind == "f32" else None


def _limit(form: Bound, kind: str) -> Step | None:
    return (lambda values: casts.limited(values, kind)) if "satfinite" in form.words else None


def _rectify(form: Bound) -> Step | None:
    return rectified if "relu" in form.words else None


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
    # Every integer from 1 up becomes 1, and every other one 0.
    return operation(form, lambda a: casts.from_float((a > 0).astype(np.float32), target, "rn"))


def _float_to_integer(form: Bound) -> Operation:
    source, target = form.type_of("a"), dtype_of(form.type_of("d"))
    bits = 8 * target.itemsize
    # NaN: zero, unless a 64-bit type takes part; then only the top bit is set.
    top = -(1 << (bits - 1)) if target.kind == "i" else 1 << (bits - 1)
    nan = top if source == "f64" or bits == 64 else 0
    integral = casts.INTEGRAL[form.word("irnd")]
    return operation(
        form, _chain(_widen(source), _flush(form, source), integral, lambda v: casts.to_integer(v, target, nan))
    )


_CHANGES = frozenset({"ftz", "sat", "relu", "satfinite"})


def _between_floats(form: Bound) -> Operation:
    source, target = form.type_of("a"), form.type_of("d")
    if form.word("irnd"):
        return _integral_float(form)
    if source == target and _CHANGES.isdisjoint(form.words):
        return operation(form, lambda a: a)
    mode = form.word("frnd") or "rn"
    compute = _chain(
        _widen(source),
        _flush(form, source),
        canonical if source in HALVES else None,
        _saturate(form) or _rectify(form),
        _limit(form, target),
        lambda v: casts.from_float(v, target, mode),
        _flush(form, target),
    )
    return operation(form, compute)


def _integral_float(form: Bound) -> Operation:
    """Bind the conversion of a float to an integral one of the same type."""
    kind = form.type_of("a")
    compute = _chain(
        _widen(kind),
        _flush(form, kind),
        casts.INTEGRAL[form.word("irnd")],
        _saturate(form),
        lambda v: casts.from_float(v, kind, "rn"),
    )
    return operation(form, compute)


def _to_tf32(form: Bound) -> Operation:
    mode = form.word("frnd") or "rna"
    return operation(form, _chain(_rectify(form), _limit(form, "tf32"), lambda v: casts.to_tf32(v, mode)))


# --- pairs --------------------------------------------------------------------------------------


def _to_pair_of_halves(form: Bound) -> Operation:
    """Bind the conversion of two f32, the first to the upper half."""
    target, mode = form.type_of("d"), form.word("frnd")
    half = PACKED_HALVES[target]
    convert = _chain(_rectify(form), _limit(form, half.name), lambda v: casts.from_float(v, half.name, mode))
    register = dtype_of(target)

    def compute(a: Array, b: Array) -> Array:
        return join(np.stack(np.broadcast_arrays(convert(b), convert(a)), axis=-1), register)

    return operation(form, compute)


def _packed_codes(upper: Array, lower: Array, layout: Minifloat) -> Array:
    """Return two codes in one register: nibbles of a byte, or bytes of a half."""
    if layout.bits == 4:
        return (upper << np.uint8(4)) | lower
    return join(np.stack(np.broadcast_arrays(lower, upper), axis=-1), np.dtype("<u2"))


def _to_minifloats(form: Bound) -> Operation:
    """Bind the conversion of two f32, or of a packed pair of halves, to a pair of minifloats."""
    source, layout = form.type_of("a"), MINIFLOATS[packed_element(form.type_of("d"))]
    convert = _chain(_rectify(form), lambda values: encode(values, layout))
    if source == "f32":
        return operation(form, lambda a, b: _packed_codes(convert(a), convert(b), layout))
    half = PACKED_HALVES[source]

    def compute(a: Array) -> Array:
        codes = convert(half.widen(split(a, half.element)))
        return _packed_codes(codes[..., 1], codes[..., 0], layout)

    return operation(form, compute)


def _from_minifloats(form: Bound) -> Operation:
    layout = MINIFLOATS[packed_element(form.type_of("a"))]
    register = dtype_of(form.type_of("d"))
    relu = "relu" in form.words

    def compute(a: Array) -> Array:
        codes = (
            np.stack((a & np.uint8(15), a >> np.uint8(4)), axis=-1) if layout.bits == 4 else split(a, np.dtype("<u1"))
        )
        halves = decode(codes, layout)
        if relu:
            halves = np.where((halves & np.uint16(0x8000)) != 0, np.uint16(0), halves)
        return join(halves, register)

    return operation(form, compute)


def _from_exponents(form: Bound) -> Operation:
    """Bind ue8m0 to bf16: the code is the exponent field, 0 stands for 2^-127 and 255 for NaN."""

    def compute(a: Array) -> Array:
        codes = split(a, np.dtype("<u1")).astype(np.uint16)
        bits = np.where(codes == 0, np.uint16(0x0040), codes << np.uint16(7))
        return join(np.where(codes == 0xFF, np.uint16(0x7FFF), bits), np.dtype("<u4"))

    return operation(form, compute)


def _exponent_codes(values: Array, *, up: bool, satfinite: bool) -> Array:
    """Return the ue8m0 codes of float32 magnitudes: below 2^-127 is 0, and what is no finite number or too great 255.

    Signs are dropped. The manual leaves infinities and overflow open; this is what `cuda_fp8.hpp` computes for GPUs
    without the instruction.
    """
    magnitude = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0x7FFFFFFF)
    infinite = np.uint32(0x7F800000)
    codes = magnitude >> np.uint32(23)
    if up:
        between = (magnitude & np.uint32(0x7FFFFF) != 0) & (magnitude > np.uint32(0x400000)) & (magnitude < infinite)
        codes = codes + between
    if satfinite:
        codes = np.where(magnitude <= infinite, np.minimum(codes, np.uint32(0xFE)), codes)
    return codes.astype(np.uint8)


def _to_exponents(form: Bound) -> Operation:
    """Bind the conversion of two f32, or of a packed pair of bf16, to ue8m0."""
    up, satfinite = form.word("frnd3") == "rp", "satfinite" in form.words

    def joined(lower: Array, upper: Array) -> Array:
        codes = [_exponent_codes(values, up=up, satfinite=satfinite) for values in np.broadcast_arrays(lower, upper)]
        return join(np.stack(codes, axis=-1), np.dtype("<u2"))

    if form.type_of("a") == "f32":
        return operation(form, lambda a, b: joined(b, a))
    half = PACKED_HALVES[form.type_of("a")]

    def compute(a: Array) -> Array:
        values = half.widen(split(a, half.element))
        return joined(values[..., 0], values[..., 1])

    return operation(form, compute)


# --- cvt.pack -----------------------------------------------------------------------------------


def _pack(form: Bound) -> Operation:
    """Bind cvt.pack: `a` above `b`, and above both the lower bits of `c`."""
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


# --- which of them ------------------------------------------------------------------------------


def _convert(form: Bound) -> Operation:
    source, target = form.type_of("a"), form.type_of("d")
    between = _between_scalars(source, target) or _with_packed(source, target)
    if between is None or not form.words.keys().isdisjoint(_NOT_SIMULATED) or form.word("frnd2") == "rz":
        raise NoSemantics(form.instruction)
    return between(form)


# Stochastic rounding, scales, results without negative zeros, and fixed point.
_NOT_SIMULATED = frozenset({"rs", "scaled", "pzo", "s2f6x2"})


def _between_scalars(source: str, target: str) -> Bind | None:
    if packed_element(source) or packed_element(target):
        return None
    if target == "tf32":
        return _to_tf32
    if _is_floating(source):
        return _between_floats if _is_floating(target) else _float_to_integer
    return _integer_to_float if _is_floating(target) else _between_integers


def _with_packed(source: str, target: str) -> Bind | None:
    if target == "ue8m0x2":
        return _to_exponents
    if source == "ue8m0x2":
        return _from_exponents
    if target in PACKED_HALVES and source == "f32":
        return _to_pair_of_halves
    if packed_element(target) in MINIFLOATS:
        return _to_minifloats
    return _from_minifloats if packed_element(source) in MINIFLOATS and target == "f16x2" else None


ROWS = (
    Semantics("cvt", _convert),
    Semantics("cvt.pack", _pack),
)
