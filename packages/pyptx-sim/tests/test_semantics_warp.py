"""Warp-level exchange, compared with the manual's pseudocode, one lane at a time."""

from __future__ import annotations

import random
from functools import reduce

import numpy as np
import pytest

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

WARP = 32
FULL = 0xFFFFFFFF


def warps(seed, kind="b32", count=6):
    """Return active masks and register values of some warps: full, sparse, a single lane."""
    picker = random.Random(seed)
    masks = [FULL, 1 << picker.randrange(32), *(picker.getrandbits(32) | 1 for _ in range(count - 2))]
    low, high = ref.limits(kind)
    return masks, [[picker.randint(low, high) for _ in range(WARP)] for _ in masks]


def lanes_of(bits):
    return [lane for lane in range(WARP) if bits >> lane & 1]


def execute(text, masks, *columns):
    """Run a warp instruction; columns hold one list of 32 values per warp. Return one list per warp for each result."""
    operation = ref.exercise(text)
    assert operation.warp
    active = np.array([[bool(mask >> lane & 1) for lane in range(WARP)] for mask in masks])
    sources = [
        np.concatenate([ref.array(row, kind) for row in column])
        for column, kind in zip(ref.read_columns(text, operation, columns), operation.sources, strict=True)
    ]
    with np.errstate(all="ignore"):
        results = operation.compute(active, *sources)
    results = results if isinstance(results, tuple) else (results,)
    assert [r.dtype for r in results] == [ref.dtype_of(kind) for kind in operation.results]
    whole = [np.broadcast_to(result, active.shape) for result in results]
    return [[ref.numbers(row[None]) for row in result] for result in whole]


def compare(text, masks, reference, *columns):
    """Assert that every active lane's result is `reference(warp, lane)`."""
    results = execute(text, masks, *columns)
    for warp, mask in enumerate(masks):
        for lane in lanes_of(mask):
            actual = tuple(result[warp][lane] for result in results)
            expected = reference(warp, lane)
            assert (actual if len(actual) > 1 else actual[0]) == expected, (text, hex(mask), lane)


def constant(value, masks):
    return [[value] * WARP for _ in masks]


# --- shfl ---------------------------------------------------------------------------------------


def source_lane(mode, lane, b, c):
    value, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last, first = (lane & segment) | (clamp & ~segment), lane & segment
    target = {"up": lane - value, "down": lane + value, "bfly": lane ^ value, "idx": first | (value & ~segment)}[mode]
    in_range = target >= last if mode == "up" else target <= last
    return (target if in_range else lane), in_range


BOUNDS = (0x1F, 0, 0x181F, 0x1C1F, 0x1000, 0x1E1F, 0x0F)


@pytest.mark.parametrize("sync", ["", ".sync"])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shfl_reads_the_lane_that_the_manual_computes(mode, sync):
    masks, values = warps(1)
    masks = [FULL] * len(masks)
    picker = random.Random(4)
    member, suffix = ([constant(FULL, masks)], ", -1") if sync else ([], "")
    for c in BOUNDS:
        for b in (0, 1, 2, 5, 16, 31, 32, 40):

            def reference(warp, lane, b=b, c=c):
                target, in_range = source_lane(mode, lane, b, c)
                return values[warp][target], in_range

            columns = [values, constant(b, masks), constant(c, masks), *member]
            compare(f"shfl{sync}.{mode}.b32 %d|%p, %a, {b}, {c}{suffix};", masks, reference, *columns)
            compare(f"shfl{sync}.{mode}.b32 %d|%p, %a, %b, %c{suffix};", masks, reference, *columns)
            single = lambda warp, lane: reference(warp, lane)[0]
            compare(f"shfl{sync}.{mode}.b32 %d, %a, {b}, {c}{suffix};", masks, single, *columns)
        varying = [[picker.getrandbits(32) for _ in range(WARP)] for _ in masks]

        def each(warp, lane, c=c, varying=varying):
            return values[warp][source_lane(mode, lane, varying[warp][lane], c)[0]]

        compare(
            f"shfl{sync}.{mode}.b32 %d, %a, %b, {c}{suffix};", masks, each, values, varying, constant(c, masks), *member
        )


# --- vote, match, elect, activemask --------------------------------------------------------------


def grouped_members(masks):
    """Return a membermask per lane: that of its half warp in even warps, and a full one in odd warps."""
    rows = []
    for warp, _ in enumerate(masks):
        rows.append([FULL if warp % 2 else (0xFFFF if lane < 16 else 0xFFFF0000) for lane in range(WARP)])
    return rows


VOTES = {
    "all": lambda counted, true: counted == true,
    "any": lambda _counted, true: bool(true),
    "uni": lambda counted, true: true in {0, counted},
    "ballot": lambda _counted, true: true,
}


@pytest.mark.parametrize("mode", VOTES)
@pytest.mark.parametrize("sync", ["", ".sync"])
def test_votes_count_active_members_only(mode, sync):
    masks, _ = warps(2, count=8)
    picker = random.Random(9)
    odds = (0.5, 0.0, 1.0, 0.9, 0.1, 1.0, 0.0, 0.5)
    truth = [[picker.random() < odds[warp] for _ in range(WARP)] for warp in range(len(masks))]
    member = grouped_members(masks)

    def reference(warp, lane):
        counted = masks[warp] & (member[warp][lane] if sync else FULL)
        true = sum(1 << other for other in lanes_of(counted) if truth[warp][other])
        return VOTES[mode](counted, true)

    kind = "b32" if mode == "ballot" else "pred"
    text = f"vote{sync}.{mode}.{kind} %d, %p{', %m' if sync else ''};"
    compare(text, masks, reference, truth, *([member] if sync else []))


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_match_compares_values_across_members(kind):
    masks, _ = warps(3, count=8)
    picker = random.Random(5)
    spread = (1, 3, 2, 1, 4, 1, 2, 1)
    values = [[picker.randrange(spread[warp]) << 20 for _ in range(WARP)] for warp in range(len(masks))]
    member = grouped_members(masks)

    def counted(warp, lane):
        return masks[warp] & member[warp][lane]

    def any_(warp, lane):
        return sum(1 << other for other in lanes_of(counted(warp, lane)) if values[warp][other] == values[warp][lane])

    def all_(warp, lane):
        same = any_(warp, lane) == counted(warp, lane)
        return (counted(warp, lane) if same else 0), same

    compare(f"match.any.sync.{kind} %d, %a, %m;", masks, any_, values, member)
    compare(f"match.all.sync.{kind} %d|%p, %a, %m;", masks, all_, values, member)
    compare(f"match.all.sync.{kind} %d, %a, %m;", masks, lambda w, n: all_(w, n)[0], values, member)


def test_activemask_is_the_active_lanes():
    masks, _ = warps(6)
    compare("activemask.b32 %d;", masks, lambda warp, _lane: masks[warp])


@pytest.mark.hopper
def test_elect_picks_the_lowest_active_member():
    masks, _ = warps(7, count=8)
    member = grouped_members(masks)

    def reference(warp, lane):
        leader = lanes_of(masks[warp] & member[warp][lane])[0]
        return leader, leader == lane

    compare("elect.sync %d|%p, %m;", masks, reference, member)


# --- redux --------------------------------------------------------------------------------------

REDUCTIONS = {
    ("add", "u32"): lambda values: ref.wrap(sum(values), "u32"),
    ("add", "s32"): lambda values: ref.wrap(sum(values), "s32"),
    ("min", "u32"): min,
    ("min", "s32"): min,
    ("max", "u32"): max,
    ("max", "s32"): max,
    ("and", "b32"): lambda values: reduce(int.__and__, values),
    ("or", "b32"): lambda values: reduce(int.__or__, values),
    ("xor", "b32"): lambda values: reduce(int.__xor__, values),
}


@pytest.mark.parametrize(("op", "kind"), REDUCTIONS)
@pytest.mark.parametrize("grouped", [False, True])
def test_redux_reduces_active_members(op, kind, grouped):
    masks, values = warps(8, kind)
    member = grouped_members(masks) if grouped else constant(FULL, masks)

    def reference(warp, lane):
        return REDUCTIONS[op, kind]([values[warp][other] for other in lanes_of(masks[warp] & member[warp][lane])])

    compare(f"redux.sync.{op}.{kind} %d, %a, %m;", masks, reference, values, member)


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("flags", ["", ".abs", ".NaN", ".abs.NaN"])
def test_redux_of_floats_orders_zeros_and_treats_nan_as_told(op, flags):
    masks, _ = warps(10, count=8)
    picker = random.Random(12)
    edges = [bits for bits in ref.float_edges("f32") if ref.decode(bits, "f32") != "nan"]
    values = [[picker.choice(edges) for _ in range(WARP)] for _ in masks]
    values[2] = [picker.choice((0, 0x80000000)) for _ in range(WARP)]
    values[3] = [0x7FC00000] * WARP
    values[4][5] = values[5][lanes_of(masks[5])[0]] = 0xFFC00001
    member = grouped_members(masks)

    def key(bits):
        return -(bits & 0x7FFFFFFF) - 1 if bits >> 31 else bits

    def reference(warp, lane):
        counted = [values[warp][other] for other in lanes_of(masks[warp] & member[warp][lane])]
        counted = [bits & 0x7FFFFFFF for bits in counted] if "abs" in flags else counted
        numbers = [bits for bits in counted if ref.decode(bits, "f32") != "nan"]
        if not numbers or ("NaN" in flags and len(numbers) < len(counted)):
            return 0x7FFFFFFF
        return (min if op == "min" else max)(numbers, key=key)

    compare(f"redux.sync.{op}{flags}.f32 %d, %a, %m;", masks, reference, values, member)


def test_movmatrix_transposes_eight_by_eight():
    matrix = [[100 * row + column for column in range(8)] for row in range(8)]
    spread = [ref.pack(matrix[lane // 4][2 * (lane % 4) : 2 * (lane % 4) + 2]) for lane in range(WARP)]
    expected = [ref.pack(matrix[2 * (lane % 4) + i][lane // 4] for i in (0, 1)) for lane in range(WARP)]
    text = "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;"
    assert execute(text, [FULL, FULL], [spread, spread]) == [[expected, expected]]
