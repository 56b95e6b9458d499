"""Conversions. Manual: "Data Movement and Conversion Instructions", cvt (9.7.9.21) and cvt.pack (9.7.9.22).

Not simulated: stochastic rounding (`.rs`) and the scaled formats, whose rounding the manual leaves to Blackwell's own
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_ir.isa.scalar_types import WIDTHS
from pyptx_sim.numerics import casts
from pyptx_sim.numerics.clamping import rectified, saturated
from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES
from pyptx_sim.numerics.minifloats import MINIFLOATS, Minifloat, decode, encode
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import binary, unary
from pyptx_sim.semantics.forms import INTEGER_ROUNDING, ROUNDING, Match, form
from pyptx_sim.types import dtype_of

Step: TypeAlias = Callable[[Array], Array]

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")


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


def _flush(match: Match, kind: str) -> Step | None:
    return flushed if "ftz" in match and kind == "f32" else None


def _integers(match: Match) -> Operation:
    match.expect_operands(2)
    target = dtype_of(match["dtype"])
    compute: Step = (lambda a: casts.clamped(a, target)) if "sat" in match else (lambda a: a.astype(target))
    return Operation((match["dtype"],), (match["atype"],), compute)


def _integer_to_float(match: Match) -> Operation:
    match.expect_operands(2)
    target, mode = match["dtype"], match["frnd"]
    if "sat" not in match:
        return unary(target, match["atype"], lambda a: casts.from_integer(a, target, mode))
    # Every integer from 1 up becomes 1, and every other one 0.
    return unary(target, match["atype"], lambda a: casts.from_float((a > 0).astype(np.float32), target, "rn"))


def _float_to_integer(match: Match) -> Operation:
    match.expect_operands(2)
    source, kind = match["atype"], match["dtype"]
    target = dtype_of(kind)
    bits = 8 * target.itemsize
    # NaN: zero, unless a 64-bit type takes part; then only the top bit is set.
    top = -(1 << (bits - 1)) if kind.startswith("s") else 1 << (bits - 1)
    nan = top if source == "f64" or bits == 64 else 0
    integral = casts.INTEGRAL[match["irnd"]]
    compute = _chain(_widen(source), _flush(match, source), integral, lambda v: casts.to_integer(v, target, nan))
    return Operation((kind,), (source,), compute)


def _floats(match: Match) -> Operation:
    match.expect_operands(2)
    source, target, mode = match["atype"], match["dtype"], match["frnd"]
    if WIDTHS[target] < WIDTHS[source] and not mode:
        raise match.refuse("a conversion that loses digits names a rounding")
    if mode and source == target:
        raise match.refuse("nothing is rounded")
    if source == target and len(match.words) == 2:
        return unary(target, source, lambda a: a)
    clamp = saturated if "sat" in match else rectified if "relu" in match else None
    limit: Step | None = (lambda v: casts.limited(v, target)) if "satfinite" in match else None
    compute = _chain(
        _widen(source),
        _flush(match, source),
        canonical if source in HALVES else None,
        clamp,
        limit,
        lambda v: casts.from_float(v, target, mode or "rn"),
        _flush(match, target),
    )
    return Operation((target,), (source,), compute)


def _integral_float(match: Match) -> Operation:
    """Bind the conversion of a float to an integral one of the same type."""
    match.expect_operands(2)
    kind = match["atype"]
    if kind != match["dtype"]:
        raise match.refuse("a float is rounded to an integral value only within its type")
    clamp = saturated if "sat" in match else None
    compute = _chain(
        _widen(kind),
        _flush(match, kind),
        casts.INTEGRAL[match["irnd"]],
        clamp,
        lambda v: casts.from_float(v, kind, "rn"),
    )
    return Operation((kind,), (kind,), compute)


def _tf32(match: Match) -> Operation:
    match.expect_operands(2)
    mode = match["frnd"]
    limit: Step | None = (lambda v: casts.limited(v, "tf32")) if "satfinite" in match else None
    compute = _chain(rectified if "relu" in match else None, limit, lambda v: casts.to_tf32(v, mode))
    return Operation(("b32",), ("f32",), compute)


# --- pairs --------------------------------------------------------------------------------------


def _pair_of_halves(match: Match) -> Operation:
    """Bind the conversion of two f32, the first to the upper half."""
    match.expect_operands(3)
    target, mode = match["type"], match["frnd"]
    half = PACKED_HALVES[target]
    limit: Step | None = (lambda v: casts.limited(v, half.name)) if "satfinite" in match else None
    convert = _chain(rectified if "relu" in match else None, limit, lambda v: casts.from_float(v, half.name, mode))
    register = dtype_of(target)

    def compute(a: Array, b: Array) -> Array:
        return join(np.stack(np.broadcast_arrays(convert(b), convert(a)), axis=-1), register)

    return Operation((target,), ("f32", "f32"), compute)


def _packed_codes(upper: Array, lower: Array, layout: Minifloat) -> Array:
    """Return two codes in one register: nibbles of a byte, or bytes of a half."""
    if layout.bits == 4:
        return (upper << np.uint8(4)) | lower
    return join(np.stack(np.broadcast_arrays(lower, upper), axis=-1), np.dtype("<u2"))


def _to_minifloats(match: Match) -> Operation:
    """Bind the conversion of two f32, or of a packed pair of halves, to a pair of minifloats."""
    source, target = match["atype"], match["dtype"]
    match.expect_operands(3 if source == "f32" else 2)
    layout = MINIFLOATS[target.removesuffix("x2")]
    relu = rectified if "relu" in match else None
    convert = _chain(relu, lambda values: encode(values, layout))
    if source == "f32":
        return binary(target, ("f32", "f32"), lambda a, b: _packed_codes(convert(a), convert(b), layout))
    half = PACKED_HALVES[source]

    def compute(a: Array) -> Array:
        codes = convert(half.widen(split(a, half.element)))
        return _packed_codes(codes[..., 1], codes[..., 0], layout)

    return Operation((target,), (source,), compute)


def _from_minifloats(match: Match) -> Operation:
    match.expect_operands(2)
    source = match["atype"]
    layout = MINIFLOATS[source.removesuffix("x2")]
    register = dtype_of("f16x2")
    relu = "relu" in match

    def compute(a: Array) -> Array:
        codes = (
            np.stack((a & np.uint8(15), a >> np.uint8(4)), axis=-1) if layout.bits == 4 else split(a, np.dtype("<u1"))
        )
        halves = decode(codes, layout)
        if relu:
            halves = np.where((halves & np.uint16(0x8000)) != 0, np.uint16(0), halves)
        return join(halves, register)

    return Operation(("f16x2",), (source,), compute)


def _from_exponents(match: Match) -> Operation:
    """Bind ue8m0 to bf16: the code is the exponent field, 0 stands for 2^-127 and 255 for NaN."""
    match.expect_operands(2)

    def compute(a: Array) -> Array:
        codes = split(a, np.dtype("<u1")).astype(np.uint16)
        bits = np.where(codes == 0, np.uint16(0x0040), codes << np.uint16(7))
        return join(np.where(codes == 0xFF, np.uint16(0x7FFF), bits), np.dtype("<u4"))

    return Operation(("bf16x2",), ("ue8m0x2",), compute)


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


def _to_exponents(match: Match) -> Operation:
    """Bind the conversion of two f32, or of a packed pair of bf16, to ue8m0."""
    source = match["atype"]
    match.expect_operands(3 if source == "f32" else 2)
    up, satfinite = match["frnd"] == "rp", "satfinite" in match

    def joined(lower: Array, upper: Array) -> Array:
        codes = [_exponent_codes(values, up=up, satfinite=satfinite) for values in np.broadcast_arrays(lower, upper)]
        return join(np.stack(codes, axis=-1), np.dtype("<u2"))

    if source == "f32":
        return binary("ue8m0x2", ("f32", "f32"), lambda a, b: joined(b, a))
    half = PACKED_HALVES[source]

    def compute(a: Array) -> Array:
        values = half.widen(split(a, half.element))
        return joined(values[..., 0], values[..., 1])

    return Operation(("ue8m0x2",), (source,), compute)


# --- cvt.pack -----------------------------------------------------------------------------------


def _pack(match: Match) -> Operation:
    """Bind cvt.pack: `a` above `b`, and above both the lower bits of `c`."""
    kind = match["type"]
    size = int(kind[1:])
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if kind.startswith("s") else (0, (1 << size) - 1)
    field = np.uint32((1 << size) - 1)
    shift, both = np.uint32(size), np.uint32(2 * size)
    match.expect_operands(3 if size == 16 else 4)

    def convert(values: Array) -> Array:
        return np.clip(values, np.int32(low), np.int32(high)).view(np.uint32) & field

    def compute(a: Array, b: Array, *rest: Array) -> Array:
        pair = (convert(a) << shift) | convert(b)
        return pair | (rest[0] << both) if rest else pair

    return Operation(("b32",), ("s32", "s32") if size == 16 else ("s32", "s32", "b32"), compute)


_PAIRS = ("e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2")
_SMALL = ("u2", "s2", "u4", "s4", "u8", "s8")
_TWO_ROUNDINGS = ("rn", "rz")

FORMS = (
    form("cvt{.sat}.dtype.atype", _integers, dtype=INTEGERS, atype=INTEGERS),
    form("cvt.frnd{.ftz}{.sat}.dtype.atype", _integer_to_float, frnd=ROUNDING, dtype=FLOATS, atype=INTEGERS),
    form("cvt.irnd{.ftz}{.sat}.dtype.atype", _float_to_integer, irnd=INTEGER_ROUNDING, dtype=INTEGERS, atype=FLOATS),
    form("cvt{.frnd}{.ftz}{.sat}.dtype.atype", _floats, frnd=ROUNDING, dtype=FLOATS, atype=FLOATS),
    form(
        "cvt.frnd{.relu}{.satfinite}.dtype.atype",
        _floats,
        frnd=_TWO_ROUNDINGS,
        dtype=("f16", "bf16"),
        atype=("f32",),
    ),
    form("cvt.irnd{.ftz}{.sat}.dtype.atype", _integral_float, irnd=INTEGER_ROUNDING, dtype=FLOATS, atype=FLOATS),
    form("cvt.frnd{.satfinite}.tf32.f32", _tf32, frnd=("rna",)),
    form("cvt.frnd{.relu}{.satfinite}.tf32.f32", _tf32, frnd=_TWO_ROUNDINGS),
    form("cvt.frnd{.relu}{.satfinite}.type.f32", _pair_of_halves, frnd=_TWO_ROUNDINGS, type=PACKED_HALVES),
    form("cvt.rn.satfinite{.relu}.dtype.atype", _to_minifloats, dtype=_PAIRS, atype=("f32", "f16x2", "bf16x2")),
    form("cvt.rn{.relu}.f16x2.atype", _from_minifloats, atype=_PAIRS),
    form("cvt.rn.bf16x2.ue8m0x2", _from_exponents),
    form("cvt.frnd{.satfinite}.ue8m0x2.atype", _to_exponents, frnd=("rz", "rp"), atype=("f32", "bf16x2")),
    form("cvt+pack.sat.type.s32", _pack, type=("u16", "s16")),
    form("cvt+pack.sat.type.s32.b32", _pack, type=_SMALL),
)
