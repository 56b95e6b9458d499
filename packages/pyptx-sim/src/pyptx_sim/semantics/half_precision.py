"""f16, bf16 and their pairs. Manual: "Half Precision Floating Point Instructions" (9.7.4).

Computed in float32, which has more than twice the digits and so hides no rounding (fma: in float64), then rounded once.
NaN results are canonical, those of `neg` and `abs` too: the hardware executes them as additions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics import approximate
from pyptx_sim.numerics.clamping import rectified, saturated
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.formats import HALVES, PACKED_HALVES, Half
from pyptx_sim.numerics.nan import OUT_OF_BOUNDS
from pyptx_sim.numerics.packed import elementwise
from pyptx_sim.numerics.rounding import F32, F64, narrowed_to_odd, sum_to_odd
from pyptx_sim.numerics.subnormals import has_subnormal
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.forms import Bind, Match, form

Core: TypeAlias = Callable[..., Array]

_REGISTER = np.dtype("<u4")

# What bf16 drops of a float32.
_LOW_HALF = np.uint32(0xFFFF)
_HALFWAY = np.uint32(0x8000)


def _multiply(a: Array, b: Array) -> Array:
    """Return the product of widened halves: exact in float32, unless it is subnormal there."""
    product = a * b
    return a.astype(F64) * b.astype(F64) if has_subnormal(product) else product


def _fma_f16(a: Array, b: Array, c: Array) -> Array:
    """Return the sum in float64: it is inexact only where `c` and the product are too far apart to matter."""
    return a.astype(F64) * b.astype(F64) + c.astype(F64)


def _fma_bf16(a: Array, b: Array, c: Array) -> Array:
    """Return the sum in float32, rounded to odd where it would be half-way between two bf16 numbers."""
    product, addend = np.broadcast_arrays(a.astype(F64) * b.astype(F64), c.astype(F64))
    result: Array = (product + addend).astype(F32)
    halfway = (result.view(np.uint32) & _LOW_HALF) == _HALFWAY
    if np.count_nonzero(halfway):
        result[halfway] = narrowed_to_odd(sum_to_odd(product[halfway], addend[halfway]))
    return result


def _half(match: Match) -> Half:
    kind = match["type"]
    return HALVES.get(kind) or PACKED_HALVES[kind]


def _operation(match: Match, core: Core, arity: int) -> Operation:
    """Bind `core`, a function of widened values, with the modifiers of `match`."""
    match.expect_operands(arity + 1)
    half, kind, ftz = _half(match), match["type"], "ftz" in match
    clamp = saturated if "sat" in match else rectified if "relu" in match else None

    def compute(*sources: Array) -> Array:
        values = core(*(half.widen(half.flush(source) if ftz else source) for source in sources))
        values = clamp(values) if clamp else values
        result = half.narrow(values)
        return half.flushed_result(result, values) if ftz else result

    element = _zero_out_of_bounds(compute) if "oob" in match else compute
    function = elementwise(element, half.element, _REGISTER) if kind in PACKED_HALVES else element
    return Operation((kind,), (kind,) * arity, function)


def _zero_out_of_bounds(fused: Core) -> Core:
    """Return `fused` with +0 where a factor is the special NaN that tensor copies put out of bounds."""

    def compute(a: Array, b: Array, c: Array) -> Array:
        outside = (a.view(np.uint16) == OUT_OF_BOUNDS) | (b.view(np.uint16) == OUT_OF_BOUNDS)
        result = fused(a, b, c)
        return np.where(outside, np.uint16(0), result.view(np.uint16)).view(result.dtype)

    return compute


def _plain(core: Core, arity: int) -> Bind:
    return lambda match: _operation(match, core, arity)


def _fused(match: Match) -> Operation:
    return _operation(match, _fma_bf16 if _half(match).name == "bf16" else _fma_f16, 3)


def _extreme(match: Match) -> Operation:
    core = Extreme(match.instruction.opcode[0] == "max", "NaN" in match, "abs" in match, "xorsign" in match)
    if ("abs" in match) != ("xorsign" in match):
        raise match.refuse(".xorsign and .abs go together")
    return _operation(match, core, 2)


_F16 = ("f16", "f16x2")
_BF16 = ("bf16", "bf16x2")
_RN = ("rn",)

FORMS = (
    form("add{.rnd}{.ftz}{.sat}.type", _plain(np.add, 2), rnd=_RN, type=_F16),
    form("add{.rnd}.type", _plain(np.add, 2), rnd=_RN, type=_BF16),
    form("sub{.rnd}{.ftz}{.sat}.type", _plain(np.subtract, 2), rnd=_RN, type=_F16),
    form("sub{.rnd}.type", _plain(np.subtract, 2), rnd=_RN, type=_BF16),
    form("mul{.rnd}{.ftz}{.sat}.type", _plain(_multiply, 2), rnd=_RN, type=_F16),
    form("mul{.rnd}.type", _plain(_multiply, 2), rnd=_RN, type=_BF16),
    form("fma.rnd{.ftz}{.sat}.type", _fused, rnd=_RN, type=_F16),
    form("fma.rnd{.ftz}.relu.type", _fused, rnd=_RN, type=_F16),
    form("fma.rnd{.relu}.type", _fused, rnd=_RN, type=_BF16),
    form("fma.rnd.oob{.relu}.type", _fused, rnd=_RN, type=(*_F16, *_BF16)),
    form("neg{.ftz}.type", _plain(np.negative, 1), type=_F16),
    form("neg.type", _plain(np.negative, 1), type=_BF16),
    form("abs{.ftz}.type", _plain(np.abs, 1), type=_F16),
    form("abs.type", _plain(np.abs, 1), type=_BF16),
    form("min{.ftz}{.NaN}{.xorsign}{.abs}.type", _extreme, type=_F16),
    form("min{.NaN}{.xorsign}{.abs}.type", _extreme, type=_BF16),
    form("max{.ftz}{.NaN}{.xorsign}{.abs}.type", _extreme, type=_F16),
    form("max{.NaN}{.xorsign}{.abs}.type", _extreme, type=_BF16),
    form("tanh.approx.type", _plain(approximate.tanh, 1), type=(*_F16, *_BF16)),
    form("ex2.approx.type", _plain(approximate.exp2, 1), type=_F16),
    form("ex2.approx.ftz.type", _plain(approximate.exp2, 1), type=_BF16),
)
