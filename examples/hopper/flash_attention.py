"""Flash attention: `O = softmax(scale · Q · Kᵀ) · V` for each head, and `LSE`, the logarithm of each row's sum.

A thread block (CTA) owns 64 rows of Q for each of its two or three *consumer* warpgroups, and iterates over the keys
once. Scores stay in registers: wgmma writes them, and a running maximum and sum turn them into probabilities. Rounded
to bf16 in place, they are operand A of the next wgmma. The accumulator is rescaled when a maximum grows.

Three things overlap. One thread of the *producer* warpgroup keeps the stages of K and V full by TMA. In a consumer, the
tensor cores compute P · V of one step while its threads compute the softmax of the next. And the consumers take turns
at issuing wgmma, so that one computes its softmax while another keeps the tensor cores busy.

Arrays are dense, [batch, sequence, heads, head_dim], as a projection outputs them. K and V may have fewer heads than Q
(grouped-query attention). With `causal=True` query i sees the keys up to i + Skv - Sq: the last query sees all. A query
that sees no key gets O = 0 and LSE = -inf.

If there are too few tiles of queries for a whole GPU, each has a cluster: its CTAs split the keys and merge their
partial results (`attention_splits.py`).

    python examples/hopper/flash_attention.py
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention import float64
from examples.attention.problem import problem_of
from examples.attention.tiles import GROUP, WARPS, Ring, fetch_maps, heads_tile, store, thread_of_group
from examples.hopper.attention_parts import Softmax, Turns, accumulate, multiply, stage_rows
from examples.hopper.attention_plans import PLANS, ROWS, Plan, splits_for
from examples.hopper.attention_splits import Partial, store_columns
from examples.hopper.attention_work import Producer, QueryTiles, Reader, Work, work_of
from examples.overlap import ATTRIBUTES, take_over
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg


# --- consumers --------------------------------------------------------------------------------------


class Consumer:
    """A consumer warpgroup's registers and code: scores, probabilities, and the accumulator of O."""

    def __init__(self, work: Work, number: Reg, queries: QueryTiles, readers: list[Reader], order: Turns) -> None:
        """Declare registers, and build the matrix descriptor of Q; `number` is the index of the consumer."""
        self.work, self.number = work, number
        self.plan, self.problem, self.place = plan, problem, place = work.plan, work.problem, work.place
        self.keys, self.values = readers
        self.thread = thread_of_group()
        self.first_lane = (self.thread & 31) == 0
        self.row = place.row + number * ROWS
        self.scores = reg.wgmma_frag(m=ROWS, n=plan.keys, dtype=f32)
        self.weights = reg.array(b32, len(self.scores) // 2)
        self.out = reg.wgmma_frag(m=ROWS, n=plan.head_dim, dtype=f32)
        self.layout = ptx.wgmma.fragment(shape=(ROWS, plan.keys, plan.k.k_step), operand="d", dtype=f32)
        self.softmax = Softmax(problem.scale2, self.layout)
        self.queries, self.q, self.order = queries, ptx.wgmma.descriptor(queries.tiles[number]), order
        self.last_keys = self._last_keys()
        for value in self.out:
            ptx.inst.mov.f32(value, 0.0)

    def _last_keys(self) -> list[Reg]:
        """Return the last key that each of the thread's rows sees, as an offset from its first column (key)."""
        column = reg.from_(self.layout.column(self.thread, 0), s32)
        if not self.problem.causal:
            return [(self.problem.keys - 1) - column] * 2
        first = self.row + reg.from_(self.layout.row(self.thread, 0), s32) - column
        return [first + (self.problem.ahead + down) for down in (0, 8)]

    def run(self) -> None:
        """Iterate over the CTA's keys from the last to the first, so that steps with masked keys come first."""
        size, first, last = self.plan.keys, self.work.first, self.work.behind - 1
        whole = reg.scalar(s32, init=self.problem.whole_steps(self.row, size)).min(last)
        if self.plan.splits > 1:
            whole = whole.max(first)
        self.first_step(last * size, hidden=self.problem.causal or self.problem.keys % size > 0)
        if self.problem.causal:
            for key in ptx.range_((last - 1) * size, whole * size - 1, -size):
                self.step(key, hidden=True)
        for key in ptx.range_((whole - 1) * size, first * size - 1, -size):
            self.step(key, hidden=False)
        self.last_step()

    # --- one step -----------------------------------------------------------------------------------

    def first_step(self, first_key: Reg, *, hidden: bool) -> None:
        """Compute the probabilities of the first step; no P · V precedes them."""
        self.multiply_keys(self.keys.wait())
        ptx.wgmma.wait_group(0)
        self.exponentiate(first_key, hidden=hidden)

    def step(self, first_key: Reg, *, hidden: bool) -> None:
        """Compute P · V of the previous step, and meanwhile the probabilities of this step."""
        self.settle()
        keys = self.keys.wait()
        self.order.take()
        self.multiply_keys(keys)
        self.add_values(self.values.wait())
        self.order.give()
        ptx.wgmma.wait_group(1)
        self.exponentiate(first_key, hidden=hidden)

    def last_step(self) -> None:
        """Compute P · V of the last step."""
        self.settle()
        self.add_values(self.values.wait())
        ptx.wgmma.wait_group(0)

    def settle(self) -> None:
        """Wait for the last P · V, scale the accumulator to the new maxima, and round P for the next P · V.

        This is at the start of a step, not at the end of the previous one, because ptxas moves waits up inside a basic
        block: there it would wait before the exponentials that overlap with the MMAs.
        """
        ptx.wgmma.wait_group(0)
        self.values.release(self.first_lane)
        self.softmax.correct(self.out)
        round_pairs(self.weights, self.scores)

    def exponentiate(self, first_key: Reg, *, hidden: bool) -> None:
        """Release the stage of K and replace the complete scores by probabilities."""
        self.keys.release(self.first_lane)
        if hidden:
            self.hide(first_key)
        self.softmax.update(self.scores)

    def hide(self, first_key: Reg) -> None:
        """Set the scores of keys that a row does not see to -inf."""
        limits = [last - first_key for last in self.last_keys]
        for i, value in enumerate(self.scores):
            seen = limits[self.layout.row(0, i) // 8] >= self.layout.column(0, i)
            ptx.selp(f32, value, value, -math.inf, seen)

    def multiply_keys(self, stage: Reg) -> None:
        """Start scores = Q · Kᵀ as one wgmma group."""
        multiply(self.scores, self.q, self.plan.q, ptx.wgmma.descriptor(self.keys.ring.tiles[stage]), self.plan.k)

    def add_values(self, stage: Reg) -> None:
        """Start `out` += `weights` · V as one wgmma group."""
        accumulate(self.out, self.weights, ptx.wgmma.descriptor(self.values.ring.tiles[stage]), self.plan.v)

    # --- epilogue -----------------------------------------------------------------------------------

    def finish(self, output, lse) -> None:
        """Store O and LSE; if a cluster splits the keys, only the columns that this CTA merges."""
        if self.plan.splits == 1:
            self._store_lse(lse, self.softmax.finish(self.out))
            self._store(output)
        else:
            self._merge(output, lse)

    def _store(self, output) -> None:
        """Store O by stmatrix and TMA, through the shared memory of Q."""
        own = self.order.own + self.plan.consumers
        ptx.bar.sync(own, GROUP)  # all four warps have read Q: O may overwrite it
        stage_rows(self.out, self.plan.q, self.queries.tiles, self.number, self.thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(own, GROUP)
        with ptx.if_(self.thread == 0):
            store(self.plan.q, self.queries.tiles, self.number, output, replace(self.place, row=self.row))
            ptx.cp.async_.bulk.wait_group(0, read=True)

    def _merge(self, output, lse) -> None:
        """Merge the cluster's partial results, store this CTA's columns; exit after all CTAs have read its memory."""
        partial, row = Partial(self.plan), reg.from_(self.layout.row(self.thread, 0), u32)
        partial.hand_over(self.number, self.thread, row, self.softmax, self.out)
        ptx.cluster.sync()
        chunks, logarithms = partial.merge(self.number, self.thread, row, self.problem.scale2)
        self._store_lse(lse, logarithms, partial.rank == 0)
        place = replace(self.place, row=self.row + reg.from_(row, s32))
        store_columns(place, self.problem, partial.column(self.thread), chunks, output, partial.others)
        ptx.cluster.wait()

    def _store_lse(self, lse, logarithms: list[Reg], mine: Reg | None = None) -> None:
        """Store LSE of rows inside the sequence, by the first lane of each quad, and only if `mine` is true or None."""
        (pointer,) = ptx.global_ptrs(lse)
        line = (self.place.batch * self.problem.heads + self.place.head) * self.problem.queries
        first = (self.thread & 3) == 0 if mine is None else mine & ((self.thread & 3) == 0)
        for down, logarithm in zip((0, 8), logarithms, strict=True):
            row = self.row + reg.from_(self.layout.row(self.thread, 0), s32) + down
            ptx.st(f32, ptx.addr(pointer + (line + row) * 4), logarithm, pred=first & (row < self.problem.queries))


# --- the kernel -------------------------------------------------------------------------------------


@functools.cache
def flash_attention_of(plan: Plan) -> Kernel[tuple[Tile, Tile]]:
    """Return the attention kernel for the tile sizes of `plan`."""
    queries, keys, values = (
        heads_tile(tile, *names)
        for tile, *names in ((plan.q, "Sq", "Hq"), (plan.k, "Skv", "Hkv"), (plan.v, "Skv", "Hkv"))
    )

    @kernel(
        in_specs=(queries, keys, values),
        out_specs=(queries, Tile("B", "Hq", "Sq", f32)),
        grid=lambda B, Sq, Hq: B * Hq * plan.tiles(Sq) * plan.splits,
        block=plan.threads,
        cluster=plan.splits,
        raw_directives=plan.directives,
        arch="sm_90a",
        launch=ATTRIBUTES if plan.overlaps else {},
    )
    def flash_attention(Q, K, V, OUT, LSE, *, causal: bool = False, scale: float | None = None) -> None:
        """Compute O and LSE; `scale` defaults to 1 / sqrt(head_dim)."""
        problem, q_tiles = problem_of(Q, K, scale, causal=causal), smem.tile(plan.q)
        rings = [Ring(layout, plan.consumers * WARPS) for layout in (plan.k, plan.v)]
        queries = QueryTiles(plan, q_tiles)  # allocates Q's mbarrier after the tiles, which need 1024-byte alignment
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index
        with ptx.if_(thread == 0):
            fetch_maps(Q, K, V)
            for barriers in (queries, *rings):
                barriers.init()
            ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync()
        if plan.overlaps:
            take_over()
        with ptx.if_(group == 0):
            ptx.setmaxnreg_dec(plan.registers[0])
            with ptx.if_(thread == 0):
                Producer(queries, rings, (Q, K, V)).fetch(work_of(plan, problem))
        with ptx.else_():
            ptx.setmaxnreg_inc(plan.registers[1])
            readers, order = [Reader(ring) for ring in rings], Turns(plan.consumers, group - 1)
            work = work_of(plan, problem)
            consumer = Consumer(work, group - 1, queries, readers, order)
            ptx.mbarrier.wait(queries.full, 0)
            with work.if_any():
                consumer.run()
            consumer.finish(OUT, LSE)
            order.close()
        ptx.ret()

    return flash_attention


_KERNELS = {(plan.head_dim, plan.splits): flash_attention_of(plan) for plan in PLANS}


def kernel_for(head_dim: int, splits: int = 1) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel that splits keys over `splits` CTAs; raise ValueError if no `Plan` matches."""
    for place, (name, wanted) in enumerate((("head dimensions", head_dim), ("splits", splits))):
        known = sorted({each[place] for each in _KERNELS})
        if wanted not in known:
            raise ValueError(f"flash_attention has {name} {', '.join(map(str, known))}, not {wanted}")
    return _KERNELS[head_dim, splits]


def variant(head_dim: int, splits: int = 1, **how: bool) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel for a `Plan` with changed fields: `variant(128, overlaps=True)`."""
    (plan,) = (plan for plan in PLANS if (plan.head_dim, plan.splits) == (head_dim, splits))
    return flash_attention_of(replace(plan, **how))


KERNELS = {head_dim: kernel_for(head_dim) for head_dim in (64, 128)}
"""Kernel of each head dimension, without split keys."""


def flash_attention(q, k, v, *, causal: bool = False, scale: float | None = None, splits: int | None = None):
    """Return O and LSE of bf16 arrays [B, S, H, D]; raise ValueError if no `Plan` matches.

    Keys are split over clusters of `splits` CTAs, 1 to 6 or 8; by default, over as many as keep an H200 busy.
    """
    batch, queries, heads, head_dim = q.shape
    chosen = splits_for(head_dim, batch * heads, queries, k.shape[1], causal=causal) if splits is None else splits
    return kernel_for(head_dim, chosen)(q, k, v, causal=causal, scale=scale)


def reference(q, k, v, *, causal: bool = False, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compute attention's O and LSE by NumPy in float64."""
    return float64.attention(q, k, v, causal=causal, scale=scale)


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    for head_dim, causal in ((64, False), (128, True)):
        q, k, v = (rng.standard_normal((1, 200, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1))
        results = zip(flash_attention(q, k, v, causal=causal), reference(q, k, v, causal=causal), strict=True)
        errors = [np.abs(np.asarray(actual, np.float64) - expected).max() for actual, expected in results]
        print(f"flash_attention D={head_dim} causal={causal}: largest error {errors[0]:.2e}, of LSE {errors[1]:.2e}")


if __name__ == "__main__":
    main()
