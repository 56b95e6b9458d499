"""Arithmetic of f16 and bf16, scalar and packed in pairs. Manual: "Half Precision Floating Point Instructions" (9.7.4).

Results are computed in float32 (fma: in float64), then rounded once. float32 has more than twice the significant bits
of f16, so double rounding does not change the result. NaN results are canonical, including those of `neg` and `abs`,
which the hardware executes as additions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics import transcendental
from pyptx_sim.numerics.clamping import rectified, saturated
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES, Half
from pyptx_sim.numerics.nan import OUT_OF_BOUNDS
from pyptx_sim.numerics.packed import elementwise
from pyptx_sim.numerics.rounding import F32, F64, narrowed_to_odd, sum_to_odd
from pyptx_sim.numerics.subnormals import has_subnormal
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.operations import operation

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

Core: TypeAlias = Callable[..., Array]
Bind: TypeAlias = "Callable[[Bound], Operation]"

_REGISTER = np.dtype("<u4")

# Low bits of a float32 that bf16 lacks, and their value half-way between two bf16 numbers.
_LOW_HALF = np.uint32(0xFFFF)
_HALFWAY = np.uint32(0x8000)


def _multiply(a: Array, b: Array) -> Array:
    """Return the exact products of widened halves: float32, or float64 if any product is subnormal in float32."""
    product = a * b
    return a.astype(F64) * b.astype(F64) if has_subnormal(product) else product


def _fma_f16(a: Array, b: Array, c: Array) -> Array:
    """Return `a * b + c` in float64; if the sum is inexact, its error is too small to change the rounded f16."""
    return a.astype(F64) * b.astype(F64) + c.astype(F64)


def _fma_bf16(a: Array, b: Array, c: Array) -> Array:
    """Return `a * b + c` in float32, rounded to odd if it would be half-way between two bf16 numbers."""
    product, addend = np.broadcast_arrays(a.astype(F64) * b.astype(F64), c.astype(F64))
    result: Array = (product + addend).astype(F32)
    halfway = (result.view(np.uint32) & _LOW_HALF) == _HALFWAY
    if np.count_nonzero(halfway):
        result[halfway] = narrowed_to_odd(sum_to_odd(product[halfway], addend[halfway]))
    return result


def _half(form: Bound) -> Half:
    kind = form.type_of("d")
    return HALVES.get(kind) or PACKED_HALVES[kind]


def _lanewise(form: Bound, core: Core) -> Operation:
    """Return the `Operation` of `core`, a function of widened values, with the form's `.ftz`, `.sat` and `.relu`."""
    half, ftz = _half(form), "ftz" in form.words
    clamp = saturated if "sat" in form.words else rectified if "relu" in form.words else None

    def compute(*sources: Array) -> Array:
        values = core(*(half.widen(half.flush(source) if ftz else source) for source in sources))
        values = clamp(values) if clamp else values
        result = half.narrow(values)
        return half.flushed_result(result, values) if ftz else result

    element = _zero_out_of_bounds(compute) if "oob" in form.words else compute
    packed = form.type_of("d") in PACKED_HALVES
    return operation(form, elementwise(element, half.element, _REGISTER) if packed else element)


def _zero_out_of_bounds(fused: Core) -> Core:
    """Wrap FMA `fused`: the result is +0 if a or b is the NaN that tensor copies write for out-of-bounds elements."""

    def compute(a: Array, b: Array, c: Array) -> Array:
        outside = (a.view(np.uint16) == OUT_OF_BOUNDS) | (b.view(np.uint16) == OUT_OF_BOUNDS)
        result = fused(a, b, c)
        return np.where(outside, np.uint16(0), result.view(np.uint16)).view(result.dtype)

    return compute


def _each(core: Core) -> Bind:
    return lambda form: _lanewise(form, core)


def _fused(form: Bound) -> Operation:
    return _lanewise(form, _fma_bf16 if _half(form).name == "bf16" else _fma_f16)


def _extreme(*, largest: bool) -> Bind:
    def bind(form: Bound) -> Operation:
        return _lanewise(form, Extreme(largest, "NaN" in form.words, "abs" in form.words, "xorsign" in form.words))

    return bind


def _row(opcode: str, bind: Bind) -> Semantics:
    return Semantics(opcode, bind, manual=f"{opcode} (half precision)")


ROWS = (
    _row("add", _each(np.add)),
    _row("sub", _each(np.subtract)),
    _row("mul", _each(_multiply)),
    _row("fma", _fused),
    _row("neg", _each(np.negative)),
    _row("abs", _each(np.abs)),
    _row("min", _extreme(largest=False)),
    _row("max", _extreme(largest=True)),
    _row("tanh", _each(transcendental.tanh)),
    _row("ex2", _each(transcendental.exp2)),
)
