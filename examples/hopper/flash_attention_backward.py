"""The gradients of flash attention, by one kernel: dQ, dK and dV from Q, K, V, O, LSE and the gradients of O and LSE.

With the probabilities `P = exp(scale · Q · Kᵀ - LSE)`, which are computed again and never stored,

    dV = Pᵀ · dO        dS = P ∘ (dO · Vᵀ - delta)        dQ = scale · dS · K        dK = scale · dSᵀ · Q

where `delta` is the sum of dO ∘ O over a row, less the gradient of its LSE.

Some blocks own 128 keys of a head and walk over the queries that see them, for dK and dV; the others own 128 queries
and walk over the keys that they see, for dQ. Each gradient has one owner and one order of summation: no atomics, no
second pass, no buffer in float32, and the same bits in every run, for two products in seven that are computed twice.
Both kinds do the same, with the roles of rows and columns exchanged, so they share their code: a *side* says who is who.

One thread of the producer warpgroup fetches tiles by TMA; two of its warps compute delta; two consumer warpgroups
multiply. All factors of the second products come from registers: nothing computed goes through shared memory.

    python examples/hopper/flash_attention_backward.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from attention_parts import (
    GROUP,
    LOG2_E,
    ROWS,
    WARPS,
    Place,
    Problem,
    accumulate,
    heads_tile,
    load,
    multiply,
    probabilities,
    problem_of,
    round_pairs,
    stage_rows,
    store,
)
from flash_attention import KERNELS as FORWARD

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b16, b32, bf16, f32, s32, u32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx.kernel import DifferentiableKernel, Kernel
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import MbarrierRef, SharedAlloc, SharedSlice

CONSUMERS = 2
OWNED = CONSUMERS * ROWS  # rows of a block
STEP = 64  # rows that it walks over in one step
STAGES = 3
THREADS = (1 + CONSUMERS) * GROUP
REGISTERS = (24, 240)  # of a thread of the producer warpgroup, of a consumer
CHUNK = 8  # bf16 in 16 bytes, the widest ordinary load
TELLERS = 2  # warps that compute delta, a thread for each row
STAGED = 1  # named barriers of the consumers; barrier 0 is the whole block's


class Memory:
    """What a block has in shared memory: the two tiles that it owns, the stages of three that pass, and barriers.

    The third that passes is O, for delta. `told` holds for each query of a stage what is added to its exponents (-LSE,
    as a power of 2) and its delta.
    """

    def __init__(self, head_dim: int) -> None:
        """Allocate; the barriers count bytes of TMA (`owned`, `came`), tellers (`known`) and warps (`empty`)."""
        self.own = SharedTile(bf16, (ROWS, head_dim), stages=CONSUMERS)
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=STAGES)
        self.across = replace_major(self.passing)
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(3)]
        self.told = smem.alloc(f32, (STAGES, 2, STEP))
        self.owned = smem.mbarrier(1)
        self.came = [smem.mbarrier(STAGES) for _ in range(2)]
        self.known, self.empty = smem.mbarrier(STAGES), smem.mbarrier(STAGES)

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        counted = [(self.owned, 1), *((each, 1) for each in self.came)]
        for barriers, count in (*counted, (self.known, TELLERS * 32), (self.empty, CONSUMERS * WARPS)):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()


def replace_major(tile: SharedTile) -> SharedTile:
    """Return the same bytes as a factor that is multiplied along its rows."""
    return SharedTile(tile.dtype, tile.shape, major="MN", swizzle=tile.swizzle, stages=tile.stages)


# --- who is who -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keys:
    """The side of blocks that own keys: queries pass, of each head that shares the keys."""

    problem: Problem
    place: Place
    owns = ("K", "V")
    passes = (("Q",), ("DOUT", "OUT"))
    gradients = ("DK", "DV")

    def walk(self) -> Iterator[Place]:
        """Loop over the queries that see some key, of one head after the other."""
        problem, row = self.problem, reg.scalar(s32)
        for index in ptx.range_(problem.shared) if problem.shared > 1 else [0]:
            first = (self.place.row - problem.ahead).max(0) // STEP * STEP if problem.causal else 0
            ptx.mov(s32, row, first)
            with ptx.loop(pred=lambda: row < problem.queries):
                yield Place(self.place.head * problem.shared + index, self.place.batch, row)
                row += STEP

    def hides(self, row: Reg) -> Reg | None:
        """Return whether one of the queries from `row` on does not see every key; None if all do."""
        return row < self.place.row + (OWNED - 1 - self.problem.ahead) if self.problem.causal else None

    def tell(self, teller: Teller) -> None:
        """Tell of the queries that pass, step by step."""
        memory, turn = teller.memory, ptx.pipeline(STAGES)
        for place in self.walk():
            stage, phase = turn.advance()
            teller.tell(stage, place, memory.stages[1], memory.came[1][stage], phase)

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the first query that sees a thread's first key, counted from its first column."""
        return row - column - self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether a thread's query (`column`) sees its key (`row`), both counted from its first."""
        return limit <= column - row


@dataclass(frozen=True, slots=True)
class Queries:
    """The side of blocks that own queries: the keys that they see pass."""

    problem: Problem
    place: Place
    owns = ("Q", "DOUT")
    passes = (("K",), ("V",))
    gradients = ("DQ",)

    def walk(self) -> Iterator[Place]:
        """Loop over the keys that some query sees."""
        row = reg.scalar(s32, init=0)
        end = self.problem.steps(self.place.row + OWNED, STEP) * STEP
        head = self.place.head // self.problem.shared
        with ptx.loop(pred=lambda: row < end):
            yield Place(head, self.place.batch, row)
            row += STEP

    def hides(self, row: Reg) -> Reg | None:
        """Return whether one of the keys from `row` on is not seen by every query; None if all are."""
        if not (self.problem.causal or self.problem.keys % STEP):
            return None
        return row >= self.problem.whole_steps(self.place.row, STEP) * STEP

    def tell(self, teller: Teller) -> None:
        """Tell of the queries that the block owns, once: a stage for each consumer."""
        memory = teller.memory
        for consumer in range(CONSUMERS):
            place = replace(self.place, row=self.place.row + consumer * ROWS)
            teller.tell(consumer, place, memory.tiles[1], memory.owned[0], 0)

    def limit(self, row: Reg, column: Reg) -> Reg:
        """Return the last key that a thread's first query sees, counted from its first column."""
        if not self.problem.causal:
            return (self.problem.keys - 1) - column
        return row - column + self.problem.ahead

    def sees(self, limit: Reg, row: int, column: int) -> Reg:
        """Return whether a thread's query (`row`) sees its key (`column`), both counted from its first."""
        return limit >= (column - row if self.problem.causal else column)


# --- the producer's warpgroup -----------------------------------------------------------------------


def produce(side: Keys | Queries, memory: Memory, arrays: dict) -> None:
    """Emit the producer: one thread fetches the tiles that the block owns, then those that pass."""
    fetch_owned(side, memory, arrays)
    turn = ptx.pipeline(STAGES, phase=reg.scalar(u32, init=1))
    for place in side.walk():
        stage, phase = turn.advance()
        ptx.mbarrier.wait(memory.empty[stage], phase)
        tiles = iter(memory.stages)
        for names, came in zip(side.passes, memory.came, strict=True):
            ptx.mbarrier.arrive_expect_tx(came[stage], len(names) * memory.passing.stage_bytes)
            for name in names:
                load(memory.passing, next(tiles), stage, arrays[name], place, came[stage])


def fetch_owned(side: Keys | Queries, memory: Memory, arrays: dict) -> None:
    """Start the copies of the tiles that the block owns; O of queries goes where it would pass."""
    more = [("OUT", memory.passing, memory.stages[2])] if isinstance(side, Queries) else []
    owned = [(name, memory.own, tiles) for name, tiles in zip(side.owns, memory.tiles, strict=True)] + more
    ptx.mbarrier.arrive_expect_tx(memory.owned[0], CONSUMERS * sum(layout.stage_bytes for _, layout, _ in owned))
    for name, layout, tiles in owned:
        for consumer in range(CONSUMERS):
            place = replace(side.place, row=side.place.row + consumer * ROWS)
            load(layout, tiles, consumer, arrays[name], place, memory.owned[0])


class Teller:
    """A thread that computes delta of one query in each stage, and what else the others need to know of it."""

    def __init__(self, problem: Problem, memory: Memory, arrays: dict, row: Reg) -> None:
        """Point at the sums and their gradients; `row` is the query's in its stage."""
        self.problem, self.memory, self.row = problem, memory, row
        self.pointers = ptx.global_ptrs(arrays["LSE"], arrays["DLSE"])

    def tell(self, stage: Reg | int, place: Place, douts: SharedAlloc, came: MbarrierRef, phase: Reg | int) -> None:
        """Write what is told of a query to a stage, once its rows of O and dO have come, and arrive at its barrier."""
        query = place.row + reg.from_(self.row, s32)
        line = (place.batch * self.problem.heads + place.head) * self.problem.queries
        at = (line + query.min(self.problem.queries - 1)) * 4
        total, gradient = reg.scalar(f32), reg.scalar(f32)
        for value, pointer in zip((total, gradient), self.pointers, strict=True):
            ptx.inst.ld.global_.f32(value, ptx.addr(pointer + at))
        silent = (query >= self.problem.queries) | (total == -math.inf)  # it is not there, or sees no key
        ptx.mbarrier.wait(came, phase)
        exponent, delta = total * -LOG2_E, self.delta(stage, douts) - gradient
        for which, (value, otherwise) in enumerate(((exponent, -math.inf), (delta, 0.0))):
            ptx.selp(f32, value, otherwise, value, silent)
            self.memory.told[stage, which, self.row] = value
        ptx.mbarrier.arrive(self.memory.known[stage])

    def delta(self, stage: Reg | int, douts: SharedAlloc) -> Reg:
        """Return the sum of dO ∘ O over a row, 16 bytes of each at a time."""
        layout, total = self.memory.passing, reg.scalar(f32, init=0.0)
        words = [reg.array(b32, CHUNK // 2) for _ in range(2)]
        for panel in range(layout.panels):
            which = (stage,) if layout.panels == 1 else (stage, panel)
            for column in ptx.range_(reg.scalar(u32, init=0), layout.panel_columns, CHUNK):
                ptx.pragma("nounroll")  # few registers are left to this warpgroup
                for loaded, tiles in zip(words, (self.memory.stages[2], douts), strict=True):
                    ptx.inst.ld.shared.v4.b32(loaded, ptx.addr(tiles.address(*which, self.row, column)))
                for pair in zip(*words, strict=True):
                    for left, right in zip(*map(unpacked, pair), strict=True):
                        ptx.inst.fma.rn.f32(total, left, right, total)
        return total


def unpacked(pair: Reg) -> list[Reg]:
    """Return the two bf16 of a register as f32."""
    halves, wide = [reg.scalar(b16) for _ in range(2)], [reg.scalar(f32) for _ in range(2)]
    ptx.inst.mov.b32(halves, pair)
    for half, value in zip(halves, wide, strict=True):
        ptx.inst.cvt.f32.bf16(value, half)
    return wide


def feed(side: Keys | Queries, memory: Memory, arrays: dict, thread: Reg) -> None:
    """Emit what the producer's warpgroup does: one thread fetches, two warps tell, one rests."""
    with ptx.if_(thread == 0):
        produce(side, memory, arrays)
    with ptx.if_(thread >= GROUP - 32 * TELLERS):
        teller = Teller(side.problem, memory, arrays, thread - (GROUP - 32 * TELLERS))
        side.tell(teller)


# --- consumers --------------------------------------------------------------------------------------


class Consumer:
    """One warpgroup with its registers: scores and products of a step, rounded pairs, and sums."""

    def __init__(self, side: Keys | Queries, memory: Memory, number: Reg) -> None:
        """Declare registers, and describe the tiles that the block owns; `number` counts consumers."""
        self.side, self.memory, self.number = side, memory, number
        self.turn, self.reading = ptx.pipeline(STAGES), reg.scalar(u32, init=STAGES)  # no stage yet
        thread = thread_of_group()
        self.first_lane = (thread & 31) == 0
        self.scores, self.products = (reg.wgmma_frag(m=ROWS, n=STEP, dtype=f32) for _ in range(2))
        self.weights, self.changes = (reg.array(b32, len(self.scores) // 2) for _ in range(2))
        self.sums = [reg.wgmma_frag(m=ROWS, n=memory.own.shape[1], dtype=f32) for _ in side.gradients]
        self.layout = ptx.wgmma.fragment(shape=(ROWS, STEP, memory.own.k_step), operand="d", dtype=f32)
        self.own = [ptx.wgmma.descriptor(tiles[number]) for tiles in memory.tiles]
        self.row, self.column = (
            reg.from_(place, s32) for place in (self.layout.row(thread, 0), self.layout.column(thread, 0))
        )
        self.limit = side.limit(side.place.row + number * ROWS + self.row, self.column)

    def run(self) -> None:
        """Walk over what passes; the sums of a step are under way while the next one begins."""
        for value in (each for sums in self.sums for each in sums):
            ptx.inst.mov.f32(value, 0.0)
        ptx.mbarrier.wait(self.memory.owned[0], 0)
        if isinstance(self.side, Queries):
            ptx.mbarrier.wait(self.memory.known[self.number], 0)
            self.told = self.told_of_rows()
        for place in self.side.walk():
            self.step(place.row)
        ptx.wgmma.wait_group(0)

    def step(self, first: Reg) -> None:
        """Multiply what is owned with what passes, and add up its gradients."""
        memory, (stage, phase) = self.memory, self.turn.advance()
        self.multiply(self.scores, 0, stage, phase)
        ptx.wgmma.wait_group(1)  # the sums of the step before: their factors' registers are free for products
        self.release(stage)
        self.multiply(self.products, 1, stage, phase)
        if isinstance(self.side, Keys):
            ptx.mbarrier.wait(memory.known[stage], phase)
        ptx.wgmma.wait_group(1)  # the scores
        self.hide(first)
        self.weigh(stage)
        ptx.wgmma.wait_group(0)  # the products
        self.differentiate(stage)
        round_pairs(self.weights, self.scores)
        round_pairs(self.changes, self.products)
        if isinstance(self.side, Keys):
            accumulate(self.sums[1], self.weights, across_rows(memory.stages[1][stage], memory.passing), memory.across)
        accumulate(self.sums[0], self.changes, across_rows(memory.stages[0][stage], memory.passing), memory.across)

    def multiply(self, d: RegArray, which: int, stage: Reg, phase: Reg) -> None:
        """Start d = what is owned · (what passes)ᵀ, as soon as it has come."""
        memory = self.memory
        ptx.mbarrier.wait(memory.came[which][stage], phase)
        passing = ptx.wgmma.descriptor(memory.stages[which][stage])
        multiply(d, self.own[which], memory.own, passing, memory.passing)

    def release(self, stage: Reg) -> None:
        """Tell the producer that this warp has read the stage before, if there was one."""
        before = self.reading
        ptx.mbarrier.arrive(self.memory.empty[before], pred=self.first_lane & (before < STAGES))
        ptx.inst.mov.u32(before, stage)

    def hide(self, first: Reg) -> None:
        """Take the keys that a query does not see out of its scores."""
        hides = self.side.hides(first)
        if hides is None:
            return
        with ptx.if_(hides):
            limit = self.limit - first
            for i, value in enumerate(self.scores):
                seen = self.side.sees(limit, self.layout.row(0, i), self.layout.column(0, i))
                ptx.selp(f32, value, value, -math.inf, seen)

    def weigh(self, stage: Reg) -> None:
        """Turn scores into probabilities."""
        scale = self.side.problem.scale2
        for value, exponent in zip(self.scores, self.told_of(0, stage), strict=True):
            ptx.inst.fma.rn.f32(value, value, scale, exponent)
            ptx.inst.ex2.approx.ftz.f32(value, value)

    def differentiate(self, stage: Reg) -> None:
        """Turn products into gradients of the scores."""
        for change, weight, delta in zip(self.products, self.scores, self.told_of(1, stage), strict=True):
            ptx.inst.sub.rn.f32(change, change, delta)
            ptx.inst.mul.rn.f32(change, change, weight)

    # --- what is told of queries --------------------------------------------------------------------

    def told_of_rows(self) -> list[list[Reg]]:
        """Return the two numbers told of each of the thread's two rows."""
        told = [[reg.scalar(f32) for _ in range(2)] for _ in range(2)]
        for which, values in enumerate(told):
            at = self.memory.told.address(self.number, which, self.row)
            for down, value in zip((0, 8), values, strict=True):
                ptx.inst.ld.shared.f32(value, ptx.addr(at, down * 4))
        return told

    def told_of(self, which: int, stage: Reg) -> Iterator[Reg]:
        """Yield one of the numbers told of the query of each element: of its row, or, where queries pass, its column."""
        if isinstance(self.side, Queries):
            yield from (self.told[which][self.layout.row(0, i) // 8] for i in range(len(self.scores)))
            return
        at = self.memory.told.address(stage, which, self.column)
        for i in range(0, len(self.scores), 4):  # two columns of two rows
            pair = [reg.scalar(f32) for _ in range(2)]
            ptx.inst.ld.shared.v2.f32(pair, ptx.addr(at, self.layout.column(0, i) * 4))
            yield from pair * 2

    # --- the end ------------------------------------------------------------------------------------

    def store(self, arrays: dict) -> None:
        """Store the sums through the memory of the tiles that the block owns."""
        for value in self.sums[0]:
            ptx.inst.mul.rn.f32(value, value, self.side.problem.scale)
        thread = thread_of_group()  # read again: no register is kept for it while the sums fill them all
        barrier, memory = self.number + STAGED, self.memory
        ptx.bar.sync(barrier, GROUP)  # all four warps have read the tiles
        for sums, tiles in zip(self.sums, memory.tiles, strict=False):
            stage_rows(sums, memory.own, tiles, self.number, thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(barrier, GROUP)
        with ptx.if_(thread == 0):
            place = replace(self.side.place, row=self.side.place.row + self.number * ROWS)
            for name, tiles in zip(self.side.gradients, memory.tiles, strict=False):
                store(memory.own, tiles, self.number, arrays[name], place)
            ptx.cp.async_.bulk.wait_group(0)


def thread_of_group() -> Reg:
    """Return the number of this thread in its warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) & (GROUP - 1)


def across_rows(stage: SharedSlice, layout: SharedTile) -> Reg:
    """Return the descriptor of a stage for a product along its rows; it was laid out for one along the head."""
    turned = replace_major(layout)
    return ptx.wgmma.make_descriptor(
        stage,
        leading_byte_offset=turned.leading_byte_offset,
        stride_byte_offset=turned.stride_byte_offset,
        swizzle=turned.swizzle_code,
    )


# --- the kernel -------------------------------------------------------------------------------------


def blocks_of(rows: int) -> int:
    """Return how many blocks own `rows` rows of a head."""
    return -(-rows // OWNED)


def sides_of(problem: Problem) -> tuple[Reg, Keys, Queries]:
    """Return whether this block owns keys, and what it is on either side; the longest work comes first."""
    block, batch = (reg.from_(getattr(ptx.special.ctaid, axis)(), s32) for axis in "xy")
    owning_keys = problem.heads_of_keys * blocks_of(problem.keys)
    keys = Place(block % problem.heads_of_keys, batch, block // problem.heads_of_keys * OWNED)
    other = block - owning_keys
    row = (blocks_of(problem.queries) - 1) - other // problem.heads
    queries = Place(other % problem.heads, batch, row * OWNED)
    return block < owning_keys, Keys(problem, keys), Queries(problem, queries)


def flash_attention_backward_of(head_dim: int) -> Kernel:
    """Return the kernel for one head dimension."""
    layout = SharedTile(bf16, (ROWS, head_dim))
    queries, keys = heads_tile(layout, "Sq", "Hq"), heads_tile(layout, "Skv", "Hkv")
    sums = Tile("B", "Hq", "Sq", f32)

    @kernel(
        in_specs=(queries, keys, keys, queries, sums, queries, sums),
        out_specs=(queries, keys, keys),
        grid=lambda B, Sq, Skv, Hq, Hkv: (Hkv * blocks_of(Skv) + Hq * blocks_of(Sq), B),
        block=THREADS,
        raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],
        arch="sm_90a",
    )
    def flash_attention_backward(
        Q, K, V, OUT, LSE, DOUT, DLSE, DQ, DK, DV, *, causal: bool = False, scale: float | None = None
    ) -> None:
        """Differentiate; `scale` is 1 / sqrt(head_dim) unless another is given."""
        problem, memory = problem_of(Q, K, scale, causal=causal), Memory(head_dim)
        arrays = {"Q": Q, "K": K, "V": V, "OUT": OUT, "LSE": LSE, "DOUT": DOUT, "DLSE": DLSE}
        arrays |= {"DQ": DQ, "DK": DK, "DV": DV}
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # so that ptxas knows: it is the same for all lanes
        with ptx.if_(thread == 0):
            memory.init()
        ptx.bar.sync()
        owns_keys, *sides = sides_of(problem)
        with ptx.if_(group == 0):
            ptx.setmaxnreg_dec(REGISTERS[0])
            for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                with ptx.if_(mine):
                    feed(side, memory, arrays, thread)
        with ptx.else_():
            ptx.setmaxnreg_inc(REGISTERS[1])
            for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                with ptx.if_(mine):
                    consumer = Consumer(side, memory, group - 1)
                    consumer.run()
                    consumer.store(arrays)
        ptx.ret()

    return flash_attention_backward


BACKWARD = {head_dim: flash_attention_backward_of(head_dim) for head_dim in FORWARD}
"""The kernel of the gradients for each head dimension."""


def differentiable(head_dim: int) -> DifferentiableKernel:
    """Return flash attention of one head dimension as a function that frameworks differentiate."""
    return differentiable_kernel(
        FORWARD[head_dim], BACKWARD[head_dim], save_for_backward=[0, 1, 2], save_outputs=[0, 1]
    )


ATTENTION = {head_dim: differentiable(head_dim) for head_dim in FORWARD}
"""Flash attention with gradients: `ATTENTION[64](q, k, v, causal=True)` returns O and LSE."""


def reference(
    q, k, v, dout, dlse, *, causal: bool = False, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute dQ, dK and dV in float64."""
    q, k, v, dout = (np.asarray(x, dtype=np.float64).transpose(0, 2, 1, 3) for x in (q, k, v, dout))
    heads_of_keys, shared = k.shape[1], q.shape[1] // k.shape[1]
    k, v = (x.repeat(shared, 1) for x in (k, v))
    scale = q.shape[3] ** -0.5 if scale is None else scale
    weights, _ = probabilities(q, k, causal=causal, scale=scale)
    delta = (weights @ v * dout).sum(3) - np.asarray(dlse, dtype=np.float64)
    changes = weights * (dout @ v.swapaxes(2, 3) - delta[..., None]) * scale
    gradients = changes @ k, changes.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ dout
    dq, dk, dv = (x.transpose(0, 2, 1, 3) for x in gradients)
    batch, keys, _, head_dim = dk.shape
    dk, dv = (x.reshape(batch, keys, heads_of_keys, shared, head_dim).sum(3) for x in (dk, dv))
    return dq, dk, dv


def main() -> None:
    """Run on the simulator and print the largest errors against float64."""
    import ml_dtypes

    rng = np.random.default_rng(0)
    for head_dim, causal in ((64, False), (128, True)):
        q, k, v, dout = (
            rng.standard_normal((1, 100, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1, 2)
        )
        dlse = rng.standard_normal((1, 2, 100), dtype=np.float32)
        out, lse = FORWARD[head_dim](q, k, v, causal=causal)
        actual = BACKWARD[head_dim](q, k, v, out, lse, dout, dlse, causal=causal)
        results = zip(actual, reference(q, k, v, dout, dlse, causal=causal), strict=True)
        errors = [np.abs(np.asarray(each, np.float64) - expected).max() for each, expected in results]
        print(
            f"flash_attention_backward D={head_dim} causal={causal}: largest errors "
            + ", ".join(f"{e:.2e}" for e in errors)
        )


if __name__ == "__main__":
    main()
