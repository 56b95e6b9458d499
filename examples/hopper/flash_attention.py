"""Flash attention: `O = softmax(scale · Q · Kᵀ) · V` for each head, and `LSE`, the logarithm of each row's sum.

A block owns 64 rows of Q for each of its two or three *consumer* warpgroups, and walks over the keys once. Scores never
leave registers: products write them, a running maximum and sum turn them into probabilities, which are rounded to bf16
where they lie and become the first factor of the next product. What was summed before is scaled as a maximum grows.

Three things overlap. One thread of the *producer* warpgroup keeps the stages of K and V full by TMA. Inside a consumer,
tensor cores add the values of one step while its threads compute the softmax of the next. And the consumers take turns
at issuing products, so that one computes its softmax while another keeps the tensor cores busy.

Arrays are dense, [batch, sequence, heads, head_dim], as a projection leaves them. Heads of K and V may be fewer than
those of Q (grouped queries). With `causal=True` query i sees the keys up to i + Skv - Sq: the last query sees all. A
query that sees no key gets O = 0 and LSE = -inf.

Where tiles of queries are too few for a whole GPU, each has a cluster, whose blocks split its keys and merge what they
find (`attention_splits.py`).

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

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

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
    """One warpgroup with its registers: scores, probabilities, and the sum of values."""

    def __init__(self, work: Work, number: Reg, queries: QueryTiles, readers: list[Reader], order: Turns) -> None:
        """Declare registers, and describe Q for the products; `number` counts consumers."""
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
        """Return the last key that each of the thread's rows sees, counted from the thread's first column."""
        column = reg.from_(self.layout.column(self.thread, 0), s32)
        if not self.problem.causal:
            return [(self.problem.keys - 1) - column] * 2
        first = self.row + reg.from_(self.layout.row(self.thread, 0), s32) - column
        return [first + (self.problem.ahead + down) for down in (0, 8)]

    def run(self) -> None:
        """Walk over the block's keys from the last to the first: those that some row does not see come first."""
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
        """Compute the probabilities of the first step; there is nothing to add yet."""
        self.multiply_keys(self.keys.wait())
        ptx.wgmma.wait_group(0)
        self.weigh(first_key, hidden=hidden)

    def step(self, first_key: Reg, *, hidden: bool) -> None:
        """Add the values of the step before, and meanwhile compute the probabilities of this one."""
        self.settle()
        keys = self.keys.wait()
        self.order.take()
        self.multiply_keys(keys)
        self.add_values(self.values.wait())
        self.order.give()
        ptx.wgmma.wait_group(1)
        self.weigh(first_key, hidden=hidden)

    def last_step(self) -> None:
        """Add the values of the last step."""
        self.settle()
        self.add_values(self.values.wait())
        ptx.wgmma.wait_group(0)

    def settle(self) -> None:
        """Wait for the values added so far, scale them to the new maxima, and round the probabilities to add next.

        This stands at the head of a step, not at the end of the one before, because ptxas moves waits up inside a basic
        block: there it would wait before the exponentials that the products are to overlap with.
        """
        ptx.wgmma.wait_group(0)
        self.values.release(self.first_lane)
        self.softmax.correct(self.out)
        round_pairs(self.weights, self.scores)

    def weigh(self, first_key: Reg, *, hidden: bool) -> None:
        """Turn scores into probabilities, now that they are there."""
        self.keys.release(self.first_lane)
        if hidden:
            self.hide(first_key)
        self.softmax.update(self.scores)

    def hide(self, first_key: Reg) -> None:
        """Take the keys that a row does not see out of its scores."""
        limits = [last - first_key for last in self.last_keys]
        for i, value in enumerate(self.scores):
            seen = limits[self.layout.row(0, i) // 8] >= self.layout.column(0, i)
            ptx.selp(f32, value, value, -math.inf, seen)

    def multiply_keys(self, stage: Reg) -> None:
        """Start scores = Q · Kᵀ as a group of products."""
        multiply(self.scores, self.q, self.plan.q, ptx.wgmma.descriptor(self.keys.ring.tiles[stage]), self.plan.k)

    def add_values(self, stage: Reg) -> None:
        """Start out += weights · V as a group of products."""
        accumulate(self.out, self.weights, ptx.wgmma.descriptor(self.values.ring.tiles[stage]), self.plan.v)

    # --- the end ------------------------------------------------------------------------------------

    def finish(self, output, sums) -> None:
        """Store O and LSE; a block of a cluster, its share of them."""
        if self.plan.splits == 1:
            self._store_sums(sums, self.softmax.finish(self.out))
            self._store(output)
        else:
            self._merge(output, sums)

    def _store(self, output) -> None:
        """Store O by stmatrix and TMA, through the memory of Q."""
        own = self.order.own + self.plan.consumers
        ptx.bar.sync(own, GROUP)  # all four warps have read Q
        stage_rows(self.out, self.plan.q, self.queries.tiles, self.number, self.thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(own, GROUP)
        with ptx.if_(self.thread == 0):
            store(self.plan.q, self.queries.tiles, self.number, output, replace(self.place, row=self.row))
            ptx.cp.async_.bulk.wait_group(0, read=True)

    def _merge(self, output, sums) -> None:
        """Merge with the other blocks of the cluster, and store what is this one's; leave when none reads it."""
        partial, row = Partial(self.plan), reg.from_(self.layout.row(self.thread, 0), u32)
        partial.hand_over(self.number, self.thread, row, self.softmax, self.out)
        ptx.cluster.sync()
        chunks, logarithms = partial.merge(self.number, self.thread, row, self.problem.scale2)
        self._store_sums(sums, logarithms, partial.rank == 0)
        place = replace(self.place, row=self.row + reg.from_(row, s32))
        store_columns(place, self.problem, partial.column(self.thread), chunks, output, partial.others)
        ptx.cluster.wait()

    def _store_sums(self, sums, logarithms: list[Reg], mine: Reg | None = None) -> None:
        """Store the logarithms of the rows that there are, by the first lane of each four; where it is `mine`."""
        (pointer,) = ptx.global_ptrs(sums)
        line = (self.place.batch * self.problem.heads + self.place.head) * self.problem.queries
        first = (self.thread & 3) == 0 if mine is None else mine & ((self.thread & 3) == 0)
        for down, logarithm in zip((0, 8), logarithms, strict=True):
            row = self.row + reg.from_(self.layout.row(self.thread, 0), s32) + down
            ptx.st(f32, ptx.addr(pointer + (line + row) * 4), logarithm, pred=first & (row < self.problem.queries))


# --- the kernel -------------------------------------------------------------------------------------


@functools.cache
def flash_attention_of(plan: Plan) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel of a plan."""
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
        """Attend; `scale` is 1 / sqrt(head_dim) unless another is given."""
        problem, q_tiles = problem_of(Q, K, scale, causal=causal), smem.tile(plan.q)
        rings = [Ring(layout, plan.consumers * WARPS) for layout in (plan.k, plan.v)]
        queries = QueryTiles(plan, q_tiles)  # behind the tiles, which are aligned to a kilobyte
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # so that ptxas knows: it is the same for all lanes
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
    """Return the kernel that splits keys over that many blocks; raise ValueError for what no plan has."""
    for place, (name, wanted) in enumerate((("head dimensions", head_dim), ("splits", splits))):
        known = sorted({each[place] for each in _KERNELS})
        if wanted not in known:
            raise ValueError(f"flash_attention has {name} {', '.join(map(str, known))}, not {wanted}")
    return _KERNELS[head_dim, splits]


def variant(head_dim: int, splits: int = 1, **how: bool) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel of a plan that is carried out otherwise: `variant(128, overlaps=True)`."""
    (plan,) = (plan for plan in PLANS if (plan.head_dim, plan.splits) == (head_dim, splits))
    return flash_attention_of(replace(plan, **how))


KERNELS = {head_dim: kernel_for(head_dim) for head_dim in (64, 128)}
"""The kernel of each head dimension that does not split keys."""


def flash_attention(q, k, v, *, causal: bool = False, scale: float | None = None, splits: int | None = None):
    """Return O and LSE of arrays [B, S, H, D] of bf16; raise ValueError for what no plan has.

    Keys are split over clusters of `splits` blocks, 1 to 6 or 8; if it is not given, as many as keep an H200 busy.
    """
    batch, queries, heads, head_dim = q.shape
    chosen = splits_for(head_dim, batch * heads, queries, k.shape[1], causal=causal) if splits is None else splits
    return kernel_for(head_dim, chosen)(q, k, v, causal=causal, scale=scale)


def reference(q, k, v, *, causal: bool = False, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compute O and LSE in float64."""
    return float64.attention(q, k, v, causal=causal, scale=scale)


def main() -> None:
    """Run on the simulator and print the largest errors against float64."""
    rng = np.random.default_rng(0)
    for head_dim, causal in ((64, False), (128, True)):
        q, k, v = (rng.standard_normal((1, 200, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1))
        results = zip(flash_attention(q, k, v, causal=causal), reference(q, k, v, causal=causal), strict=True)
        errors = [np.abs(np.asarray(actual, np.float64) - expected).max() for actual, expected in results]
        print(f"flash_attention D={head_dim} causal={causal}: largest error {errors[0]:.2e}, of LSE {errors[1]:.2e}")


if __name__ == "__main__":
    main()
