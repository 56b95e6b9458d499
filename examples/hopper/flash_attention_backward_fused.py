"""The gradients of flash attention by five MMAs instead of seven; dQ is summed by atomics, in any order.

`flash_attention_backward.py` computes the probabilities and their gradients twice: once for dK and dV, once for dQ.
Here only CTAs that own keys iterate over queries. Each adds its part of a step's dQ to global memory, in float32, as
every other CTA does: `red.add`, 16 bytes per thread. The order of these additions differs from run to run, and with it
the last bits of dQ.

The gradients of a step's scores are operand A of both MMAs: for dK from registers, for dQ from shared memory. For dQ
each consumer writes its gradients, 64 keys by 64 queries, to shared memory, and both consumers read them. Each computes
one half of the head of dQ, over all keys of the CTA. There are two buffers, so they synchronize once a step.

Sums of dQ are stored in register order: four f32 of each of 128 threads are contiguous, so that a warp adds to whole
cache lines. A first kernel sets them to zero and computes STATS (`examples/attention/row_stats.py`). A last kernel
scales and rounds them, and writes them in row-major order.

    python examples/hopper/flash_attention_backward_fused.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention import float64
from examples.attention.problem import Problem, TilePosition, divided, problem_of, unflatten
from examples.attention.quads import QUAD
from examples.attention.row_stats import STATS_TILE, compute_stats, stats_specs
from examples.attention.sides import OWNED, Keys, blocks_of, steps_of
from examples.attention.tiles import GROUP, fetch_maps, heads_tile, thread_of_group
from examples.hopper.attention_memory import CONSUMERS, STEP, Memory
from examples.hopper.attention_parts import TYPES, described_as, stage_pairs, stage_rows
from examples.hopper.attention_plans import ROWS
from examples.hopper.flash_attention import KERNELS as FORWARD
from examples.hopper.flash_attention_backward import REGISTERS, THREADS, Consumer, produce
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg

BOTH = 3  # named barrier that synchronizes both consumer warpgroups; 1 and 2 synchronize one of them each
QUEUED = 4  # f32 elements of dQ that a thread adds to global memory per instruction: 16 bytes


def sums_tile(head_dim: int) -> Tile:
    """Return the Tile of the dQ sums: per `STEP` queries and consumer, half of a head, in the order of registers."""
    return Tile("B", "Hq", "T", CONSUMERS, STEP * head_dim // CONSUMERS, f32, align=4 * QUEUED)


def sums_of(array, line: Reg, number: Reg, thread: Reg) -> Reg:
    """Return the address of a thread's first f32 sum of dQ; `line` counts `STEP` queries, `number` is the head half."""
    (pointer,), half = ptx.global_ptrs(array), array.shape[4]
    return pointer + line * (CONSUMERS * half * 4) + number * (half * 4) + thread * (QUEUED * 4)


# --- kernel 1: deltas -------------------------------------------------------------------------------


def begin_of(head_dim: int) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel that computes STATS and zeroes the f32 sums of dQ."""

    @kernel(
        in_specs=stats_specs(head_dim),
        out_specs=(STATS_TILE, sums_tile(head_dim)),
        grid=lambda T, Hq, B: T * Hq * B,
        block=STEP * QUAD,
        arch="sm_90a",
    )
    def begin_gradients(OUT, DOUT, LSE, DLSE, STATS, SUMS) -> None:
        """Compute STATS and zero SUMS (dQ); `T` is `steps_of(Sq)`, the number of groups of `STEP` queries in both."""
        line, thread = compute_stats(OUT, DOUT, LSE, DLSE, STATS)
        (sums,), zero = ptx.global_ptrs(SUMS), reg.scalar(b32, init=0)
        here = sums + line * (STEP * head_dim * 4) + thread * (4 * QUEUED)
        for first in range(0, STEP * head_dim, STEP * QUAD * QUEUED):
            ptx.inst.st.global_.v4.b32(ptx.addr(here, first * 4), [zero] * QUEUED)
        ptx.ret()

    return begin_gradients


# --- kernel 2: gradients ----------------------------------------------------------------------------


class Shared(Memory):
    """Shared memory of a CTA: that of `Memory`, and the gradients of scores, keys by queries, for two steps.

    Its owned tiles consist of two TMA boxes, each the half of the head for which a consumer computes dQ.
    """

    def __init__(self, head_dim: int) -> None:
        """Allocate the memory of the base class, and score gradients for two steps."""
        super().__init__(head_dim, swizzle=f"{head_dim}B")
        self.half = SharedTile(bf16, (ROWS, head_dim // CONSUMERS), major="MN")
        self.exchange = SharedTile(bf16, (OWNED, STEP), major="MN", stages=2)
        self.changes = smem.tile(self.exchange)


class FusedConsumer(Consumer):
    """Consumer warpgroup that, besides computing dK and dV, adds its part of dQ to SUMS."""

    def __init__(self, side: Keys, memory: Shared, number: Reg, arrays: dict) -> None:
        """Declare registers, and build the matrix descriptors of the halves of K."""
        super().__init__(side, memory, number, arrays)
        self.shared, self.array, self.second = memory, arrays["SUMS"], reg.scalar(u32, init=0)
        self.queries = reg.wgmma_frag(m=ROWS, n=memory.half.mn, dtype=f32)
        self.keys = [described_as(memory.tiles[0][keys, number], memory.half) for keys in range(CONSUMERS)]

    def run(self) -> None:
        """Process all steps, then synchronize: each consumer reads the other's keys, which `store` overwrites."""
        super().run()
        ptx.bar.sync(BOTH, CONSUMERS * GROUP)

    def step(self, place: TilePosition) -> None:
        """Multiply keys with queries, accumulate dK and dV in registers, and add the step's dQ to global memory."""
        memory, (stage, phase) = self.memory, self.turn.advance()
        self.multiply(self.scores, 0, stage, phase)
        self.multiply(self.products, 1, stage, phase)
        ptx.wgmma.wait_group(1)  # the MMAs of this step's scores are complete, those of dO · Vᵀ are in flight
        self.hide(place.row)
        self.compute_operands(stage)
        round_pairs(self.weights, self.scores)
        self.accumulate(self.acc[1], self.weights, memory.stages[1][stage])
        ptx.wgmma.wait_group(1)  # dO · Vᵀ is complete, the MMAs for dV are in flight
        self.differentiate(stage)
        round_pairs(self.changes, self.products)
        self.exchange()
        self.multiply_changes()
        self.accumulate(self.acc[0], self.changes, memory.stages[0][stage])
        ptx.wgmma.wait_group(1)  # the MMAs for dQ are complete, those for dK are in flight
        self.add(place)
        ptx.wgmma.wait_group(0)
        ptx.mbarrier.arrive(memory.empty[stage], pred=self.first_lane)

    def exchange(self) -> None:
        """Write this consumer's score gradients to shared memory, and wait for the other consumer's.

        They overwrite the gradients of two steps before: both consumers read those before the previous step's barrier.
        """
        thread = thread_of_group()
        row = self.number * ROWS
        stage_pairs(self.changes, self.shared.exchange, self.shared.changes, self.second, thread, row=row)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(BOTH, CONSUMERS * GROUP)

    def multiply_changes(self) -> None:
        """Start the step's dQ, changesᵀ · keys, as one wgmma group: all keys of the CTA, and half of the head."""
        layout, half = self.shared.exchange, self.shared.half
        changes = ptx.wgmma.descriptor(self.shared.changes[self.second])
        ptx.wgmma.fence()
        for k in range(0, layout.k, layout.k_step):
            which, inside = divmod(k, ROWS)
            ptx.wgmma.mma_async(
                shape=(STEP, half.mn, layout.k_step),
                **TYPES,
                d=self.queries,
                a=changes,
                b=self.keys[which],
                a_k_offset=layout.offset(k=k),
                b_k_offset=half.offset(k=inside),
                scale_d=k > 0,
                trans_a=1,
                trans_b=1,
            )
        ptx.wgmma.commit_group()
        ptx.inst.xor.b32(self.second, self.second, 1)

    def add(self, place: TilePosition) -> None:
        """Add the consumer's part of the step's dQ to SUMS in global memory by `red.add`."""
        line = (place.batch * self.side.problem.heads + place.head) * self.array.shape[2] + divided(place.row, STEP)
        here = sums_of(self.array, line, self.number, thread_of_group())
        for first in range(0, len(self.queries), QUEUED):
            values = [self.queries[first + i] for i in range(QUEUED)]
            ptx.inst.red.global_.add.v4.f32(ptx.addr(here, first * GROUP * 4), values)


def keys_of(problem: Problem) -> Keys:
    """Return the keys that this CTA owns; CTAs whose keys are seen by most queries come first."""
    head, row, batch = unflatten(reg.from_(ptx.special.ctaid.x(), u32), problem.heads_of_keys, blocks_of(problem.keys))
    return Keys(problem, TilePosition(head, batch, row * OWNED), STEP)


def fused_of(head_dim: int) -> Kernel[tuple[Tile, Tile]]:
    """Return the second kernel, which computes dK, dV and the f32 sums of dQ, for one head dimension."""
    layout = SharedTile(bf16, (ROWS, head_dim))
    queries = heads_tile(layout, "Sq", "Hq")
    keys = heads_tile(SharedTile(bf16, (ROWS, head_dim), swizzle=f"{head_dim}B"), "Skv", "Hkv")

    @kernel(
        in_specs=(queries, keys, keys, queries, STATS_TILE, sums_tile(head_dim)),
        out_specs=(keys, keys),
        mutates=("SUMS",),
        grid=lambda B, Skv, Hkv: Hkv * blocks_of(Skv) * B,
        block=THREADS,
        raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],
        arch="sm_90a",
    )
    def fused_gradients(
        Q, K, V, DOUT, STATS, SUMS, DK, DV, *, causal: bool = False, scale: float | None = None
    ) -> None:
        """Compute dK and dV, and add dQ to SUMS; `scale` defaults to 1 / sqrt(head_dim)."""
        if STATS.shape[2] != steps_of(Q.shape[1]):
            raise ValueError(f"STATS has {STATS.shape[2]} steps; {Q.shape[1]} queries have T={steps_of(Q.shape[1])}")
        problem, memory = problem_of(Q, K, scale, causal=causal), Shared(head_dim)
        arrays = {"Q": Q, "K": K, "V": V, "DOUT": DOUT, "STATS": STATS, "SUMS": SUMS, "DK": DK, "DV": DV}
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index
        with ptx.if_(thread == 0):
            fetch_maps(Q, K, V, DOUT)
            memory.init()
        ptx.bar.sync()
        side = keys_of(problem)
        with ptx.if_(group == 0):
            ptx.setmaxnreg_dec(REGISTERS[0])
            with ptx.if_(thread == 0):
                produce(side, memory, arrays)
        with ptx.else_():
            ptx.setmaxnreg_inc(REGISTERS[1])
            consumer = FusedConsumer(side, memory, group - 1, arrays)
            consumer.run()
            consumer.store(arrays)
        ptx.ret()

    return fused_gradients


# --- kernel 3: dQ -----------------------------------------------------------------------------------


def finish_of(head_dim: int) -> Kernel[tuple[Tile]]:
    """Return the kernel that scales and rounds the f32 sums of dQ, and writes them in row-major order."""
    half = SharedTile(bf16, (STEP, head_dim // CONSUMERS), stages=CONSUMERS)
    whole = SharedTile(bf16, (STEP, head_dim), swizzle=f"{head_dim}B")

    @kernel(
        in_specs=(sums_tile(head_dim),),
        out_specs=(heads_tile(whole, "Sq", "Hq"),),
        grid=lambda T, Hq, B: T * Hq * B,
        block=CONSUMERS * GROUP,
        arch="sm_90a",
    )
    def finish_queries(SUMS, DQ, *, scale: float | None = None) -> None:
        """Compute DQ from SUMS for a step of queries: one warpgroup per half of the head; `scale` scales scores."""
        tiles, thread = smem.tile(half), thread_of_group()
        number = reg.from_(ptx.special.tid.x(), u32) >> 7
        head, step, batch = unflatten(reg.from_(ptx.special.ctaid.x(), u32), SUMS.shape[1], SUMS.shape[2])
        line = (batch * SUMS.shape[1] + head) * SUMS.shape[2] + step
        here, values = sums_of(SUMS, line, number, thread), reg.wgmma_frag(m=STEP, n=half.shape[1], dtype=f32)
        for first in range(0, len(values), QUEUED):
            ptx.inst.ld.global_.v4.f32([values[first + i] for i in range(QUEUED)], ptx.addr(here, first * GROUP * 4))
        for value in values:
            ptx.inst.mul.rn.f32(value, value, head_dim**-0.5 if scale is None else scale)
        stage_rows(values, half, tiles, number, thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(number + 1, GROUP)
        with ptx.if_(thread == 0):
            at = (number * half.shape[1], head, step * STEP, batch)
            ptx.cp.async_.bulk.tensor_4d.store(dst=DQ, src=tiles[number], coord=at)
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0, read=True)
        ptx.ret()

    return finish_queries


BEGIN, FUSED, FINISH = (
    {head_dim: build(head_dim) for head_dim in (64, 128)} for build in (begin_of, fused_of, finish_of)
)
"""First, second and third kernel, for each head dimension."""


def gradients(q, k, v, out, lse, dout, dlse, *, causal: bool = False, scale: float | None = None):
    """Return dQ, dK and dV, by three kernels."""
    _, queries, _, head_dim = q.shape
    stats, sums = BEGIN[head_dim](out, dout, lse, dlse, T=steps_of(queries))
    dk, dv, *added = FUSED[head_dim](q, k, v, dout, stats, sums, causal=causal, scale=scale)
    # jax returns a mutated array as a new array, `added`; other frameworks mutate `sums` itself.
    return FINISH[head_dim](*added or (sums,), Sq=queries, scale=scale), dk, dv


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
        print(f"flash_attention_backward_fused D={head_dim} causal={causal}: largest errors of dQ, dK, dV {errors}")


if __name__ == "__main__":
    main()
