"""Correctly rounded float64 operations by Python integers, on single numbers, for operands with extreme exponents."""

from __future__ import annotations

import math

_PRECISION = 53
_LEAST = -1074  # exponent of the smallest subnormal float64
_GREATEST = float.fromhex("0x1.fffffffffffffp1023")


def _parts(value: float) -> tuple[int, int]:
    """Return the integers mantissa and exponent with `value == mantissa * 2**exponent`."""
    mantissa, exponent = math.frexp(value)
    return int(mantissa * 2.0**_PRECISION), exponent - _PRECISION


def round_quotient(numerator: int, denominator: int, exponent: int, mode: str) -> float:
    """Return `numerator / denominator * 2**exponent`, rounded in direction `mode`; numerator not 0, denominator > 0."""
    negative, size = numerator < 0, abs(numerator)
    # number of bits of the quotient's integer part, or 1 more
    length = size.bit_length() - denominator.bit_length() + exponent
    unit = max(length - _PRECISION - 2, _LEAST - 2)
    shift = exponent - unit
    scaled, base = (size << shift, denominator) if shift >= 0 else (size, denominator << -shift)
    quotient, rest = divmod(scaled, base)
    quotient |= bool(rest)  # two guard bits and a sticky bit (`rest` is not 0) suffice for every rounding mode
    drop = max(quotient.bit_length() - _PRECISION, _LEAST - unit)
    kept, lost, half = quotient >> drop, quotient & ((1 << drop) - 1), 1 << (drop - 1)
    away = {
        "rn": lost > half or (lost == half and kept & 1),
        "rz": False,
        "rm": lost and negative,
        "rp": lost and not negative,
    }
    return _assemble(kept + bool(away[mode]), unit + drop, negative, mode)


def _assemble(kept: int, exponent: int, negative: bool, mode: str) -> float:  # noqa: FBT001 - a sign
    try:
        size = math.ldexp(kept, exponent)
    except OverflowError:
        to_greatest = mode in {"rz", "rp" if negative else "rm"}
        size = _GREATEST if to_greatest else math.inf
    return -size if negative else size


def fma_exact(a: float, b: float, c: float, mode: str) -> float:
    """Return `a * b + c` for finite floats, rounded once in direction `mode`."""
    (a_part, a_exponent), (b_part, b_exponent), (c_part, c_exponent) = _parts(a), _parts(b), _parts(c)
    exponent = min(a_exponent + b_exponent, c_exponent)
    total = (a_part * b_part << (a_exponent + b_exponent - exponent)) + (c_part << (c_exponent - exponent))
    if total == 0:
        product_negative = math.copysign(1, a) * math.copysign(1, b) < 0
        same_sign = product_negative == (math.copysign(1, c) < 0)
        negative = product_negative if same_sign else mode == "rm"
        return -0.0 if negative else 0.0
    return round_quotient(total, 1, exponent, mode)


def divide_exact(a: float, b: float, mode: str) -> float:
    """Return `a / b` for finite non-zero floats, rounded in direction `mode`."""
    (a_part, a_exponent), (b_part, b_exponent) = _parts(a), _parts(b)
    numerator = -a_part if b_part < 0 else a_part
    return round_quotient(numerator, abs(b_part), a_exponent - b_exponent, mode)


def sqrt_exact(a: float, mode: str) -> float:
    """Return the square root of a finite positive float, rounded in direction `mode`."""
    part, exponent = _parts(a)
    shift = 2 * _PRECISION + 8 + (exponent & 1)
    root = math.isqrt(part << shift)
    sticky = root * root != part << shift
    return round_quotient(2 * root + sticky, 1, (exponent - shift) // 2 - 1, mode)
