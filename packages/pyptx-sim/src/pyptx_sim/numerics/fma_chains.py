"""Dot products of `fast` numerics: chains of fused multiply-adds, with the same bits on every CPU.

A dot product starts with s = +0 and computes s = fma(a[k], b[k], s) for k = 0, 1, …, rounded to nearest; a zero result
is +0. The order of additions in BLAS depends on the CPU, the matrix size, and the position in the matrix. The AVX-512
kernels of OpenBLAS 0.3.31 compute such chains, except those for small matrices with a row-major a and k of at least 32
(`turned` makes a column-major). Its AVX2 kernels do so inside a float32 matrix; at the matrix edges, they add two
chains, of even and of odd k. Rows and columns of zeros around the matrix (`framed`) make the edges irrelevant; zeros at
every odd k (`spread`) make one of the two chains zero. At the first MMA of a type, tests choose between these methods.
A BLAS without FMA is used if all products are exact. Otherwise NumPy computes one FMA per k for all dot products at
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from pyptx_sim.numerics.fused import fma_f32, fma_f64
from pyptx_sim.operation import Array

Chain: TypeAlias = Callable[[Array, Array], Array]

_FMA: Final[dict[str, Callable[[Array, Array, Array], Array]]] = {"float32": fma_f32, "float64": fma_f64}
_ROWS, _COLUMNS, _EDGE = 12, 16, 8
"""Rows and columns of the tile of OpenBLAS's AVX2 kernels, and columns of the tile at a matrix edge."""
_WIDER: Final = {"float32": (np.uint32, np.uint64), "float64": (np.float64, np.complex128)}


def chained(a: Array, b: Array) -> Array:
    """Return the dot products over the last axis, `[…, rows, columns]`, of a `[…, rows, k]` and b `[…, columns, k]`.

    Both are float32 or both float64; float32 products must be exact in float64. The caller may modify the result.
    """
    return fastest(a.dtype.name)(a, b)


def sparsely_chained(a: Array, places: Array, b: Array) -> Array:
    """Return the dot products over the stored elements of a sparse a; `places` are the k indices of these elements.

    If b is finite and `places` increases, the zeros of the dense form of a do not change the result.
    """
    if not (np.diff(places) > 0).all() or not np.isfinite(b).all():
        return one_by_one(a, np.take_along_axis(b[..., None, :, :], places[..., None, :], axis=-1))
    dense = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    np.put_along_axis(dense, places, a, axis=-1)
    return chained(dense, b)


def one_by_one(a: Array, b: Array) -> Array:
    """Return the dot products, computed by one FMA per k in NumPy; b may be `[…, rows, columns, k]`."""
    *_, last = prefixes(a, b)
    return last


def prefixes(a: Array, b: Array) -> Iterator[Array]:
    """Yield the dot products over k < 1, over k < 2, and so on up to all of K."""
    fma = _multiply_add if _exact_products(a, b) else _FMA[a.dtype.name]
    right = b if b.ndim > a.ndim else b[..., None, :, :]
    zero = a.dtype.type(0)
    total: Array = np.asarray(zero)
    for k in range(a.shape[-1]):
        total = fma(a[..., k, None], right[..., k], total)
        yield total + zero


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    product: Array = np.asarray(a * b)
    product += c
    return product


def _exact_products(a: Array, b: Array) -> bool:
    """Return whether each product is exact in the type of a and b, so that multiplying, then adding equals an FMA."""
    info = np.finfo(a.dtype)
    word = np.dtype(f"<u{a.itemsize}")
    low = word.type((1 << (info.nmant + 2) // 2) - 1)
    if any(np.bitwise_or.reduce(np.ascontiguousarray(each).view(word), axis=None) & low for each in (a, b)):
        return False
    (least_a, most_a), (least_b, most_b) = _exponents(a), _exponents(b)
    return least_a + least_b > info.minexp + 1 and most_a + most_b < info.maxexp


def _exponents(values: Array) -> tuple[int, int]:
    """Return a lower and an upper bound of the `frexp` exponents of the nonzero finite values."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return math.frexp(sizes.min(initial=1))[1], math.frexp(sizes.max(initial=1))[1]


def multiplied(a: Array, b: Array) -> Array:
    """Return the dot products computed by BLAS alone."""
    return np.asarray(np.matmul(a, b.swapaxes(-1, -2)))


def turned(a: Array, b: Array) -> Array:
    """Return the dot products computed by BLAS from a column-major a."""
    return multiplied(np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2), b)


def framed(a: Array, b: Array) -> Array:
    """Return the dot products computed by BLAS with zeros around the matrix; small matrices use `spread` instead."""
    rows, columns = a.shape[-2], b.shape[-2]
    first = _EDGE if columns > _EDGE else 0
    height, width = -(-rows // _ROWS) * _ROWS, (-(-columns // _COLUMNS) * _COLUMNS + 2 * first if first else _EDGE)
    if 2 * height * width > 3 * rows * columns:
        return spread(a, b)
    return multiplied(_placed(a, 0, height), _placed(b, first, width))[..., :rows, first : first + columns]


def _placed(values: Array, first: int, count: int) -> Array:
    """Return `count` rows: the rows of `values` from index `first` on, and rows of zeros elsewhere."""
    given = values.shape[-2]
    if count == given:
        return values
    placed = np.zeros((*values.shape[:-2], count, values.shape[-1]), values.dtype)
    placed[..., first : first + given, :] = values
    return placed


def spread(a: Array, b: Array) -> Array:
    """Return the dot products computed by BLAS after zeros are inserted at every odd k of a and b."""
    return multiplied(_spread(a), _spread(b))


def _spread(values: Array) -> Array:
    narrow, wide = _WIDER[values.dtype.name]
    return np.ascontiguousarray(values).view(narrow).astype(wide).view(values.dtype)


@cache
def fastest(dtype: str) -> Chain:
    """Return the fastest function of this module that computes the same bits as `one_by_one` on this machine."""
    with np.errstate(all="ignore"):
        edges, *others = _known(dtype)
        for chain in (multiplied, turned, framed, spread):
            if all(_agrees(chain, *each) for each in others):
                return chain if _agrees(chain, *edges) else _guarded(chain)
    return one_by_one


def _agrees(chain: Chain, a: Array, b: Array, wanted: Array) -> bool:
    return np.array_equal(_bits(chain(a, b)), _bits(wanted))


def _guarded(chain: Chain) -> Chain:
    """Return a function that calls `chain`, which rounds products, if all products are exact, else `one_by_one`."""
    return lambda a, b: (chain if _exact_products(a, b) else one_by_one)(a, b)


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"<u{values.itemsize}")


# --- tests of BLAS --------------------------------------------------------------------------------

_DISTINCT: Final = 13, 11
"""Number of distinct rows and columns in a test: primes, so each position of a BLAS tile gets several of them."""
_LENGTHS: Final = (4, 8, 16, 32, 64)
_SIZES: Final = ((8, 8), (16, 8), (64, 24), (72, 104), (128, 256), (264, 136))


def _known(dtype: str) -> list[tuple[Array, Array, Array]]:
    """Return tests (a, b, expected result) with the sizes, K and strides of MMAs; the first test has extreme values."""
    rows, columns = (_drawn(count, dtype, count << 8) for count in _DISTINCT)
    chains = list(prefixes(rows, columns))
    tests = [_edges(dtype)]
    for m, n in _SIZES:
        of_a, of_b = np.arange(m) % len(rows), np.arange(n) % len(columns)
        a, b = rows[of_a], columns[of_b]
        tests += [(a[:, :length], b[:, :length], chains[length - 1][of_a][:, of_b]) for length in _LENGTHS]
        *_, wanted = tests[-1]
        tests += [(np.asfortranarray(a), b, wanted), (a, np.asfortranarray(b), wanted)]
    return tests


def _drawn(count: int, dtype: str, start: int) -> Array:
    """Return numbers of many magnitudes, whose sums mostly depend on the order; float32: 12 significant bits."""
    number = np.arange(start, start + count * _LENGTHS[-1], dtype=np.uint64).reshape(count, -1)
    mixed = number * np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, as in SplitMix64
    # multiplier of the random number generator SplitMix64
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    signed = (mixed ^ mixed >> np.uint64(32)).view(np.int64)
    values: Array = np.ldexp(signed.astype(dtype), (mixed >> np.uint64(5)).astype(np.int32) % 12 - 63)
    if dtype != "float64":
        values = (values.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
    return values


def _edges(dtype: str) -> tuple[Array, Array, Array]:
    """Return a test whose products overflow or underflow before the addition, but not in an FMA."""
    info = np.finfo(dtype)
    large, least = np.ldexp(1.0, info.maxexp // 2), float(info.smallest_subnormal)
    a = np.array([[-large, large], [least, 0.5], [-least, 0]], dtype)
    b = np.array([[large / 2, large], [1, least], [least, 0]], dtype)
    wanted = one_by_one(a, b)
    each = np.repeat(np.arange(len(a)), 8)
    return a[each], b[each], wanted[each][:, each]
