"""Conversion of raw element bits to the values that tensor cores multiply; float32 holds all but f64 exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np

from pyptx_sim.numerics.formats import widen_bf16
from pyptx_sim.numerics.minifloats import MINIFLOATS, decode
from pyptx_sim.operation import Array

Widen: TypeAlias = Callable[[Array], Array]

_TF32_BITS = np.uint32(0xFFFFE000)  # tf32: sign, 8 exponent and 10 mantissa bits; the 13 low bits are ignored
_F32 = np.float32


def _tf32(bits: Array) -> Array:
    return (bits & _TF32_BITS).view(_F32)


@cache
def _table(element: str) -> Array:
    """Return the float32 value of every 8-bit code of a format of at most 8 bits."""
    codes = np.arange(256, dtype=np.uint8)
    if element == "e2m1":  # an e2m1 code is in bits 2 to 5 of its byte
        codes = codes >> np.uint8(2)
    if element == "b4":  # b4: e2m1 codes that are stored two per byte
        return decode(codes, MINIFLOATS["e2m1"]).view(np.float16).astype(_F32)
    if element in MINIFLOATS:
        return decode(codes, MINIFLOATS[element]).view(np.float16).astype(_F32)
    return ((codes.astype(np.int32) ^ 8) - 8).astype(_F32)  # s4: sign-extends codes 0 to 15 to -8 to 7


@cache
def _pairs(element: str) -> Array:
    """Return the values of every pair of codes; the 64 bits of two float32 are a float64."""
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
    return _table(element)[codes].view(np.float64)


def _look_up(element: str, codes: Array) -> Array:
    if codes.shape[-1] % 2 or not codes.flags.c_contiguous:
        return _table(element).take(codes)
    return _pairs(element).take(codes.view(np.uint16)).view(_F32)


WIDEN: Final[dict[str, Widen]] = {
    "f16": lambda bits: bits.view(np.float16).astype(_F32),
    "bf16": widen_bf16,
    "tf32": _tf32,
    "f32": lambda bits: bits.view(_F32),
    "f64": lambda bits: bits.view(np.float64),
    "s32": lambda bits: bits.view(np.int32),
    "u8": lambda bits: bits.astype(_F32),
    "s8": lambda bits: bits.view(np.int8).astype(_F32),
    "u4": lambda bits: bits.astype(_F32),
    "b1": lambda bits: bits.astype(_F32),
    **{name: partial(_look_up, name) for name in ("s4", "b4", *MINIFLOATS)},
}
