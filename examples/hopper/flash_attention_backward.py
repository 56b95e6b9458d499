"""The gradients of flash attention: dQ, dK and dV from Q, K, V, O, LSE and the gradients of O and LSE.

With the probabilities `P = exp(scale · Q · Kᵀ - LSE)`, which are computed again and never stored,

    dV = Pᵀ · dO        dS = P ∘ (dO · Vᵀ - delta)        dQ = scale · dS · K        dK = scale · dSᵀ · Q

where `delta` is the sum of dO ∘ O over a row, minus the gradient of its LSE. A first, small kernel computes delta.

In the second kernel, some CTAs own 128 keys of a head and iterate over the queries that see them, for dK and dV. The
others own 128 queries and iterate over the keys that they see, for dQ. Each gradient has one owner and one order of
summation: no atomics, no float32 buffer, and the same bits in every run. The cost is that two of seven MMAs are
repeated. Both kinds do the same with rows and columns exchanged, so they share code (`examples/attention/sides.py`).

One thread of the producer warpgroup loads tiles by TMA, and two consumer warpgroups multiply. Operand A of the gradient
MMAs comes from registers: no computed value goes through shared memory.

    python examples/hopper/flash_attention_backward.py
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention import float64
from examples.attention.problem import problem_of
from examples.attention.row_stats import STATS_TILE, prepare_of
from examples.attention.sides import STATS_BYTES, Keys, Queries, blocks_of, sides_of, stats_of, steps_of
from examples.attention.tiles import GROUP, fetch_maps, heads_tile, load, store, thread_of_group
from examples.hopper.attention_memory import CONSUMERS, STAGES, STEP, Memory
from examples.hopper.attention_parts import accumulate, described_as, multiply, stage_rows
from examples.hopper.attention_plans import ROWS
from examples.hopper.flash_attention import KERNELS as FORWARD
from examples.overlap import ATTRIBUTES, take_over
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.attention.problem import TilePosition

    from pyptx.kernel import Kernel
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedSlice

THREADS = (1 + CONSUMERS) * GROUP
REGISTERS = (24, 240)  # registers per thread of the producer warpgroup, and of each consumer warpgroup
STAGED = 1  # first named barrier of the consumer warpgroups, one each; barrier 0 synchronizes the whole CTA


# --- the producer -----------------------------------------------------------------------------------


def produce(side: Keys | Queries, memory: Memory, arrays: dict) -> None:
    """Emit the producer: one thread loads the tiles that the CTA owns, then those of each iteration."""
    ptx.mbarrier.arrive_expect_tx(memory.owned[0], 2 * memory.own.bytes)
    for name, tiles in zip(side.owns, memory.tiles, strict=True):
        for consumer in range(CONSUMERS):
            place = replace(side.place, row=side.place.row + consumer * ROWS)
            load(memory.own, tiles, consumer, arrays[name], place, memory.owned[0])
    turn = ptx.pipeline(STAGES, phase=reg.scalar(u32, init=1))
    stats = STATS_BYTES if isinstance(side, Keys) else 0
    for place in side.walk():
        stage, phase = turn.advance()
        ptx.mbarrier.wait(memory.empty[stage], phase)
        for name, tiles, loaded, more in zip(side.passes, memory.stages, memory.loaded, (stats, 0), strict=True):
            ptx.mbarrier.arrive_expect_tx(loaded[stage], memory.passing.stage_bytes + more)
            load(memory.passing, tiles, stage, arrays[name], place, loaded[stage])
        if stats:
            source = stats_of(side.problem, place, arrays["STATS"])
            ptx.cp.async_.bulk.load(memory.stats[stage], source, STATS_BYTES, mbar=memory.loaded[0][stage])


# --- consumers --------------------------------------------------------------------------------------


class Consumer:
    """Consumer warpgroup with its registers: scores and dO · Vᵀ of a step, rounded pairs, and accumulators."""

    def __init__(self, side: Keys | Queries, memory: Memory, number: Reg, arrays: dict) -> None:
        """Declare registers, and build descriptors of the owned tiles; `number` is the index of the consumer."""
        self.side, self.memory, self.number = side, memory, number
        self.turn, self.reading = ptx.pipeline(STAGES), reg.scalar(u32, init=STAGES)  # STAGES: no stage in use yet
        thread = thread_of_group()
        self.first_lane = (thread & 31) == 0
        self.scores, self.products = (reg.wgmma_frag(m=ROWS, n=STEP, dtype=f32) for _ in range(2))
        self.weights, self.changes = (reg.array(b32, len(self.scores) // 2) for _ in range(2))
        self.acc = [reg.wgmma_frag(m=ROWS, n=memory.own.shape[1], dtype=f32) for _ in side.gradients]
        self.layout = ptx.wgmma.fragment(shape=(ROWS, STEP, memory.own.k_step), operand="d", dtype=f32)
        self.own = [ptx.wgmma.descriptor(tiles[number]) for tiles in memory.tiles]
        self.row = reg.from_(self.layout.row(thread, 0), s32)
        self.column = reg.from_(self.layout.column(thread, 0), s32)
        self.stats = self.stats_of_rows(arrays["STATS"]) if isinstance(side, Queries) else []
        self.limit = side.limit(side.place.row + number * ROWS + self.row, self.column)

    def run(self) -> None:
        """Process all steps of the CTA; the gradient MMAs of a step are in flight while the next step starts."""
        for value in (each for acc in self.acc for each in acc):
            ptx.inst.mov.f32(value, 0.0)
        ptx.mbarrier.wait(self.memory.owned[0], 0)
        for place in self.side.walk():
            self.step(place)
        ptx.wgmma.wait_group(0)

    def step(self, place: TilePosition) -> None:
        """Compute one step: scores and dO · Vᵀ from the owned tiles and the stage's tiles, then the gradient MMAs."""
        memory, (stage, phase) = self.memory, self.turn.advance()
        self.multiply(self.scores, 0, stage, phase)
        ptx.wgmma.wait_group(1)  # the previous step's gradient MMAs are complete: `products` may be overwritten
        self.release(stage)
        self.multiply(self.products, 1, stage, phase)
        ptx.wgmma.wait_group(1)  # the MMAs of this step's scores are complete
        self.hide(place.row)
        self.compute_operands(stage)
        ptx.wgmma.wait_group(0)  # the MMAs of this step's dO · Vᵀ are complete
        self.differentiate(stage)
        round_pairs(self.weights, self.scores)
        round_pairs(self.changes, self.products)
        if isinstance(self.side, Keys):
            self.accumulate(self.acc[1], self.weights, memory.stages[1][stage])
        self.accumulate(self.acc[0], self.changes, memory.stages[0][stage])

    def multiply(self, d: RegArray, which: int, stage: Reg, phase: Reg) -> None:
        """Start d = owned tile · (tile of the stage)ᵀ, as soon as the stage's tile is loaded."""
        ptx.mbarrier.wait(self.memory.loaded[which][stage], phase)
        passing = ptx.wgmma.descriptor(self.memory.stages[which][stage])
        multiply(d, self.own[which], self.memory.own, passing, self.memory.passing)

    def accumulate(self, acc: RegArray, pairs: RegArray, stage: Reg | SharedSlice) -> None:
        """Start acc += pairs · (tile of the stage)."""
        accumulate(acc, pairs, described_as(stage, self.memory.across), self.memory.across)

    def release(self, stage: Reg) -> None:
        """Arrive at `empty` of the previous step's stage, if any: this warp has read that stage."""
        before = self.reading
        ptx.mbarrier.arrive(self.memory.empty[before], pred=self.first_lane & (before < STAGES))
        ptx.inst.mov.u32(before, stage)

    def hide(self, first: Reg) -> None:
        """Set the scores of keys that a query does not see to -inf."""
        hides = self.side.hides(first)
        if hides is None:
            return
        with ptx.if_(hides):
            limit = self.limit - first
            for i, value in enumerate(self.scores):
                seen = self.side.sees(limit, self.layout.row(0, i), self.layout.column(0, i))
                ptx.selp(f32, value, value, -math.inf, seen)

    def compute_operands(self, stage: Reg) -> None:
        """Replace scores by probabilities."""
        scale = self.side.problem.scale2
        for value, exponent in zip(self.scores, self.numbers(0, stage), strict=True):
            ptx.inst.fma.rn.f32(value, value, scale, exponent)
            ptx.inst.ex2.approx.ftz.f32(value, value)

    def differentiate(self, stage: Reg) -> None:
        """Replace `products` (dO · Vᵀ) by the gradients of the scores."""
        for change, weight, delta in zip(self.products, self.scores, self.numbers(1, stage), strict=True):
            ptx.inst.sub.rn.f32(change, change, delta)
            ptx.inst.mul.rn.f32(change, change, weight)

    # --- values per query (STATS) --------------------------------------------------------------------

    def stats_of_rows(self, array) -> list[list[Reg]]:
        """Return exponent offset and delta (STATS) of each of the thread's two rows."""
        place = replace(self.side.place, row=self.side.place.row + self.number * ROWS)
        there = stats_of(self.side.problem, place, array) + self.row * 4
        stats = [[reg.scalar(f32) for _ in range(2)] for _ in range(2)]
        for which, values in enumerate(stats):
            for down, value in zip((0, 8), values, strict=True):
                ptx.inst.ld.global_.f32(value, ptx.addr(there, (which * STEP + down) * 4))
        return stats

    def numbers(self, which: int, stage: Reg) -> Iterator[Reg]:
        """Yield -LSE or delta (STATS) of each score's query: of its row, or of its column if the CTA owns keys."""
        if isinstance(self.side, Queries):
            yield from (self.stats[which][self.layout.row(0, i) // 8] for i in range(len(self.scores)))
            return
        at = self.memory.stats.address(stage, which, self.column)
        for i in range(0, len(self.scores), 4):  # a thread's scores i to i + 3: two adjacent columns of two rows
            pair = [reg.scalar(f32) for _ in range(2)]
            ptx.inst.ld.shared.v2.f32(pair, ptx.addr(at, self.layout.column(0, i) * 4))
            yield from pair * 2

    # --- epilogue -----------------------------------------------------------------------------------

    def store(self, arrays: dict) -> None:
        """Scale dQ and dK; store the gradients by TMA through the shared memory of the tiles that the CTA owns."""
        for value in self.acc[0]:
            ptx.inst.mul.rn.f32(value, value, self.side.problem.scale)
        thread = thread_of_group()  # %tid is read again, so that `thread` occupies no register during the main loop
        barrier, memory = self.number + STAGED, self.memory
        ptx.bar.sync(barrier, GROUP)  # all warps of the consumer have read the tiles: gradients may overwrite them
        for acc, tiles in zip(self.acc, memory.tiles, strict=False):
            stage_rows(acc, memory.own, tiles, self.number, thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(barrier, GROUP)
        with ptx.if_(thread == 0):
            place = replace(self.side.place, row=self.side.place.row + self.number * ROWS)
            for name, tiles in zip(self.side.gradients, memory.tiles, strict=False):
                store(memory.own, tiles, self.number, arrays[name], place)
            ptx.cp.async_.bulk.wait_group(0, read=True)


# --- the kernel -------------------------------------------------------------------------------------


def flash_attention_backward_of(head_dim: int, *, overlaps: bool = False) -> Kernel[tuple[Tile, Tile, Tile]]:
    """Return the second kernel, which computes the gradients, for one head dimension."""
    layout = SharedTile(bf16, (ROWS, head_dim))
    queries, keys = heads_tile(layout, "Sq", "Hq"), heads_tile(layout, "Skv", "Hkv")

    @kernel(
        in_specs=(queries, keys, keys, queries, STATS_TILE),
        out_specs=(queries, keys, keys),
        grid=lambda B, Sq, Skv, Hq, Hkv: (Hkv * blocks_of(Skv) + Hq * blocks_of(Sq)) * B,
        block=THREADS,
        raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],
        arch="sm_90a",
        launch=ATTRIBUTES if overlaps else {},
    )
    def flash_attention_backward(
        Q, K, V, DOUT, STATS, DQ, DK, DV, *, causal: bool = False, scale: float | None = None
    ) -> None:
        """Compute dQ, dK and dV; `scale` defaults to 1 / sqrt(head_dim)."""
        if STATS.shape[2] != steps_of(Q.shape[1]):
            raise ValueError(f"STATS has {STATS.shape[2]} steps; {Q.shape[1]} queries have T={steps_of(Q.shape[1])}")
        problem, memory = problem_of(Q, K, scale, causal=causal), Memory(head_dim)
        arrays = {"Q": Q, "K": K, "V": V, "DOUT": DOUT, "STATS": STATS, "DQ": DQ, "DK": DK, "DV": DV}
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index
        with ptx.if_(thread == 0):
            fetch_maps(Q, K, V, DOUT)
            memory.init()
        ptx.bar.sync()
        if overlaps:
            take_over()
        owns_keys, *sides = sides_of(problem, STEP)
        with ptx.if_(group == 0):
            ptx.setmaxnreg_dec(REGISTERS[0])
            for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                with ptx.if_(mine & (thread == 0)):
                    produce(side, memory, arrays)
        with ptx.else_():
            ptx.setmaxnreg_inc(REGISTERS[1])
            for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                with ptx.if_(mine):
                    consumer = Consumer(side, memory, group - 1, arrays)
                    consumer.run()
                    consumer.store(arrays)
        ptx.ret()

    return flash_attention_backward


PREPARE = {head_dim: prepare_of(head_dim, arch="sm_90a") for head_dim in (64, 128)}
"""First kernel, which computes STATS, for each head dimension."""
flash_attention_backward_64, flash_attention_backward_128 = map(flash_attention_backward_of, (64, 128))
BACKWARD = {64: flash_attention_backward_64, 128: flash_attention_backward_128}
"""Second kernel, which computes the gradients, for each head dimension."""


def gradients(q, k, v, out, lse, dout, dlse, *, causal: bool = False, scale: float | None = None):
    """Return dQ, dK and dV, by two kernels."""
    stats = PREPARE[q.shape[-1]](out, dout, lse, dlse, T=steps_of(q.shape[1]))
    return BACKWARD[q.shape[-1]](q, k, v, dout, stats, causal=causal, scale=scale)


ATTENTION = {
    head_dim: differentiable_kernel(forward, gradients, save_for_backward=[0, 1, 2], save_outputs=[0, 1])
    for head_dim, forward in FORWARD.items()
}
"""Flash attention with gradients: `ATTENTION[64](q, k, v, causal=True)` returns O and LSE."""


def reference(q, k, v, dout, dlse, *, causal: bool = False, scale: float | None = None) -> tuple[np.ndarray, ...]:
    """Compute attention's gradients dQ, dK and dV by NumPy in float64."""
    return float64.gradients(q, k, v, dout, dlse, causal=causal, scale=scale)


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    for head_dim, causal in ((64, False), (128, True)):
        q, k, v, dout = (
            rng.standard_normal((1, 100, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1, 2)
        )
        dlse = rng.standard_normal((1, 2, 100), dtype=np.float32)
        out, lse = FORWARD[head_dim](q, k, v, causal=causal)
        actual = gradients(q, k, v, out, lse, dout, dlse, causal=causal)
        results = zip(actual, reference(q, k, v, dout, dlse, causal=causal), strict=True)
        errors = ", ".join(f"{np.abs(each.astype(np.float64) - expected).max():.2e}" for each, expected in results)
        print(f"flash_attention_backward D={head_dim} causal={causal}: largest errors of dQ, dK, dV {errors}")


if __name__ == "__main__":
    main()
