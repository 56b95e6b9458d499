"""Data exchange between the lanes of a warp. Manual: 9.7.9.5, 9.7.9.6 (shfl) and 9.7.13.8 to 9.7.13.14.

The first argument of every function is the active mask. A lane participates if it is active and in the membermask of
the executing lane, so several groups of one warp may execute one instruction with different membermasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.integers import top_bit
from pyptx_sim.numerics.membermasks import LANE_BITS, ballot
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.operation import Array, Mask, Operation
from pyptx_sim.semantics.operations import constant, operation

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound

U32 = np.uint32
_MASK32 = 0xFFFFFFFF
_LANES = np.arange(32, dtype=np.int64)
_WARP = 32

Vote: TypeAlias = Callable[[Array, Array], Array]


def members(mask: Mask, membermask: Array) -> Mask:
    """Return `[rows, 32, 32]`: whether lane k (last axis) participates when lane j (middle axis) executes."""
    result: Mask = ((membermask[:, :, None] & LANE_BITS) != 0) & mask[:, None, :]
    return result


def _uniform(mask: Mask, membermask: Array) -> Array | None:
    """Return one membermask per row (warp), `[rows, 1]`, if all its active lanes have equal membermasks; else None."""
    common = np.bitwise_or.reduce(np.where(mask, membermask, U32(0)), axis=1, keepdims=True)
    return common if bool(((membermask == common) | ~mask).all()) else None


# --- shfl ---------------------------------------------------------------------------------------


_OFFSET: dict[str, Callable[[Array, Array], Array]] = {
    "up": np.subtract,
    "down": np.add,
    "bfly": np.bitwise_xor,
}


def source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Return the lane that each lane reads, and whether that lane is in range; `b` and `c` are int64 operands."""
    distance, clamp, segment = b & 31, c & 31, (c >> 8) & 31
    last = (_LANES & segment) | (clamp & ~segment)
    lane = (_LANES & segment) | (distance & ~segment) if mode == "idx" else _OFFSET[mode](_LANES, distance)
    in_range = lane >= last if mode == "up" else lane <= last
    return np.where(in_range, lane, _LANES), in_range


def _shuffle(form: Bound) -> Operation:
    mode, amount, bounds = form.word("mode"), constant(form, "b"), constant(form, "c")
    if amount is None or bounds is None:

        def look_up(_mask: Mask, a: Array, b: Array, c: Array, *_members: Array) -> tuple[Array, Array]:
            lane, in_range = source_lane(mode, b.astype(np.int64), c.astype(np.int64))
            return np.take_along_axis(a, lane, axis=1), in_range

        def looked_up(_a: Array, b: Array, c: Array, *_members: Array) -> Array:
            return source_lane(mode, b.astype(np.int64), c.astype(np.int64))[0]

        return replace(_with_predicate(form, look_up), source_lanes=looked_up)
    lane, in_range = source_lane(mode, np.array(amount & _MASK32), np.array(bounds & _MASK32))

    def permute(_mask: Mask, a: Array, *_members: Array) -> tuple[Array, Array]:
        return a[:, lane], np.broadcast_to(in_range, a.shape)

    permuted = _with_predicate(form, permute, unread=("b", "c"))
    return replace(permuted, source_lanes=lambda *_sources: lane[None])


def _with_predicate(
    form: Bound, compute: Callable[..., tuple[Array, Array]], *, unread: tuple[str, ...] = ()
) -> Operation:
    """Return the `Operation` of `compute`, which returns a value and a predicate; the predicate operand is optional."""
    from pyptx_ir.syntax.operands import Pair

    both = operation(form, compute, warp=True, unread=unread)
    if isinstance(form.operands["d"], Pair):
        return both
    return replace(both, results=both.results[:1], compute=lambda *arguments: compute(*arguments)[0])


# --- vote ---------------------------------------------------------------------------------------


# Functions of two sets of lanes (uint32 bits): participating lanes; participating lanes whose predicate is true.
_VOTES: dict[str, Vote] = {
    "all": np.equal,
    "any": lambda _counted, true: true != 0,
    "uni": lambda counted, true: (true == 0) | (true == counted),
    "ballot": lambda _counted, true: true,
}


def _vote(form: Bound) -> Operation:
    decide = _VOTES["ballot" if "ballot" in form.words else form.word("mode")]

    def compute(mask: Mask, truth: Array, *membermask: Array) -> Array:
        counted, true = ballot(mask), ballot(mask & truth)
        if membermask:
            counted, true = counted & membermask[0], true & membermask[0]
        return decide(counted, true)

    return operation(form, compute, warp=True)


# --- match, activemask, elect -------------------------------------------------------------------


def _match(form: Bound) -> Operation:
    if "any" in form.words:
        return operation(form, _equal_lanes, warp=True)
    return _with_predicate(form, _all_equal)


def _equal_lanes(mask: Mask, a: Array, membermask: Array) -> Array:
    equal = (a[:, :, None] == a[:, None, :]) & members(mask, membermask)
    return np.packbits(equal, axis=2, bitorder="little").view("<u4")[..., 0]


def _all_equal(mask: Mask, a: Array, membermask: Array) -> tuple[Array, Array]:
    counted = members(mask, membermask)
    agree = ((a[:, :, None] == a[:, None, :]) | ~counted).all(axis=2)
    return np.where(agree, ballot(mask) & membermask, U32(0)), agree


def _leader(mask: Mask, membermask: Array) -> tuple[Array, Array]:
    """Return the lowest participating lane, and whether each lane is that lane."""
    counted = ballot(mask) & membermask
    leader = top_bit(counted & (~counted + U32(1)))
    return leader.astype(U32), leader == _LANES


# --- redux --------------------------------------------------------------------------------------

# By reduction and type: function, and neutral element for lanes that do not participate.
_REDUCTIONS: dict[tuple[str, str], tuple[np.ufunc, int]] = {
    ("add", "u32"): (np.add, 0),
    ("add", "s32"): (np.add, 0),
    ("min", "u32"): (np.minimum, 0xFFFFFFFF),
    ("min", "s32"): (np.minimum, 0x7FFFFFFF),
    ("max", "u32"): (np.maximum, 0),
    ("max", "s32"): (np.maximum, -0x80000000),
    ("and", "b32"): (np.bitwise_and, 0xFFFFFFFF),
    ("or", "b32"): (np.bitwise_or, 0),
    ("xor", "b32"): (np.bitwise_xor, 0),
}


def _reduce(form: Bound) -> Operation:
    if form.type_of("a") == "f32":
        return _reduce_float(form)
    kind = form.word("type") or "b32"
    function, absent = _REDUCTIONS[form.word("op"), kind]

    def compute(mask: Mask, a: Array, membermask: Array) -> Array:
        neutral = a.dtype.type(absent)
        common = _uniform(mask, membermask)
        result: Array
        if common is None:
            values = np.where(members(mask, membermask), a[:, None, :], neutral)
            result = function.reduce(values, axis=2, dtype=a.dtype)
        else:
            values = np.where(mask & ((common & LANE_BITS) != 0), a, neutral)
            result = function.reduce(values, axis=1, keepdims=True, dtype=a.dtype)
        return result

    # The operands are 32-bit registers of any integer type; the opcode's type determines the order of min and max.
    plain = operation(form, compute, warp=True)
    return replace(plain, results=(kind,), sources=(kind, *plain.sources[1:]))


def _reduce_float(form: Bound) -> Operation:
    """Return the `Operation` of redux.sync.min/max.f32; nonparticipating lanes count as NaN (`.NaN`: infinity)."""
    largest, magnitude = form.word("op") == "max", "abs" in form.words
    pair = Extreme(largest, "NaN" in form.words)
    absent = np.float32(np.nan)
    if pair.nan:
        absent = np.float32(-np.inf if largest else np.inf)

    def compute(mask: Mask, a: Array, membermask: Array) -> Array:
        counted = members(mask, membermask)
        values = np.where(counted, np.abs(a)[:, None, :] if magnitude else a[:, None, :], absent)
        while values.shape[2] > 1:
            half = values.shape[2] // 2
            values = pair(values[:, :, :half], values[:, :, half:])
        return canonical(values[:, :, 0].copy())

    return operation(form, compute, warp=True)


# --- movmatrix ----------------------------------------------------------------------------------


def _transpose(_mask: Mask, a: Array) -> Array:
    """Transpose an 8 x 8 matrix; each row is in four lanes, two elements per lane (9.7.14.5.17)."""
    rows = a.shape[0]
    matrix = np.ascontiguousarray(a).view(np.uint16).reshape(rows, 8, 8)
    return np.ascontiguousarray(matrix.transpose(0, 2, 1)).reshape(rows, 2 * _WARP).view(U32)


ROWS = (
    Semantics("shfl", _shuffle),
    Semantics("vote", _vote),
    Semantics("match", _match),
    Semantics("activemask", partial(operation, compute=ballot, warp=True)),
    Semantics("elect", partial(operation, compute=_leader, warp=True)),
    Semantics("redux", _reduce),
    Semantics("movmatrix", partial(operation, compute=_transpose, warp=True)),
)
