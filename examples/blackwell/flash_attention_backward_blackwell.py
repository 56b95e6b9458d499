"""Gradients of flash attention on Blackwell: dQ, dK and dV from Q, K, V, O, LSE and the gradients of O and LSE.

With the probabilities `P = exp(scale · Q · Kᵀ - LSE)`, which are recomputed and never stored,

    dV = Pᵀ · dO        dS = P ∘ (dO · Vᵀ - delta)        dQ = scale · dS · K        dK = scale · dSᵀ · Q

where `delta` is the sum of dO ∘ O over a row, less the gradient of its LSE. A first, small kernel computes delta
(`examples/attention/row_stats.py`). In the second kernel, some CTAs own 128 keys of a head and iterate over the queries
that see them, for dK and dV; the others own 128 queries and iterate over the keys that they see, for dQ. So each
gradient has one owner and one order of summation, as in `examples/hopper/flash_attention_backward.py`: no atomics, and
the same bits in every run. The cost: seven MMAs per step instead of five, because S and dP are computed twice.

All MMAs accumulate in tensor memory, and no intermediate result goes through shared memory: P and dS, in bf16,
overwrite the values from which they are computed, and are operand A from there (in issue order, as in
`flash_attention_blackwell.py`). CTAs that own keys need P and dS transposed, and compute them transposed, from K · Qᵀ
and V · dOᵀ.

    load warp        Q and dO (or K and V) by TMA, stages ahead
    multiply warp    S = K·Qᵀ | dP = V·dOᵀ | dV += Pᵀ·dO | S' = K·Q'ᵀ | dK += dSᵀ·Q | dP' = V·dO'ᵀ | …
    workers                   | P = 2^S    | dS = P ∘ (dP - delta)  | P' = 2^S'             | …

A worker thread has one row, and half of its columns: two warpgroups share the 128 x 128 elements of a step.

    python examples/blackwell/flash_attention_backward_blackwell.py
"""

from __future__ import annotations

import math
import sys
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
from examples.attention.sides import OWNED, TOGETHER, Keys, Queries, blocks_of, sides_of, stats_of, steps_of
from examples.attention.tiles import GROUP, WARPS, fetch_maps, heads_tile, store, thread_of_group
from examples.blackwell.attention_gradients import (
    COLUMNS,
    HALF,
    STEP,
    WORKERS,
    Memory,
    Multiplier,
    accumulator_of,
    fetch,
    products_of,
)
from examples.blackwell.exponentials import pair, split
from examples.blackwell.flash_attention_blackwell import KERNELS as FORWARD
from examples.blackwell.flash_attention_blackwell import uniform
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

LOADER, MULTIPLIER = 0, 1  # warps of warpgroup 0 that load tiles, and issue MMAs; warpgroups 1 and 2 are workers
THREADS = GROUP + WORKERS
REGISTERS = (72, 216)  # registers per thread of warpgroup 0, and of each worker warpgroup: 72 + 2 * 216 = 504 <= 512
CHUNK = 32  # columns of tensor memory that a worker thread loads per tcgen05.ld
VECTOR = 8  # bf16 elements per 16-byte store
STAGED = 1  # named barrier of the workers; barrier 0 synchronizes the whole CTA


# --- workers ----------------------------------------------------------------------------------------


class Worker:
    """Worker thread: one row of the CTA's owned tile, and half of the columns of each step."""

    def __init__(self, side: Keys | Queries, memory: Memory, t: TensorMemory, warp: Reg, arrays: dict) -> None:
        """Compute the positions of the thread's elements, and `limit`, the bound of the columns that its row sees."""
        self.side, self.memory, self.t, self.warp = side, memory, t, warp
        self.thread, self.half = thread_of_group(), (reg.from_(ptx.special.tid.x(), u32) >> 7) - 1
        self.mine = [products_of(t, which)[:, :HALF].advance(HALF, times=self.half).quarter(warp) for which in range(2)]
        self.turn, self.phase = ptx.pipeline(memory.depth), reg.scalar(u32, init=0)
        self.row = reg.from_(self.thread, s32)
        self.limit = side.limit(side.place.row + self.row, reg.from_(self.half * HALF, s32))
        self.scale = pair(side.problem.scale2, side.problem.scale2)
        self.weights, self.changes = (reg.array(f32, HALF) for _ in range(2))
        self.packed = reg.array(b32, HALF // 2)
        self.stats = self.stats_of_row(arrays["STATS"]) if isinstance(side, Queries) else []

    def run(self) -> None:
        """Compute P and dS in all steps of the CTA."""
        for place in self.side.walk():
            self.step(place.row)
            self.phase ^= 1

    def step(self, first: Reg) -> None:
        """Compute P from the scores of a step, and dS from its dP."""
        memory, (stage, phase) = self.memory, self.turn.advance()
        if isinstance(self.side, Keys):
            ptx.mbarrier.wait(memory.loaded[0][stage], phase)  # LSE, delta of the stage's queries are in shared memory
        self.read(0, self.weights)
        self.hide(first)
        self.compute_operands(stage)
        self.write(0, self.weights)
        self.read(1, self.changes)
        self.differentiate(stage)
        ptx.mbarrier.arrive(memory.empty[stage])
        self.write(1, self.changes)

    def read(self, which: int, values) -> None:
        """Wait for the MMA of the scores (0) or of dP (1), and load the thread's part."""
        ptx.mbarrier.wait(self.memory.mma_done[which][0], self.phase)
        ptx.tcgen05.fence_after_thread_sync()
        for at in range(0, HALF, CHUNK):
            columns = slice(at, at + CHUNK)
            ptx.tcgen05.ld(values[columns], self.mine[which][:, columns], shape="32x32b", count=CHUNK)
        ptx.tcgen05.wait_ld()

    def write(self, which: int, values) -> None:
        """Overwrite the scores by P (0), if an MMA reads P, or dP by dS (1), in bf16."""
        if which == 1 or isinstance(self.side, Keys):
            round_pairs(self.packed, values)
            ptx.tcgen05.st(self.mine[which][:, : HALF // 2], self.packed, shape="32x32b", count=HALF // 2)
            ptx.tcgen05.wait_st()
        ptx.tcgen05.fence_before_thread_sync()
        ptx.mbarrier.arrive(self.memory.operand_ready[which][0])

    def hide(self, first: Reg) -> None:
        """Set the scores of keys that a query must not see to -inf."""
        hides = self.side.hides(first)
        if hides is None:
            return
        with ptx.if_(hides):
            limit = self.limit - first
            for column, value in enumerate(self.weights):
                ptx.selp(f32, value, value, -math.inf, self.side.sees(limit, 0, column))

    def compute_operands(self, stage: Reg) -> None:
        """Replace the scores in `weights` by probabilities."""
        for number, exponent in enumerate(self.numbers(0, stage)):
            values = self.weights[2 * number : 2 * number + 2]
            scores = pair(*values)
            ptx.inst.fma.rn.f32x2(scores, scores, self.scale, exponent)
            split(scores, values)
            for value in values:
                ptx.inst.ex2.approx.ftz.f32(value, value)

    def differentiate(self, stage: Reg) -> None:
        """Replace dP in `changes` by dS = P ∘ (dP - delta)."""
        for number, delta in enumerate(self.numbers(1, stage)):
            here = slice(2 * number, 2 * number + 2)
            change = pair(*self.changes[here])
            ptx.inst.sub.rn.f32x2(change, change, delta)
            ptx.inst.mul.rn.f32x2(change, change, pair(*self.weights[here]))
            split(change, self.changes[here])

    # --- LSE and delta of queries ------------------------------------------------------------------

    def stats_of_row(self, array) -> list[Reg]:
        """Return -LSE (as an exponent of 2) and delta of the thread's row, each as an `f32x2` of equal halves."""
        there = stats_of(self.side.problem, self.side.place, array)
        row = self.row >> 6
        there += row * (2 * TOGETHER * 4) + (self.row & (TOGETHER - 1)) * 4
        stats = [reg.scalar(f32) for _ in range(2)]
        for which, value in enumerate(stats):
            ptx.inst.ld.global_.f32(value, ptx.addr(there, which * TOGETHER * 4))
        return [pair(value, value) for value in stats]

    def numbers(self, which: int, stage: Reg) -> list[Reg]:
        """Return -LSE (0) or delta (1) for each pair of columns: the columns' if these are queries, else the row's."""
        if isinstance(self.side, Queries):
            return [self.stats[which]] * (HALF // 2)
        at, pairs = self.memory.stats.address(stage, self.half, which, 0), []
        for column in range(0, HALF, 4):
            four = [reg.scalar(f32) for _ in range(4)]
            ptx.inst.ld.shared.v4.f32(four, ptx.addr(at, column * 4))
            pairs += [pair(*four[:2]), pair(*four[2:])]
        return pairs

    # --- epilogue -----------------------------------------------------------------------------------

    def finish(self, arrays: dict) -> None:
        """Store the CTA's gradients by TMA, through the shared memory of the owned tiles."""
        memory, side = self.memory, self.side
        ptx.mbarrier.wait(memory.gradients_done[0], 0)
        ptx.tcgen05.fence_after_thread_sync()
        for number, (name, tiles) in enumerate(zip(side.gradients, memory.tiles, strict=False)):
            self.stage(number, tiles, side.problem.scale if number == 0 else 1.0)
            ptx.fence.proxy_async_shared_cta()
            ptx.bar.sync(STAGED, WORKERS)
            with ptx.if_(ptx.special.tid.x() == GROUP):
                store(memory.own, tiles, 0, arrays[name], side.place)
        with ptx.if_(ptx.special.tid.x() == GROUP):
            ptx.cp.async_.bulk.wait_group(0, read=True)

    def stage(self, number: int, tiles, scale: float) -> None:
        """Round the thread's half of a gradient's row to bf16 and write it to shared memory, 16 bytes at a time."""
        layout, columns = self.memory.own, self.memory.head_dim // 2
        mine = accumulator_of(self.t, number, self.memory.head_dim)[:, :columns]
        mine = mine.advance(columns, times=self.half).quarter(self.warp)
        held, packed = reg.array(f32, CHUNK), reg.array(b32, CHUNK // 2)
        for first in range(0, columns, CHUNK):
            ptx.tcgen05.ld(held, mine[:, first : first + CHUNK], shape="32x32b", count=CHUNK)
            ptx.tcgen05.wait_ld()
            for value in held:
                ptx.inst.mul.rn.f32(value, value, scale)
            round_pairs(packed, held)
            for at in range(0, CHUNK, VECTOR):
                here = (self.thread, self.half * columns + (first + at))
                if layout.boxes > 1:  # the tile has two TMA boxes, one per half of its columns
                    here = (self.half, self.thread, first + at)
                ptx.st(b32, tiles.address(*here), packed[at // 2 : (at + VECTOR) // 2], space="shared")


# --- the kernel -------------------------------------------------------------------------------------


def issue(side: Keys | Queries, memory: Memory, t: TensorMemory, warp: Reg, arrays: dict) -> None:
    """Emit the code of warpgroup 0: one thread loads tiles, one issues MMAs."""
    with ptx.if_((warp == LOADER) & ptx.elect_sync()):
        fetch(side, memory, arrays)
    with ptx.if_((warp == MULTIPLIER) & ptx.elect_sync()):
        Multiplier(side, memory, t).run(side.steps())


def compute(side: Keys | Queries, memory: Memory, t: TensorMemory, warp: Reg, arrays: dict) -> None:
    """Emit the code of the workers: compute P and dS step by step, then store the gradients."""
    worker = Worker(side, memory, t, warp, arrays)
    worker.run()
    worker.finish(arrays)


def flash_attention_backward_of(head_dim: int) -> Kernel[tuple[Tile, Tile, Tile]]:
    """Return the second kernel, which computes the gradients, for one head dimension."""
    layout = SharedTile(bf16, (OWNED, head_dim))
    queries, keys = heads_tile(layout, "Sq", "Hq"), heads_tile(layout, "Skv", "Hkv")

    @kernel(
        in_specs=(queries, keys, keys, queries, STATS_TILE),
        out_specs=(queries, keys, keys),
        grid=lambda B, Sq, Skv, Hq, Hkv: (Hkv * blocks_of(Skv) + Hq * blocks_of(Sq)) * B,
        block=THREADS,
        raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],
        arch="sm_100a",
    )
    def flash_attention_backward(
        Q, K, V, DOUT, STATS, DQ, DK, DV, *, causal: bool = False, scale: float | None = None
    ) -> None:
        """Compute dQ, dK and dV; `scale` is 1 / sqrt(head_dim) by default."""
        if STATS.shape[2] != steps_of(Q.shape[1]):
            raise ValueError(f"STATS has {STATS.shape[2]} steps; {Q.shape[1]} queries have T={steps_of(Q.shape[1])}")
        problem, memory = problem_of(Q, K, scale, causal=causal), Memory(head_dim)
        arrays = {"Q": Q, "K": K, "V": V, "DOUT": DOUT, "STATS": STATS, "DQ": DQ, "DK": DK, "DV": DV}
        warp = uniform(reg.from_(ptx.special.tid.x(), u32) >> 5)
        with ptx.if_((warp == LOADER) & ptx.elect_sync()):
            fetch_maps(Q, K, V, DOUT, DQ, DK, DV)
            memory.init()
        owns_keys, *sides = sides_of(problem, STEP)
        with ptx.tmem.alloc(COLUMNS, when=warp == MULTIPLIER, relinquish=True) as t:
            with ptx.if_(warp < WARPS):
                ptx.setmaxnreg_dec(REGISTERS[0])
                for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                    with ptx.if_(mine):
                        issue(side, memory, t, warp, arrays)
            with ptx.else_():
                ptx.setmaxnreg_inc(REGISTERS[1])
                for side, mine in zip(sides, (owns_keys, ~owns_keys), strict=True):
                    with ptx.if_(mine):
                        compute(side, memory, t, warp, arrays)
        ptx.ret()

    return flash_attention_backward


PREPARE = {head_dim: prepare_of(head_dim, arch="sm_100a") for head_dim in (64, 128)}
"""First kernel, which computes STATS, for each head dimension."""
BACKWARD = {head_dim: flash_attention_backward_of(head_dim) for head_dim in (64, 128)}
"""Second kernel, which computes the gradients, for each head dimension."""


def gradients(q, k, v, out, lse, dout, dlse, *, causal: bool = False, scale: float | None = None):
    """Return dQ, dK and dV, computed by two kernels."""
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
            rng.standard_normal((1, 150, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1, 2)
        )
        dlse = rng.standard_normal((1, 2, 150), dtype=np.float32)
        out, lse = FORWARD[head_dim](q, k, v, causal=causal)
        actual = gradients(q, k, v, out, lse, dout, dlse, causal=causal)
        results = zip(actual, reference(q, k, v, dout, dlse, causal=causal), strict=True)
        errors = ", ".join(f"{np.abs(each.astype(np.float64) - expected).max():.2e}" for each, expected in results)
        print(f"flash_attention_backward_blackwell D={head_dim} causal={causal}: largest errors of dQ, dK, dV {errors}")


if __name__ == "__main__":
    main()
