"""Bit counts, searches, bit fields, carry-less products. Manual: "Integer Arithmetic Instructions" (9.7.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.integers import count_ones, top_bit
from pyptx_sim.operation import Unspecified
from pyptx_sim.semantics.operations import constant, operation
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation

U32, U64 = np.uint32, np.uint64
_ALL_ONES = U32(0xFFFFFFFF)
_PLACES = np.arange(32, dtype=np.int64)

# After a byte swap, swapping adjacent bits, pairs and nibbles in each byte reverses the bits.
_REVERSE_STEPS = ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F))


def _leading_zeros(a: Array) -> Array:
    greatest = 8 * a.dtype.itemsize - 1
    return (greatest - top_bit(a)).astype(U32)


def _find(a: Array, *, shiftamt: str) -> Array:
    """Return the position of the highest bit that differs from the sign bit (unsigned: highest 1); -1 if none does."""
    size = a.dtype.itemsize
    # The highest 0 bit of a negative number is the highest 1 bit of its complement.
    found = top_bit((a ^ (a >> (8 * size - 1))).view(f"<u{size}") if a.dtype.kind == "i" else a)
    if not shiftamt:
        return found.astype(U32)
    return np.where(found < 0, _ALL_ONES, (8 * size - 1 - found).astype(U32))


def _nth_set(mask: Array, base: Array, offset: Array) -> Array:
    """Return the position of the offset-th set bit from bit `base` on, up or down; offset 0 tests bit `base`."""
    places = _PLACES
    ones = ((mask[..., None] >> places.astype(U32)) & U32(1)).astype(bool)
    start, steps = base.astype(np.int64)[..., None], offset.view(np.int32).astype(np.int64)[..., None]
    reached = np.where(steps > 0, places >= start, np.where(steps < 0, places <= start, places == start))
    candidates = ones & reached
    ahead = np.cumsum(candidates, axis=-1)
    # number of set bits of the search range from the top down to each bit
    behind = ahead[..., -1:] - ahead + candidates
    order = np.where(steps >= 0, ahead, behind)
    hit = candidates & (order == np.maximum(np.abs(steps), 1))
    return np.where(hit.any(axis=-1), hit.argmax(axis=-1).astype(U32), _ALL_ONES)


def _reverse(a: Array) -> Array:
    kind = a.dtype.type
    bits = a.byteswap()
    for distance, low in _REVERSE_STEPS:
        mask, shift = kind(low & int(np.iinfo(kind).max)), kind(distance)
        bits = ((bits >> shift) & mask) | ((bits & mask) << shift)
    return bits


def _extent(operand: Array, of: Array) -> Array:
    """Return a position or length operand of bfe or bfi, clamped to 64, as a shift count in the dtype of `of`.

    The manual allows 0 to 255. For larger values, 32-bit instructions use the low byte and 64-bit instructions the
    whole value: the code of ptxas does so, and an H200 does so in measurements of bfe.
    """
    given = operand & U32(0xFF) if of.dtype.itemsize == U32(0).itemsize else operand
    return np.minimum(given, U32(64))


def _extract(form: Bound) -> Operation:
    """Return the `Operation` of bfe: shift the field down, then up and down, so that its top bit fills the bits above.

    NumPy's shifts give zero, or the sign, if the count is at least the width.
    """
    dtype = dtype_of(form.type_of("d"))
    wide = np.dtype(f"<{dtype.kind}8")
    position, length = constant(form, "b"), constant(form, "c")
    if dtype.kind == "u" and position is not None and length is not None:
        return _extract_constant(form, position & 0xFF, length & 0xFF)

    def compute(a: Array, b: Array, c: Array) -> Array:
        start, spare = _extent(b, a).astype(wide), (U32(64) - _extent(c, a)).astype(wide)
        result: Array = (((a.astype(wide) >> start) << spare) >> spare).astype(dtype)
        return result

    return operation(form, compute)


def _extract_constant(form: Bound, position: int, length: int) -> Operation:
    dtype = dtype_of(form.type_of("d")).type
    start = dtype(position)
    mask = dtype(((1 << length) - 1) & int(np.iinfo(dtype).max))
    return operation(form, lambda a: (a >> start) & mask, unread=("b", "c"))


def _insert(a: Array, b: Array, c: Array, d: Array) -> Array:
    start, length = _extent(c, a).astype(U64), _extent(d, a).astype(U64)
    mask = ((U64(1) << length) - U64(1)) << start
    result: Array = ((b & ~mask) | ((a.astype(U64) << start) & mask)).astype(a.dtype)
    return result


def _extend(a: Array, b: Array, *, mode: str) -> Array:
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    width = np.minimum(b, U32(32)) if mode == "clamp" else b & U32(31)
    spare = (U32(64) - width).astype(wide)
    return ((a.astype(wide) << spare) >> spare).astype(a.dtype)


def _mask(a: Array, b: Array, *, mode: str) -> Array:
    start = np.minimum(a, U32(32)) if mode == "clamp" else a & U32(31)
    width = np.minimum(b, U32(32)) if mode == "clamp" else b & U32(31)
    return (((U64(1) << width.astype(U64)) - U64(1)) << start.astype(U64)).astype(U32)


def _carryless_multiply_add(a: Array, b: Array, c: Array, *, mode: str) -> Array:
    """Return the low or high half of a polynomial product over GF(2), plus `c` added without carries."""
    total = np.zeros_like(a) ^ c
    for place in range(64):
        part = a >> U64(64 - place) if mode == "hi" else a << U64(place)  # NumPy shifts of uint64 by 64 give 0
        total = total ^ np.where((b >> U64(place)) & U64(1), part, U64(0))
    return total


_BASE = Unspecified(
    lambda _mask, base, _offset: base > 31,
    "fns with a base above 31",
    "pass a base of 0 to 31",
)


def _find_nth_set(form: Bound) -> Operation:
    return operation(form, _nth_set, unspecified=_BASE)


ROWS = (
    Semantics("bfe", _extract),
    Semantics("popc", compute=count_ones),
    Semantics("clz", compute=_leading_zeros),
    Semantics("bfind", compute=_find),
    Semantics("fns", _find_nth_set),
    Semantics("brev", compute=_reverse),
    Semantics("bfi", compute=_insert),
    Semantics("szext", compute=_extend),
    Semantics("clmad", compute=_carryless_multiply_add),
    Semantics("bmsk", compute=_mask),
)
