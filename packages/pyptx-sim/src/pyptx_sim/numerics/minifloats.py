"""Float formats of 4, 6 and 8 bits, by value tables. Manual: "Alternate Floating-Point Data Formats" (5.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.nan import F16_NAN
from pyptx_sim.numerics.rounding import Precision

if TYPE_CHECKING:
    from pyptx_sim.operation import Array


@dataclass(frozen=True, slots=True)
class Minifloat:
    """Float format of 4, 6 or 8 bits; `finite`: number of non-negative finite codes, from 0; `nan`: its NaN code."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    finite: int
    nan: int | None

    @property
    def sign(self) -> int:
        """Mask of the sign bit in a code."""
        return 1 << (self.exponent_bits + self.mantissa_bits)

    @property
    def bits(self) -> int:
        """Number of bits of a value in a packed register; six-bit formats are padded to eight bits."""
        return 4 if self.exponent_bits + self.mantissa_bits == 3 else 8

    @property
    def precision(self) -> Precision:
        """`Precision` of the format, for rounding in float64."""
        least = 2 - (1 << (self.exponent_bits - 1)) - self.mantissa_bits
        return Precision(self.mantissa_bits + 1, least, float(_magnitudes(self)[-1]))


E4M3 = Minifloat("e4m3", 4, 3, 0x7F, 0x7F)
E5M2 = Minifloat("e5m2", 5, 2, 0x7C, 0x7F)
E2M3 = Minifloat("e2m3", 2, 3, 0x20, None)
E3M2 = Minifloat("e3m2", 3, 2, 0x20, None)
E2M1 = Minifloat("e2m1", 2, 1, 0x08, None)

MINIFLOATS: dict[str, Minifloat] = {layout.name: layout for layout in (E4M3, E5M2, E2M3, E3M2, E2M1)}


@lru_cache(maxsize=8)
def _magnitudes(layout: Minifloat) -> Array:
    """Return the non-negative finite values of a format as float64, in order of their codes."""
    codes = np.arange(layout.finite)
    bias = (1 << (layout.exponent_bits - 1)) - 1
    exponent, mantissa = codes >> layout.mantissa_bits, codes & ((1 << layout.mantissa_bits) - 1)
    significand = np.where(exponent > 0, mantissa + (1 << layout.mantissa_bits), mantissa)
    result: Array = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - bias - layout.mantissa_bits)
    return result


def _nearest_code(size: Array, layout: Minifloat) -> Array:
    """Return the codes nearest to float32 magnitudes up to the format's greatest finite value; ties to even."""
    bias = (1 << (layout.exponent_bits - 1)) - 1
    drop = 23 - layout.mantissa_bits
    bits = size.view(np.uint32)
    # Round to nearest even by a carry: add half a unit of the last kept bit, minus one, plus the last kept bit.
    carry = ((bits >> np.uint32(drop)) & np.uint32(1)) + np.uint32((1 << (drop - 1)) - 1)
    normal = ((bits + carry) >> np.uint32(drop)) - np.uint32((127 - bias) << layout.mantissa_bits)
    # Adding `anchor`, whose last bit is the smallest subnormal, rounds each magnitude to a multiple of that subnormal.
    anchor = np.float32(2.0 ** (1 - bias + drop))
    subnormal = (size + anchor).view(np.uint32) - anchor.view(np.uint32)
    return np.where(size < np.float32(2.0 ** (1 - bias)), subnormal, normal).astype(np.uint8)


def encode(values: Array, layout: Minifloat) -> Array:
    """Return the codes (uint8) nearest to float32 `values`, ties to even, saturated to the greatest finite value.

    NaN becomes the format's NaN, or the greatest positive value if the format has no NaN.
    """
    code = _nearest_code(np.minimum(np.abs(values), np.float32(_magnitudes(layout)[-1])), layout)
    result = code | (np.signbit(values).astype(np.uint8) * np.uint8(layout.sign))
    replacement = layout.finite - 1 if layout.nan is None else layout.nan
    return np.where(np.isnan(values), np.uint8(replacement), result)


@lru_cache(maxsize=8)
def _f16_bits(layout: Minifloat) -> Array:
    """Return a table of the f16 bits for every 8-bit code; code bits above the format's sign bit are ignored."""
    codes = np.arange(256) & (2 * layout.sign - 1)
    magnitude = codes & (layout.sign - 1)
    finite = magnitude < layout.finite
    values = _magnitudes(layout)[np.where(finite, magnitude, 0)].astype(np.float16)
    bits = values.view(np.uint16) | np.where(codes & layout.sign, 0x8000, 0).astype(np.uint16)
    infinite = (magnitude == layout.finite) & (layout is E5M2)
    special = np.where(infinite, np.where(codes & layout.sign, 0xFC00, 0x7C00), F16_NAN).astype(np.uint16)
    return np.where(finite, bits, special)


def decode(codes: Array, layout: Minifloat) -> Array:
    """Return the values of uint8 `codes` as f16 bits, exactly."""
    return _f16_bits(layout)[codes]
