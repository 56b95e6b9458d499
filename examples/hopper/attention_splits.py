"""The CTAs of a cluster share a tile of queries: each attends to a slice of the keys, and they merge their results.

From its keys, a CTA computes per row a maximum m, the sum l of the exponentials, and the weighted sum O of the values.
With M = max m over the cluster, each CTA has the weight w = exp(m - M). The row's result is sum(w · O) / sum(w · l).
Each CTA writes m, l and O to its shared memory. It then merges some columns of the tile, read from all CTAs by
distributed shared memory. Nothing passes through global memory, and one launch does it all.

O is stored in register order: the 16-byte chunks of adjacent threads are contiguous. The same thread of each CTA reads
them, without bank conflicts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg, smem
from pyptx.types import b32, bf16, f32, s32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.problem import normalization
from examples.attention.tiles import GROUP
from examples.hopper.attention_plans import ROWS
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.attention.problem import Problem, TilePosition
    from examples.hopper.attention_parts import Softmax
    from examples.hopper.attention_plans import Plan

    from pyptx.reg import Reg, RegArray

CHUNK = 4  # f32 accumulators of a thread per 16-byte chunk: two adjacent columns of row r and of row r + 8
COLUMNS = 8  # columns of O that a quad of lanes covers with one 16-byte chunk per lane
DOWN = (0, 8)  # offsets of a thread's two rows of O from the first of them


class Partial:
    """Partial result (O, row maxima and row sums) of a CTA in shared memory, written and merged by consumer threads."""

    def __init__(self, plan: Plan) -> None:
        """Allocate; emit this CTA's rank in the cluster, and the 16-byte chunks (per thread) of O that it merges."""
        self.plan = plan
        self.rank = reg.from_(ptx.special.cluster_ctarank(), s32)
        self.first, self.others = self._merges()
        self.values = smem.alloc(f32, (plan.consumers, plan.head_dim // COLUMNS, GROUP, CHUNK))
        self.totals = smem.alloc(f32, (plan.consumers, ROWS, 2))

    @property
    def share(self) -> int:
        """Number of 16-byte chunks per thread that each CTA merges."""
        return -(-self.plan.head_dim // COLUMNS // self.plan.splits)

    def _merges(self) -> tuple[Reg, Reg | None]:
        """Return this CTA's first 16-byte chunk (per thread) of O to merge, and how many another CTA stores (or None).

        If the number of CTAs does not divide that of chunks, the last CTAs start with chunks of others: each CTA merges
        the same number of chunks, and none reads past the last chunk.
        """
        chunks, own = self.plan.head_dim // COLUMNS, self.rank * self.share
        if chunks % self.plan.splits == 0:
            return own, None
        first = own.min(chunks - self.share)
        return first, own - first

    def column(self, thread: Reg) -> Reg:
        """Return the thread's first column of O among the columns that this CTA merges."""
        return self.first * COLUMNS + reg.from_((thread & 3) * 2, s32)

    def hand_over(self, consumer: Reg, thread: Reg, row: Reg, softmax: Softmax, out: RegArray) -> None:
        """Write a consumer's partial result for all CTAs of the cluster; `row` is the thread's first row."""
        at = self.values.address(consumer, 0, thread, 0)
        for number in range(self.plan.head_dim // COLUMNS):
            chunk = out[CHUNK * number : CHUNK * (number + 1)]
            ptx.st(f32, ptx.addr(at, number * GROUP * CHUNK * f32.bytes), chunk, space="shared")
        there = self.totals.address(consumer, row, 0)
        for down, peak, total in zip(DOWN, softmax.maxima, softmax.totals(), strict=True):
            place = ptx.addr(there, down * 2 * f32.bytes)
            ptx.st(f32, place, [peak, total], space="shared", pred=(thread & 3) == 0)

    def merge(self, consumer: Reg, thread: Reg, row: Reg, scale: float) -> tuple[list[list[Reg]], list[Reg]]:
        """Return this CTA's columns of O, divided by the row sums, and the logarithms (LSE) of the thread's two rows.

        All CTAs have called `hand_over`. After its reads, this CTA arrives at the cluster barrier.
        """
        peers, sums = range(self.plan.splits), self.totals.address(consumer, row, 0)
        values = self.values.address(consumer, self.first, thread, 0)
        totals = [read(peer, sums, 2, DOWN, 2) for peer in peers]
        chunks = [read(peer, values, CHUNK, range(self.share), GROUP * CHUNK) for peer in peers]
        ptx.cluster.arrive()
        weights, logarithms = zip(*(weights_of(rows, scale) for rows in zip(*totals, strict=True)), strict=True)
        return [weighted(each, weights) for each in zip(*chunks, strict=True)], list(logarithms)


def read(peer: int, address: object, count: int, places: Sequence[int], stride: int) -> list[list[Reg]]:
    """Load `count` f32 at each index of `places`, in units of `stride` f32, from CTA `peer`'s shared memory."""
    there = ptx.cluster.map_shared_u32(address, peer)
    found = [[reg.scalar(f32) for _ in range(count)] for _ in places]
    for place, values in zip(places, found, strict=True):
        ptx.ld(f32, values, ptx.addr(there, place * stride * f32.bytes), space="shared::cluster")
    return found


def weights_of(totals: Sequence[Sequence[Reg]], scale: float) -> tuple[list[Reg], Reg]:
    """Return each CTA's normalized weight for a row, and the row's LSE, from the row's maxima and sums in all CTAs."""
    peak, total = reg.scalar(f32, init=totals[0][0]), reg.scalar(f32, init=0.0)
    for one, _ in totals[1:]:
        ptx.inst.max.f32(peak, peak, one)
    weights = []
    for one, part in totals:
        weight = (one - peak) * scale
        ptx.inst.ex2.approx.ftz.f32(weight, weight)
        ptx.inst.fma.rn.f32(total, part, weight, total)
        weights.append(weight)
    inverse, logarithm = normalization(peak, total, scale)
    return [weight * inverse for weight in weights], logarithm


def weighted(chunks: Sequence[Sequence[Reg]], weights: Sequence[Sequence[Reg]]) -> list[Reg]:
    """Return the weighted sum of all CTAs' `chunks` (16 bytes of O); a thread's two rows have separate weights."""
    sums = [reg.scalar(f32, init=0.0) for _ in range(CHUNK)]
    for peer, chunk in enumerate(chunks):
        for i, (total, value) in enumerate(zip(sums, chunk, strict=True)):
            ptx.inst.fma.rn.f32(total, value, weights[i // 2][peer], total)
    return sums


def store_columns(
    place: TilePosition,
    problem: Problem,
    column: Reg,
    chunks: Sequence[Sequence[Reg]],
    array,
    others: Reg | None = None,
) -> None:
    """Round a thread's O to bf16, and store it from a column on to row `place.row` and the row 8 below, if they exist.

    The first `others` chunks of 16 bytes are skipped: another CTA stores them.
    """
    (pointer,) = ptx.global_ptrs(array)
    pairs = reg.array(b32, len(DOWN))
    rows = [place.row + down for down in DOWN]
    lines = [(place.batch * problem.queries + row) * problem.heads + place.head for row in rows]
    starts = [pointer + (line * array.shape[3] + column) * bf16.bytes for line in lines]
    present = [row < problem.queries for row in rows]
    for number, chunk in enumerate(chunks):
        round_pairs(pairs, chunk)
        for start, pair, there in zip(starts, pairs, present, strict=True):
            mine = there if others is None else there & (others <= number)
            ptx.st(b32, ptx.addr(start, number * COLUMNS * bf16.bytes), pair, pred=mine)
