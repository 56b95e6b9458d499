"""Synchronization between CTAs through memory: atomics, locks, flags, scans."""

import numpy as np
import triton
import triton.language as tl
from cases import HOPPER, Case, double, eighths, given, made, normal, whole
from triton.language.extra import cuda


@triton.jit
def atomics(x, out, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_add(out + v * 0, v)
    tl.atomic_max(out + 1 + v * 0, v)
    tl.atomic_min(out + 2 + v * 0, v)
    tl.atomic_or(out + 3 + v * 0, v)
    tl.atomic_and(out + 4 + v * 0, v)
    tl.atomic_xor(out + 5 + v * 0, v)


@triton.jit
def add_floats(x, index, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(index + at), tl.load(x + at), sem="relaxed")


@triton.jit
def largest_float(x, out, B: tl.constexpr):
    tl.atomic_max(out, tl.max(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)), 0))


@triton.jit
def compacted(x, count, out, B: tl.constexpr):
    """Copy the elements with even values to an output, in any order."""
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    keep = v % 2 == 0
    place = tl.cumsum(keep.to(tl.int32), 0) - 1
    base = tl.atomic_add(count, tl.sum(keep.to(tl.int32), 0))
    tl.store(out + base + place, v, mask=keep)


@triton.jit
def spin_lock(lock, total, READ: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    now = tl.load(total)
    if READ:
        tl.debug_barrier()
    tl.store(total, now + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def locked_tile(x, lock, out, B: tl.constexpr):
    """Add tiles into one tile under a lock, which also guards a counter."""
    at = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    count = tl.load(lock + 1)
    if count == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        v += tl.load(out + at)
    tl.store(out + at, v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_block(x, parts, count, out, B: tl.constexpr, G: tl.constexpr):
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)), 0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1) == G - 1:
        tl.debug_barrier()
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, G)), 0))


@triton.jit
def chained_scan(x, out, flags, sums, B: tl.constexpr):
    """Prefix sum over CTAs: each waits for the flag of its predecessor."""
    at = tl.arange(0, B)
    scanned = tl.cumsum(tl.load(x + tl.program_id(0) * B + at), 0)
    before = 0
    if tl.program_id(0) > 0:
        while tl.atomic_add(flags + tl.program_id(0) - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + tl.program_id(0) - 1)
    tl.store(sums + tl.program_id(0), before + tl.sum(tl.load(x + tl.program_id(0) * B + at), 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + tl.program_id(0), 1, sem="release")
    tl.store(out + tl.program_id(0) * B + at, scanned + before)


@triton.jit
def look_back(x, out, state, B: tl.constexpr):
    """Decoupled look-back: value and status share one 64-bit word, so no ordering between words is needed."""
    block, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + block * B + at)
    own, before = tl.sum(v, 0).to(tl.int64), tl.zeros((), tl.int64)
    tl.atomic_xchg(state + block, own * 4 + tl.where(block == 0, 2, 1), sem="relaxed")
    look = block - 1
    while look >= 0:
        word = tl.atomic_add(state + look, 0, sem="relaxed")
        while word % 4 == 0:
            word = tl.atomic_add(state + look, 0, sem="relaxed")
        before += word // 4
        look = tl.where(word % 4 == 2, -1, look - 1)
    if block > 0:
        tl.atomic_xchg(state + block, (own + before) * 4 + 2, sem="relaxed")
    tl.store(out + block * B + at, (tl.cumsum(v, 0) + before).to(tl.int32))


@triton.jit
def grid_barrier(x, out, count, B: tl.constexpr):
    """Grid barrier: every CTA writes, synchronizes, and reads the data of another CTA."""
    at = tl.arange(0, B)
    tl.store(out + tl.program_id(0) * B + at, tl.load(x + tl.program_id(0) * B + at) * 2)
    tl.debug_barrier()
    tl.atomic_add(count, 1, sem="acq_rel")
    while tl.atomic_add(count, 0, sem="acquire") < tl.num_programs(0):
        pass
    tl.debug_barrier()
    other = (tl.program_id(0) + 1) % tl.num_programs(0)
    v = tl.load(out + other * B + at)
    tl.store(out + (tl.num_programs(0) + tl.program_id(0)) * B + at, v + 1)


@triton.jit
def halved(x, halves, B: tl.constexpr):
    cuda.gdc_launch_dependents()
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(halves + at, tl.load(x + at) / 2)


@triton.jit
def dependent_launch(halves, weights, out, B: tl.constexpr):
    """Weights are loaded while the prerequisite grid still runs."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    weight = tl.load(weights + at)
    cuda.gdc_wait()
    tl.store(out + tl.program_id(0), tl.sum(tl.load(halves + at) * weight))


@triton.jit
def taken(x, out, next_tile, TILES: tl.constexpr, B: tl.constexpr):
    """CTAs get tile indices from an atomic counter."""
    tile = tl.atomic_add(next_tile, 1, sem="relaxed")
    while tile < TILES:
        at = tile * B + tl.arange(0, B)
        tl.store(out + at, tl.load(x + at) * 3)
        tile = tl.atomic_add(next_tile, 1, sem="relaxed")


@triton.jit
def cached(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, cache_modifier=".cg") + tl.load(x + at, volatile=True)
    tl.store(out + at, v + tl.load(x + at, eviction_policy="evict_last"), cache_modifier=".wt")


X = whole(8, 128, high=1000)
F, I, H = eighths(512), whole(512, high=40), eighths(512)
FLOATS = np.zeros(40)
np.add.at(FLOATS, I, double(F))
L, V, T, T64 = normal(4, 256), whole(4, 128), eighths(6, 128), eighths(6, 64)
S, LB, GX = whole(6, 128), whole(40, 64), whole(4, 128)
TILES = whole(10, 64)
START = np.array([0, -5, 5000, 0, -1, 0], np.int32)
FOLDED = [
    X.sum(),
    X.max(),
    X.min(),
    np.bitwise_or.reduce(X, None),
    np.bitwise_and.reduce(X, None),
    np.bitwise_xor.reduce(X, None),
]
EVEN = np.zeros(512, np.int32)
WEIGHTS = eighths(4, 128)
HALVES = made(double(F.reshape(4, 128)) / 2, "float32")
EVEN[: (V % 2 == 0).sum()] = V[V % 2 == 0]

CASES = [
    Case(
        "atomics",
        atomics,
        {"x": given(X), "out": made(np.array(FOLDED, np.int32), "int32", START)},
        8,
        constants={"B": 128},
    ),
    Case(
        "atomic-add-of-floats",
        add_floats,
        {"x": given(F), "index": given(I), "out": made(FLOATS, "float32")},
        2,
        constants={"B": 256},
    ),
    Case(
        "atomic-add-of-halves",
        add_floats,
        {"x": given(F, "float16"), "index": given(I), "out": made(FLOATS, "float16")},
        2,
        constants={"B": 256},
    ),
    Case(
        "atomic-add-of-bfloat16",
        add_floats,
        {"x": given(F, "bfloat16"), "index": given(I), "out": made(FLOATS, "bfloat16", tolerance=0.05)},
        2,
        constants={"B": 256},
        targets=("sm_90a",),
    ),
    Case(
        "atomic-max-of-floats",
        largest_float,
        {"x": given(L), "out": made([double(L).max()], "float32", [-9.0])},
        4,
        constants={"B": 256},
    ),
    Case(
        "compaction",
        compacted,
        {
            "x": given(V),
            "count": made(np.array([(V % 2 == 0).sum()], np.int32), "int32"),
            "out": made(EVEN, "int32", ordered=False),
        },
        4,
        constants={"B": 128},
    ),
    Case(
        "spin-lock", spin_lock, {"lock": made([0], "int32"), "total": made([28], "int32")}, 8, constants={"READ": True}
    ),
    Case(
        "spin-lock-one-warp",
        spin_lock,
        {"lock": made([0], "int32"), "total": made([28], "int32")},
        8,
        constants={"READ": True},
        options={"num_warps": 1},
    ),
    Case(
        "spin-lock-read-by-all",
        spin_lock,
        {"lock": made([0], "int32"), "total": made([28], "int32")},
        8,
        constants={"READ": False},
    ),
    Case(
        "locked-tile",
        locked_tile,
        {"x": given(T), "lock": made([0, 1], "int32"), "out": made(double(T).sum(0), "float32")},
        6,
        constants={"B": 128},
    ),
    Case(
        "locked-tile-smaller-than-its-block",
        locked_tile,
        {"x": given(T64), "lock": made([0, 1], "int32"), "out": made(double(T64).sum(0), "float32")},
        6,
        constants={"B": 64},
    ),
    Case(
        "last-block",
        last_block,
        {
            "x": given(X),
            "parts": made(X.sum(1).astype(np.int32), "int32"),
            "count": made([8], "int32"),
            "out": made(np.array([X.sum()], np.int32), "int32"),
        },
        8,
        constants={"B": 128, "G": 8},
    ),
    Case(
        "chained-scan",
        chained_scan,
        {
            "x": given(S),
            "out": made(np.cumsum(S).astype(np.int32), "int32"),
            "flags": made([1] * 6, "int32"),
            "sums": made(np.cumsum(S.sum(1)).astype(np.int32), "int32"),
        },
        6,
        constants={"B": 128},
    ),
    Case(
        "look-back",
        look_back,
        {
            "x": given(LB),
            "out": made(np.cumsum(LB).astype(np.int32), "int32"),
            "state": made(np.cumsum(LB.sum(1)) * 4 + 2, "int64"),
        },
        40,
        constants={"B": 64},
        options={"num_warps": 1},
    ),
    Case(
        "grid-barrier",
        grid_barrier,
        {
            "x": given(GX),
            "out": made(np.concatenate([GX * 2, np.roll(GX, -1, 0) * 2 + 1]), "int32"),
            "count": made([4], "int32"),
        },
        4,
        constants={"B": 128},
        options={"launch_cooperative_grid": True},
    ),
    Case(
        "tiles-as-they-come",
        taken,
        {"x": given(TILES), "out": made(TILES * 3, "int32"), "next_tile": made([14], "int32")},
        4,
        constants={"TILES": 10, "B": 64},
    ),
    Case(
        "cache-modifiers",
        cached,
        {"x": given(TILES), "out": made(TILES[:2].ravel() * 3, "int32")},
        constants={"B": 128},
    ),
    Case(
        "dependent-launch",
        dependent_launch,
        {"halves": HALVES, "weights": given(WEIGHTS), "out": made((HALVES.want * WEIGHTS).sum(1), "float32")},
        4,
        constants={"B": 128},
        options={"launch_pdl": True},
        targets=HOPPER,
        behind=Case("halved", halved, {"x": given(F), "halves": HALVES}, 4, constants={"B": 128}, targets=HOPPER),
    ),
]
