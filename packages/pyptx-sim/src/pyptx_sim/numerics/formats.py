"""Half precision formats: exact conversion to float32, and rounding of results to these formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.nan import F16_NAN, has_nan
from pyptx_sim.numerics.rounding import F32, narrowed_to_odd
from pyptx_sim.numerics.subnormals import flushed_half

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

_16 = np.uint32(16)
_HALF_UNIT = np.uint32(0x7FFF)


@dataclass(frozen=True, slots=True)
class Half:
    """16-bit float format; `element` is the dtype of stored values (uint16 for bf16).

    `widen` converts to float32. `narrow` rounds float32, or float64 that is exact or rounded to odd, to nearest even
    and makes NaN canonical. `flush` replaces subnormals by zeros. `tiny` is the least magnitude that rounds to a normal
    number if exponents are unbounded: `.ftz` flushes smaller results.
    """

    name: str
    element: DType
    widen: Callable[[Array], Array]
    narrow: Callable[[Array], Array]
    flush: Callable[[Array], Array]
    tiny: float

    def flushed_result(self, result: Array, values: Array) -> Array:
        """Return `result`, rounded from `values`, with zeros of the same sign where `abs(values) < tiny`."""
        bits = result.view(np.uint16)
        return np.where(np.abs(values) < self.tiny, bits & np.uint16(0x8000), bits).view(self.element)


def _widen_f16(values: Array) -> Array:
    return values.astype(F32)


def _narrow_f16(values: Array) -> Array:
    result = values.astype(np.float16)
    if has_nan(values):
        result.view(np.uint16)[np.isnan(values)] = F16_NAN
    return result


def widen_bf16(bits: Array) -> Array:
    """Return the bf16 values of uint16 `bits` as float32."""
    return (bits.astype(np.uint32) << _16).view(F32)


def narrow_bf16(values: Array) -> Array:
    """Return `values` rounded to nearest even as bf16 bits."""
    single = values if values.dtype == F32 else narrowed_to_odd(values)
    bits = single.view(np.uint32)
    result = ((bits + (((bits >> _16) & np.uint32(1)) + _HALF_UNIT)) >> _16).astype(np.uint16)
    if has_nan(values):
        result[np.isnan(values)] = F16_NAN
    return result


def _flushed_bf16(bits: Array) -> Array:
    """Return bf16 `bits` with subnormals replaced by zeros of the same sign."""
    return np.where(bits & np.uint16(0x7F80), bits, bits & np.uint16(0x8000))


_F16 = Half("f16", np.dtype("<f2"), _widen_f16, _narrow_f16, flushed_half, 2.0**-14 - 2.0**-26)
_BF16 = Half("bf16", np.dtype("<u2"), widen_bf16, narrow_bf16, _flushed_bf16, 2.0**-126 - 2.0**-135)

HALVES: dict[str, Half] = {"f16": _F16, "bf16": _BF16}
PACKED_HALVES: dict[str, Half] = {"f16x2": _F16, "bf16x2": _BF16}
