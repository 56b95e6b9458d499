"""Bit counts, searches, fields and products without carries. Manual: "Integer Arithmetic Instructions" (9.7.1)."""

from __future__ import annotations

import numpy as np

from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import ternary, unary
from pyptx_sim.semantics.forms import Match, form
from pyptx_sim.semantics.numerics.integers import count_ones, top_bit
from pyptx_sim.types import dtype_of

U32, U64 = np.uint32, np.uint64
_ALL_ONES = U32(0xFFFFFFFF)
_PLACES = np.arange(32, dtype=np.int64)

# Swapping neighbours, pairs and nibbles within each byte, byte order aside, reverses the bits.
_REVERSE_STEPS = ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F))


def _count(match: Match) -> Operation:
    match.expect_operands(2)
    return Operation(("u32",), (match["type"],), count_ones)


def _leading_zeros(match: Match) -> Operation:
    match.expect_operands(2)
    greatest = 8 * dtype_of(match["type"]).itemsize - 1
    return unary("u32", match["type"], lambda a: (greatest - top_bit(a)).astype(U32))


def _find(match: Match) -> Operation:
    match.expect_operands(2)
    kind = match["type"]
    signed, size = kind.startswith("s"), dtype_of(kind).itemsize
    unsigned = np.dtype(f"<u{size}")

    def position(a: Array) -> Array:
        # A negative number has its highest zero where its complement has its highest one.
        return top_bit((a ^ (a >> (8 * size - 1))).view(unsigned) if signed else a)

    def shift_amount(a: Array) -> Array:
        found = position(a)
        return np.where(found < 0, _ALL_ONES, (8 * size - 1 - found).astype(U32))

    if "shiftamt" in match:
        return unary("u32", kind, shift_amount)
    return unary("u32", kind, lambda a: position(a).astype(U32))


def _nth_set(mask: Array, base: Array, offset: Array) -> Array:
    """Find the offset-th set bit from `base`, upwards or downwards; 0 asks for `base` itself."""
    places = _PLACES
    ones = ((mask[..., None] >> places.astype(U32)) & U32(1)).astype(bool)
    start, steps = base.astype(np.int64)[..., None], offset.astype(np.int64)[..., None]
    reached = np.where(steps > 0, places >= start, np.where(steps < 0, places <= start, places == start))
    candidates = ones & reached
    ahead = np.cumsum(candidates, axis=-1)
    behind = ahead[..., -1:] - ahead + candidates  # counted downwards
    order = np.where(steps >= 0, ahead, behind)
    hit = candidates & (order == np.maximum(np.abs(steps), 1))
    return np.where(hit.any(axis=-1), hit.argmax(axis=-1).astype(U32), _ALL_ONES)


def _find_nth(match: Match) -> Operation:
    match.expect_operands(4)
    return Operation(("b32",), ("b32", "u32", "s32"), _nth_set)


def _reverse(match: Match) -> Operation:
    match.expect_operands(2)
    kind = dtype_of(match["type"]).type

    def compute(a: Array) -> Array:
        bits = a.byteswap()
        for distance, low in _REVERSE_STEPS:
            mask, shift = kind(low & int(np.iinfo(kind).max)), kind(distance)
            bits = ((bits >> shift) & mask) | ((bits & mask) << shift)
        return bits

    return Operation((match["type"],), (match["type"],), compute)


def _extract(match: Match) -> Operation:
    """Bind bfe: shift the field down, then up and down again so that its top bit fills what is above.

    NumPy's shifts clear, or fill with the sign, when the count is the width or more.
    """
    match.expect_operands(4)
    kind = match["type"]
    dtype, wide = dtype_of(kind), np.dtype(np.int64 if kind.startswith("s") else np.uint64)
    position, length = match.immediate(2), match.immediate(3)
    if not kind.startswith("s") and position is not None and length is not None:
        return _extract_constant(kind, position & 0xFF, length & 0xFF)

    def compute(a: Array, b: Array, c: Array) -> Array:
        start = (b & U32(0xFF)).astype(wide)
        spare = (U32(64) - np.minimum(c & U32(0xFF), U32(64))).astype(wide)
        result: Array = (((a.astype(wide) >> start) << spare) >> spare).astype(dtype)
        return result

    return Operation((kind,), (kind, "u32", "u32"), compute)


def _extract_constant(kind: str, position: int, length: int) -> Operation:
    dtype = dtype_of(kind).type
    start = dtype(position)
    mask = dtype(((1 << length) - 1) & int(np.iinfo(dtype).max))
    return ternary(kind, (kind, "u32", "u32"), lambda a, _position, _length: (a >> start) & mask)


def _insert(match: Match) -> Operation:
    match.expect_operands(5)
    kind = match["type"]
    dtype = dtype_of(kind)

    def compute(a: Array, b: Array, c: Array, d: Array) -> Array:
        start, length = (c & U32(0xFF)).astype(U64), (d & U32(0xFF)).astype(U64)
        mask = ((U64(1) << length) - U64(1)) << start
        result: Array = ((b & ~mask) | ((a.astype(U64) << start) & mask)).astype(dtype)
        return result

    return Operation((kind,), (kind, kind, "u32", "u32"), compute)


def _extend(match: Match) -> Operation:
    match.expect_operands(3)
    kind = match["type"]
    wide = np.dtype(np.int64 if kind == "s32" else np.uint64)
    clamp = match["mode"] == "clamp"

    def compute(a: Array, b: Array) -> Array:
        width = np.minimum(b, U32(32)) if clamp else b & U32(31)
        spare = (U32(64) - width).astype(wide)
        return ((a.astype(wide) << spare) >> spare).astype(a.dtype)

    return Operation((kind,), (kind, "u32"), compute)


def _mask(match: Match) -> Operation:
    match.expect_operands(3)
    clamp = match["mode"] == "clamp"

    def compute(a: Array, b: Array) -> Array:
        start = np.minimum(a, U32(32)) if clamp else a & U32(31)
        width = np.minimum(b, U32(32)) if clamp else b & U32(31)
        return (((U64(1) << width.astype(U64)) - U64(1)) << start.astype(U64)).astype(U32)

    return Operation(("b32",), ("b32", "b32"), compute)


def _carryless_multiply_add(match: Match) -> Operation:
    """Bind clmad: half of a product of polynomials over GF(2), to which `c` is added without carries too."""
    match.expect_operands(4)
    high = match["mode"] == "hi"

    def compute(a: Array, b: Array, c: Array) -> Array:
        total = np.zeros_like(a) ^ c
        for place in range(64):
            part = a >> U64(64 - place) if high else a << U64(place)  # NumPy clears what is shifted by all 64 bits
            total = total ^ np.where((b >> U64(place)) & U64(1), part, U64(0))
        return total

    return ternary("u64", ("u64", "u64", "u64"), compute)


_BITS = ("b32", "b64")
_FIELDS = ("u32", "u64", "s32", "s64")

FORMS = (
    form("popc.type", _count, type=_BITS),
    form("clz.type", _leading_zeros, type=_BITS),
    form("bfind{.shiftamt}.type", _find, type=_FIELDS),
    form("fns.b32", _find_nth),
    form("brev.type", _reverse, type=_BITS),
    form("bfe.type", _extract, type=_FIELDS),
    form("bfi.type", _insert, type=_BITS),
    form("szext.mode.type", _extend, mode=("clamp", "wrap"), type=("u32", "s32")),
    form("clmad.mode.u64", _carryless_multiply_add, mode=("lo", "hi")),
    form("bmsk.mode.b32", _mask, mode=("clamp", "wrap")),
)
