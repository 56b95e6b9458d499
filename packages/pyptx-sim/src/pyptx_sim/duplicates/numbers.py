"""Value numbers: 64-bit hashes of expressions, as arrays.

The *strict* number of a result is a hash of the instruction and the numbers of its sources. Values with equal strict
numbers have equal bits in every run. The *exact* number is the value of the same expression in the integers modulo a
prime, with a random element per input. Values with equal exact numbers are equal in exact arithmetic, and differ by
rounding only.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx_sim.types import B128

if TYPE_CHECKING:
    from pyptx_sim.operation import Array

__all__ = [
    "DECISIONS",
    "PRIME",
    "Numbers",
    "constants",
    "decision_bits",
    "inverse",
    "leaf_bits",
    "mix",
    "name_number",
    "products",
    "reduced",
    "sums",
    "value_bits",
]

Numbers: TypeAlias = NDArray[np.uint64]

PRIME: Final = (1 << 61) - 1
"""Modulus of exact value numbers, the Mersenne prime 2^61 - 1: a shift and an addition reduce a number modulo it."""

DECISIONS: Final = np.uint64((1 << 62) - (1 << 42))
"""Bits of `decision_bits`."""

_P: Final = np.uint64(PRIME)
_BITS: Final = np.uint64(61)
_HALF: Final = np.uint64(31)
_LOW: Final = np.uint64((1 << 31) - 1)
_THIRTY: Final = np.uint64(30)
_LOW_THIRTY: Final = np.uint64((1 << 30) - 1)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS: Final = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mix(*parts: Numbers | np.uint64) -> Numbers:
    """Return an order-dependent hash of 64-bit numbers: the SplitMix64 finalizer after each number."""
    mixed: Numbers = np.zeros((1, 1), np.uint64)
    for part in parts:
        mixed = (mixed ^ part) + _ODD
        mixed = (mixed ^ (mixed >> _THIRTY)) * _MULTIPLIERS[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MULTIPLIERS[1]
        mixed = mixed ^ (mixed >> _HALF)
    return mixed


def name_number(*words: object) -> np.uint64:
    """Return a 64-bit hash of `words`, converted to text; the hash is the same in every process."""
    digest = blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def value_bits(values: Array) -> Numbers:
    """Return the bits of each value, zero-extended to 64 bits; for 128-bit values, a 64-bit hash."""
    if values.dtype == np.bool_:
        return values.astype(np.uint64)
    if values.dtype == B128:
        return mix(values["lo"].astype(np.uint64), values["hi"].astype(np.uint64))
    bits: Numbers = values.view(np.dtype(f"<u{values.dtype.itemsize}")).astype(np.uint64)
    return bits


def leaf_bits(numbers: Numbers) -> Numbers:
    """Return a Bloom filter (two of the low 42 bits) per value number of an input, such as a loaded value.

    OR joins filters.
    """
    return _filter(numbers, 0, 42)


def decision_bits(numbers: Numbers) -> Numbers:
    """Return a Bloom filter (two of `DECISIONS`) per value number of a decision: see `Samples.undecided`."""
    return _filter(numbers, 42, 20)


def _filter(numbers: Numbers, first: int, count: int) -> Numbers:
    one, other = (np.uint64(first) + each % np.uint64(count) for each in (numbers, numbers >> np.uint64(32)))
    bits: Numbers = (np.uint64(1) << one) | (np.uint64(1) << other)
    return bits


# --- integers modulo the prime -----------------------------------------------------------------


def reduced(numbers: Numbers) -> Numbers:
    """Return 64-bit numbers modulo `PRIME`."""
    folded = (numbers & _P) + (numbers >> _BITS)
    result: Numbers = np.where(folded >= _P, folded - _P, folded)
    return result


def sums(a: Numbers, b: Numbers, *, negated: bool = False) -> Numbers:
    """Return a + b, or a - b if `negated`, modulo `PRIME`."""
    return reduced(a + (_P - b if negated else b))


def products(a: Numbers, b: Numbers) -> Numbers:
    """Return a * b modulo `PRIME`, from the products of 31-bit halves."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    cross = a_high * b_low + a_low * b_high
    high = ((a_high * b_high) << np.uint64(1)) + (cross >> _THIRTY)
    return reduced(reduced(high + ((cross & _LOW_THIRTY) << _HALF)) + reduced(a_low * b_low))


def inverse(a: Numbers) -> Numbers:
    """Return 1 / a modulo `PRIME`; 0 for 0."""
    result = np.ones_like(a)
    for bit in f"{PRIME - 2:b}":
        result = products(result, result)
        if bit == "1":
            result = products(result, a)
    return result


def constants(values: Array) -> Numbers:
    """Return floats modulo `PRIME`: m * 2^e for a finite float, a hash of the bits for infinities and NaN."""
    wide = values.astype(np.float64)
    fraction, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.uint64)
    power = (exponent.astype(np.int64) - 53) % 61  # 2^61 = 1 modulo PRIME
    residue = products(reduced(mantissa), np.left_shift(np.uint64(1), power.astype(np.uint64)))
    signed = np.where(fraction < 0, sums(np.zeros_like(residue), residue, negated=True), residue)
    result: Numbers = np.where(np.isfinite(wide), signed, reduced(mix(value_bits(wide))))
    return result
