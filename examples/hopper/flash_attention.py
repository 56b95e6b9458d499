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

import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention import float64
from examples.attention.problem import Place, Problem, dealt, divided, problem_of
from examples.attention.tiles import (
    GROUP,
    WARPS,
    Ring,
    fetch_maps,
    heads_tile,
    load,
    round_pairs,
    store,
    thread_of_group,
)
from examples.hopper.attention_parts import Softmax, Turns, accumulate, multiply, stage_rows
from examples.hopper.attention_plans import PLANS, ROWS, Plan, splits_for
from examples.hopper.attention_splits import Partial, store_columns

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyptx.kernel import Kernel
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef, SharedAlloc


# --- what a block does ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Work:
    """Some queries of a head, and the steps of keys that they attend to here: from `first` to before `behind`."""

    plan: Plan
    problem: Problem
    place: Place
    first: Reg | int
    behind: Reg

    def if_any(self) -> AbstractContextManager[object]:
        """Run a block of code if there are such steps; where keys are not split, there are, and nothing is emitted."""
        return nullcontext() if self.plan.splits == 1 else ptx.if_(self.first < self.behind)


def work_of(plan: Plan, problem: Problem) -> Work:
    """Return what this block works for: heads first, and of causal problems the longest rows first.

    The steps of a tile are dealt out evenly over its cluster; those on the diagonal, at the end, to the last block.
    """
    blocks = plan.tiles(problem.queries)
    number = ptx.special.ctaid.x() if plan.splits == 1 else ptx.special.clusterid.x()
    head, block, batch = dealt(reg.from_(number, u32), problem.heads, blocks)
    if problem.causal:
        block = (blocks - 1) - block
    place = Place(head, batch, block * plan.rows)
    steps = reg.scalar(s32, init=problem.steps(place.row + plan.rows, plan.keys))
    if plan.splits == 1:
        return Work(plan, problem, place, 0, steps)
    rank = reg.from_(ptx.special.cluster_ctarank(), s32)
    first, behind = (divided(steps * each, plan.splits) for each in (rank, rank + 1))
    return Work(plan, problem, place, first, behind)


# --- the producer -----------------------------------------------------------------------------------


def fetch_queries(work: Work, tensor, tiles: SharedAlloc, full: MbarrierRef) -> None:
    """Fetch Q, for all consumers."""
    ptx.mbarrier.arrive_expect_tx(full, work.plan.q.bytes)
    for consumer in range(work.plan.consumers):
        load(work.plan.q, tiles, consumer, tensor, replace(work.place, row=work.place.row + consumer * ROWS), full)


def fetch_keys(work: Work, tensors, rings: list[Ring]) -> None:
    """Fetch keys and values, in the order in which consumers ask for them."""
    plan, head = work.plan, divided(work.place.head, work.problem.shared)
    turns = [ptx.pipeline(plan.stages, phase=reg.scalar(u32, init=1)) for _ in rings]

    def fetch(which: int, row: Reg) -> None:
        ring, (stage, phase) = rings[which], turns[which].advance()
        ptx.mbarrier.wait(ring.empty[stage], phase)
        ptx.mbarrier.arrive_expect_tx(ring.full[stage], ring.layout.stage_bytes)
        load(ring.layout, ring.tiles, stage, tensors[which], Place(head, work.place.batch, row), ring.full[stage])

    first, last = work.first * plan.keys, (work.behind - 1) * plan.keys
    fetch(0, last)
    for row in ptx.range_(last - plan.keys, first - 1, -plan.keys):
        fetch(0, row)
        fetch(1, row + plan.keys)  # the values of a step are added while the scores of the next are computed
    fetch(1, reg.scalar(s32, init=first))


# --- consumers --------------------------------------------------------------------------------------


class Consumer:
    """One warpgroup with its registers: scores, probabilities, and the sum of values."""

    def __init__(self, work: Work, number: Reg, rings: list[Ring], q: SharedAlloc) -> None:
        """Declare registers, and describe Q for the products; `number` counts consumers."""
        self.work, self.number = work, number
        self.plan, self.problem, self.place = plan, problem, place = work.plan, work.problem, work.place
        self.rings, self.turns = rings, [ptx.pipeline(plan.stages) for _ in rings]
        self.reading = [reg.scalar(u32, init=plan.stages) for _ in rings]  # the stage waited for last: none yet
        self.thread = thread_of_group()
        self.first_lane = (self.thread & 31) == 0
        self.row = place.row + number * ROWS
        self.scores = reg.wgmma_frag(m=ROWS, n=plan.keys, dtype=f32)
        self.weights = reg.array(b32, len(self.scores) // 2)
        self.out = reg.wgmma_frag(m=ROWS, n=plan.head_dim, dtype=f32)
        self.layout = ptx.wgmma.fragment(shape=(ROWS, plan.keys, plan.k.k_step), operand="d", dtype=f32)
        self.softmax = Softmax(problem.scale2, self.layout)
        self.q_tiles, self.q = q, ptx.wgmma.descriptor(q[number])
        self.order = Turns(plan.consumers, number)
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
        self.multiply_keys(self.next_stage(0))
        ptx.wgmma.wait_group(0)
        self.weigh(first_key, hidden=hidden)

    def step(self, first_key: Reg, *, hidden: bool) -> None:
        """Add the values of the step before, and meanwhile compute the probabilities of this one."""
        self.settle()
        keys = self.next_stage(0)
        self.order.take()
        self.multiply_keys(keys)
        self.add_values(self.next_stage(1))
        self.order.give()
        ptx.wgmma.wait_group(1)
        self.weigh(first_key, hidden=hidden)

    def last_step(self) -> None:
        """Add the values of the last step."""
        self.settle()
        self.add_values(self.next_stage(1))
        ptx.wgmma.wait_group(0)

    def settle(self) -> None:
        """Wait for the values added so far, scale them to the new maxima, and round the probabilities to add next.

        This stands at the head of a step, not at the end of the one before, because ptxas moves waits up inside a basic
        block: there it would wait before the exponentials that the products are to overlap with.
        """
        ptx.wgmma.wait_group(0)
        self.release(1)
        self.softmax.correct(self.out)
        round_pairs(self.weights, self.scores)

    def weigh(self, first_key: Reg, *, hidden: bool) -> None:
        """Turn scores into probabilities, now that they are there."""
        self.release(0)
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
        multiply(self.scores, self.q, self.plan.q, ptx.wgmma.descriptor(self.rings[0].tiles[stage]), self.plan.k)

    def add_values(self, stage: Reg) -> None:
        """Start out += weights · V as a group of products."""
        accumulate(self.out, self.weights, ptx.wgmma.descriptor(self.rings[1].tiles[stage]), self.plan.v)

    def next_stage(self, which: int) -> Reg:
        """Wait for the next stage of keys (0) or values (1), and return it."""
        stage, phase = self.turns[which].advance()
        ptx.mbarrier.wait(self.rings[which].full[stage], phase)
        ptx.inst.mov.u32(self.reading[which], stage)
        return stage

    def release(self, which: int) -> None:
        """Tell the producer that this warp has read the stage that it waited for last, if it has waited for any."""
        stage = self.reading[which]
        ptx.mbarrier.arrive(self.rings[which].empty[stage], pred=self.first_lane & (stage < self.plan.stages))

    # --- the end ------------------------------------------------------------------------------------

    def finish(self, output, sums) -> None:
        """Store O and LSE; a block of a cluster, its share of them."""
        if self.plan.splits == 1:
            self._store_sums(sums, self.softmax.finish(self.out))
            self._store(output)
        else:
            self._merge(output, sums)
        self.order.close()

    def _store(self, output) -> None:
        """Store O by stmatrix and TMA, through the memory of Q."""
        own = self.order.own + self.plan.consumers
        ptx.bar.sync(own, GROUP)  # all four warps have read Q
        stage_rows(self.out, self.plan.q, self.q_tiles, self.number, self.thread)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(own, GROUP)
        with ptx.if_(self.thread == 0):
            store(self.plan.q, self.q_tiles, self.number, output, replace(self.place, row=self.row))
            ptx.cp.async_.bulk.wait_group(0, read=True)

    def _merge(self, output, sums) -> None:
        """Merge with the other blocks of the cluster, and store what is this one's; leave when none reads it."""
        partial, row = Partial(self.plan), reg.from_(self.layout.row(self.thread, 0), u32)
        partial.hand_over(self.number, self.thread, row, self.softmax, self.out)
        ptx.cluster.sync()
        chunks, logarithms = partial.merge(self.number, self.thread, row, self.problem.scale2)
        self._store_sums(sums, logarithms, partial.rank == 0)
        place = replace(self.place, row=self.row + reg.from_(row, s32))
        store_columns(place, self.problem, partial.column(self.thread), chunks, output)
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
    )
    def flash_attention(Q, K, V, OUT, LSE, *, causal: bool = False, scale: float | None = None) -> None:
        """Attend; `scale` is 1 / sqrt(head_dim) unless another is given."""
        problem, q_tiles = problem_of(Q, K, scale, causal=causal), smem.tile(plan.q)
        rings = [Ring(layout, plan.consumers * WARPS) for layout in (plan.k, plan.v)]
        q_full = smem.mbarrier(1)[0]
        thread, group = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
        ptx.shfl.sync.idx(group, thread >> 7, 0)  # so that ptxas knows: it is the same for all lanes
        with ptx.if_(thread == 0):
            fetch_maps(Q, K, V)
            ptx.mbarrier.init(q_full, 1)
            for ring in rings:
                ring.init()
            ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync()
        work = work_of(plan, problem)
        with ptx.if_(group == 0):
            ptx.setmaxnreg_dec(plan.registers[0])
            with ptx.if_(thread == 0):
                fetch_queries(work, Q, q_tiles, q_full)
                with work.if_any():
                    fetch_keys(work, (K, V), rings)
        with ptx.else_():
            ptx.setmaxnreg_inc(plan.registers[1])
            consumer = Consumer(work, group - 1, rings, q_tiles)
            ptx.mbarrier.wait(q_full, 0)
            with work.if_any():
                consumer.run()
            consumer.finish(OUT, LSE)
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


KERNELS = {head_dim: kernel_for(head_dim) for head_dim in (64, 128)}
"""The kernel of each head dimension that does not split keys."""


def flash_attention(q, k, v, *, causal: bool = False, scale: float | None = None, splits: int | None = None):
    """Return O and LSE of arrays [B, S, H, D] of bf16; raise ValueError for what no plan has.

    Keys are split over clusters of `splits` blocks: 1, 2, 4 or 8; if it is not given, as many as keep an H100 busy.
    """
    batch, queries, heads, head_dim = q.shape
    chosen = splits_for(head_dim, batch * heads, queries, k.shape[1]) if splits is None else splits
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
