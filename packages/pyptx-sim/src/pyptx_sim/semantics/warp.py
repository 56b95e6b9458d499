"""Exchange between the lanes of a warp. Manual: 9.7.9.5, 9.7.9.6 (shfl) and 9.7.13.8 to 9.7.13.14.

Every function gets the active mask first. A lane counts only if it is active and in the asking lane's member mask, so
several groups of one warp may execute one instruction with masks of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.integers import top_bit
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.operation import Array, Mask, Operation
from pyptx_sim.semantics.forms import Match, form

U32 = np.uint32
_LANES = np.arange(32, dtype=np.int64)
_LANE_BITS = U32(1) << _LANES.astype(U32)
_WARP = 32

Vote: TypeAlias = Callable[[Array, Array], Array]


def ballot(truth: Mask) -> Array:
    """Return the lanes for which `truth`, bool `[rows, 32]`, holds, as the bits of a uint32 `[rows, 1]`."""
    return np.packbits(truth, axis=1, bitorder="little").view("<u4")


def members(mask: Mask, membermask: Array) -> Mask:
    """Return `[rows, 32, 32]`: whether the lane of the last axis counts for the lane of the middle one."""
    result: Mask = ((membermask[:, :, None] & _LANE_BITS) != 0) & mask[:, None, :]
    return result


def _uniform(mask: Mask, membermask: Array) -> Array | None:
    """Return one member mask per row, `[rows, 1]`, if all active lanes of each row name the same, else None."""
    common = np.bitwise_or.reduce(np.where(mask, membermask, U32(0)), axis=1, keepdims=True)
    return common if bool(((membermask == common) | ~mask).all()) else None


# --- shfl ---------------------------------------------------------------------------------------


_OFFSET: dict[str, Callable[[Array, Array], Array]] = {
    "up": np.subtract,
    "down": np.add,
    "bfly": np.bitwise_xor,
}


def _source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Return the lane that each lane reads, and whether it is in range; `b` and `c` are int64."""
    distance, clamp, segment = b & 31, c & 31, (c >> 8) & 31
    last = (_LANES & segment) | (clamp & ~segment)
    lane = (_LANES & segment) | (distance & ~segment) if mode == "idx" else _OFFSET[mode](_LANES, distance)
    in_range = lane >= last if mode == "up" else lane <= last
    return np.where(in_range, lane, _LANES), in_range


def _shuffle(match: Match) -> Operation:
    from pyptx_ir.syntax.operands import Pair

    sources = ("b32", "b32", "b32") + (("b32",) if "sync" in match else ())
    match.expect_operands(len(sources) + 1)
    mode = match["mode"]
    amount, bounds = match.immediate(2), match.immediate(3)
    results = ("b32", "pred") if isinstance(match.operands[0], Pair) else ("b32",)
    if amount is None or bounds is None:

        def look_up(_mask: Mask, a: Array, b: Array, c: Array, *_members: Array) -> tuple[Array, Array]:
            lane, in_range = _source_lane(mode, b.astype(np.int64), c.astype(np.int64))
            return np.take_along_axis(a, lane, axis=1), in_range

        return _shuffled(look_up, results, sources)
    lane, in_range = _source_lane(mode, np.array(amount), np.array(bounds))

    def permute(_mask: Mask, a: Array, *_rest: Array) -> tuple[Array, Array]:
        return a[:, lane], np.broadcast_to(in_range, a.shape)

    return _shuffled(permute, results, sources)


def _shuffled(
    compute: Callable[..., tuple[Array, Array]], results: tuple[str, ...], sources: tuple[str, ...]
) -> Operation:
    if len(results) == 2:
        return Operation(results, sources, compute, warp=True)
    return Operation(results, sources, lambda *arguments: compute(*arguments)[0], warp=True)


# --- vote ---------------------------------------------------------------------------------------


# From the bits of the lanes that count and those of them that are true.
_VOTES: dict[str, Vote] = {
    "all": np.equal,
    "any": lambda _counted, true: true != 0,
    "uni": lambda counted, true: (true == 0) | (true == counted),
    "ballot": lambda _counted, true: true,
}


def _vote(match: Match) -> Operation:
    synchronised, mode = "sync" in match, match["mode"]
    match.expect_operands(3 if synchronised else 2)
    decide = _VOTES[mode]

    def compute(mask: Mask, truth: Array, *membermask: Array) -> Array:
        counted, true = ballot(mask), ballot(mask & truth)
        if membermask:
            counted, true = counted & membermask[0], true & membermask[0]
        return decide(counted, true)

    sources = ("pred", "b32") if synchronised else ("pred",)
    return Operation(("b32" if mode == "ballot" else "pred",), sources, compute, warp=True)


# --- match, activemask, elect -------------------------------------------------------------------


def _match_any(match: Match) -> Operation:
    match.expect_operands(3)

    def compute(mask: Mask, a: Array, membermask: Array) -> Array:
        equal = (a[:, :, None] == a[:, None, :]) & members(mask, membermask)
        return np.packbits(equal, axis=2, bitorder="little").view("<u4")[..., 0]

    return Operation(("b32",), (match["type"], "b32"), compute, warp=True)


def _match_all(match: Match) -> Operation:
    from pyptx_ir.syntax.operands import Pair

    match.expect_operands(3)

    def compute(mask: Mask, a: Array, membermask: Array) -> tuple[Array, Array]:
        counted = members(mask, membermask)
        agree = ((a[:, :, None] == a[:, None, :]) | ~counted).all(axis=2)
        return np.where(agree, ballot(mask) & membermask, U32(0)), agree

    sources = (match["type"], "b32")
    if isinstance(match.operands[0], Pair):
        return Operation(("b32", "pred"), sources, compute, warp=True)
    return Operation(("b32",), sources, lambda *arguments: compute(*arguments)[0], warp=True)


def _active_mask(match: Match) -> Operation:
    match.expect_operands(1)
    return Operation(("b32",), (), ballot, warp=True)


def _elect(match: Match) -> Operation:
    """Bind elect: the leader is the lowest lane that takes part."""
    match.expect_operands(2)

    def compute(mask: Mask, membermask: Array) -> tuple[Array, Array]:
        counted = ballot(mask) & membermask
        leader = top_bit(counted & (~counted + U32(1)))
        return leader.astype(U32), leader == _LANES

    return Operation(("b32", "pred"), ("b32",), compute, warp=True)


# --- redux --------------------------------------------------------------------------------------

# Reduction -> (function, what absent lanes contribute).
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


def _reduce(match: Match) -> Operation:
    match.expect_operands(3)
    kind = match["type"]
    function, absent = _REDUCTIONS[match["op"], kind]

    def compute(mask: Mask, a: Array, membermask: Array) -> Array:
        neutral = a.dtype.type(absent)
        common = _uniform(mask, membermask)
        result: Array
        if common is None:
            values = np.where(members(mask, membermask), a[:, None, :], neutral)
            result = function.reduce(values, axis=2, dtype=a.dtype)
        else:
            values = np.where(mask & ((common & _LANE_BITS) != 0), a, neutral)
            result = function.reduce(values, axis=1, keepdims=True, dtype=a.dtype)
        return result

    return Operation((kind,), (kind, "b32"), compute, warp=True)


def _reduce_float(match: Match) -> Operation:
    """Bind redux.sync.min/max.f32; NaN is what absent lanes contribute, unless NaN counts."""
    match.expect_operands(3)
    extreme = Extreme(match["op"] == "max", "NaN" in match, magnitude="abs" in match)
    absent = np.float32(np.nan)
    if "NaN" in match:
        absent = np.float32(-np.inf if match["op"] == "max" else np.inf)

    def compute(mask: Mask, a: Array, membermask: Array) -> Array:
        counted = members(mask, membermask)
        values = np.where(counted, np.abs(a)[:, None, :] if extreme.magnitude else a[:, None, :], absent)
        pair = Extreme(extreme.largest, extreme.nan)
        while values.shape[2] > 1:
            half = values.shape[2] // 2
            values = pair(values[:, :, :half], values[:, :, half:])
        return canonical(values[:, :, 0].copy())

    return Operation(("f32",), ("f32", "b32"), compute, warp=True)


# --- movmatrix ----------------------------------------------------------------------------------


def _transpose(match: Match) -> Operation:
    """Bind movmatrix: four lanes hold a row of an 8 by 8 matrix, two elements each (9.7.14.5.17)."""
    match.expect_operands(2)

    def compute(_mask: Mask, a: Array) -> Array:
        rows = a.shape[0]
        matrix = np.ascontiguousarray(a).view(np.uint16).reshape(rows, 8, 8)
        return np.ascontiguousarray(matrix.transpose(0, 2, 1)).reshape(rows, 2 * _WARP).view(U32)

    return Operation(("b32",), ("b32",), compute, warp=True)


_MODES = ("up", "down", "bfly", "idx")

FORMS = (
    form("shfl{.sync}.mode.b32", _shuffle, mode=_MODES),
    form("vote{.sync}.mode.pred", _vote, mode=("all", "any", "uni")),
    form("vote{.sync}.mode.b32", _vote, mode=("ballot",)),
    form("match.any.sync.type", _match_any, type=("b32", "b64")),
    form("match.all.sync.type", _match_all, type=("b32", "b64")),
    form("activemask.b32", _active_mask),
    form("elect.sync", _elect),
    form("redux.sync.op.type", _reduce, op=("add", "min", "max"), type=("u32", "s32")),
    form("redux.sync.op.type", _reduce, op=("and", "or", "xor"), type=("b32",)),
    form("redux.sync.op{.abs}{.NaN}.f32", _reduce_float, op=("min", "max")),
    form("movmatrix.sync.aligned.m8n8.trans.b16", _transpose),
)
