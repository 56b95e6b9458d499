"""Softmax warpgroups of attention on Blackwell: probabilities replace scores in tensor memory."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import b32, f32, s32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.problem import LOWEST, normalization
from examples.attention.tiles import group_of_thread, thread_of_group
from examples.blackwell.attention_block import CHUNK, KEYS, ROWS, scores_of
from examples.blackwell.exponentials import Powers, pair, split
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from examples.blackwell.attention_block import Memory, Work

    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

THRESHOLD = 8.0  # growth of a row's maximum score (in log2) above which O is rescaled
READ_AT_ONCE = 32  # columns of S (scores) that a thread loads per tcgen05.ld
CHAINS = 4  # independent chains of `max` per row of scores, to hide the latency of `max`


class Softmax:
    """A thread of a softmax warpgroup and its row of scores: the maximum that scales the row, and the row sum."""

    def __init__(self, work: Work, memory: Memory, t: TensorMemory, warp: Reg) -> None:
        """Initialize maximum and sum of the row before its first key."""
        self.work, self.memory, self.problem = work, memory, work.problem
        self.tile, self.thread = group_of_thread(), thread_of_group()  # ptxas re-reads %tid: no spill
        self.mine = scores_of(t, 0).advance(KEYS, times=self.tile).quarter(warp)
        self.first = work.place.row + reg.from_(self.tile * ROWS, s32)
        self.row = self.first + reg.from_(self.thread, s32)
        self.peak = reg.scalar(f32, init=LOWEST)
        self.sums = [pair(0.0, 0.0) for _ in range(2)]
        self.scores, self.weights = reg.array(f32, KEYS), reg.array(b32, CHUNK)
        self.powers, self.scale = Powers(), pair(self.problem.scale2, self.problem.scale2)
        self.phase = reg.scalar(u32, init=0)

    def run(self) -> None:
        """Turn the scores of each step into probabilities, and pass a factor for O to the correction warpgroup."""
        whole = reg.scalar(s32, init=self.problem.whole_steps(self.first, KEYS)) * KEYS
        some_hidden = self.problem.causal or self.problem.keys % KEYS
        for key in ptx.range_((self.work.steps - 1) * KEYS, -1, -KEYS):
            self.read()
            if some_hidden:
                with ptx.if_(key >= whole):
                    self.hide(key)
            self.rescale()
            self.exponentiate()
            self.phase ^= 1

    def read(self) -> None:
        """Wait for the MMA of the scores, and load the row's scores."""
        ptx.mbarrier.wait(self.memory.s_ready[self.tile], self.phase)
        ptx.tcgen05.fence_after_thread_sync()
        for at in range(0, KEYS, READ_AT_ONCE):
            columns = slice(at, at + READ_AT_ONCE)
            ptx.tcgen05.ld(self.scores[columns], self.mine[:, columns], shape="32x32b", count=READ_AT_ONCE)
        ptx.tcgen05.wait_ld()

    def hide(self, key: Reg) -> None:
        """Set the scores of keys that the row must not see to -inf."""
        last = self.row + self.problem.ahead if self.problem.causal else self.problem.keys - 1
        limit = last - key
        for column, value in enumerate(self.scores):
            ptx.selp(f32, value, value, -math.inf, limit >= column)

    def rescale(self) -> None:
        """Raise `peak` to a score above it by over `THRESHOLD`; pass a factor for O to the correction warpgroup."""
        highest, factor = self.highest(), reg.scalar(f32)
        ptx.inst.max.f32(highest, highest, self.peak)
        grown = (highest - self.peak) * self.problem.scale2
        ptx.selp(f32, highest, highest, self.peak, grown > THRESHOLD)
        ptx.inst.ex2.approx.ftz.f32(factor, (self.peak - highest) * self.problem.scale2)  # factor is 1 if `peak` stays
        ptx.mbarrier.wait(self.memory.p_ready[self.tile], self.phase ^ 1)  # no stall: O's last factor has been read
        self.send(self.memory.factors, self.memory.factor_ready, factor)
        ptx.inst.mov.f32(self.peak, highest)
        both = pair(factor, factor)
        for total in self.sums:
            ptx.inst.mul.rn.f32x2(total, total, both)

    def highest(self) -> Reg:
        """Return the highest score of the row, by `max` of three operands in independent chains."""
        chains = [reg.scalar(f32, init=self.scores[start]) for start in range(CHAINS)]
        for at in range(CHAINS, KEYS, 2):
            chain = chains[at // 2 % CHAINS]
            ptx.inst.max.f32(chain, chain, *self.scores[at : at + 2])
        first, *others = chains
        for other in others:
            ptx.inst.max.f32(first, first, other)
        return first

    def exponentiate(self) -> None:
        """Overwrite the scores by P = 2^(scale · (S - peak)) in bf16, and add P to the row sum in f32."""
        shift = self.peak * -self.problem.scale2
        shift = pair(shift, shift)
        for at in range(0, KEYS // 2, CHUNK):
            for number, weight in enumerate(self.weights, at):
                values = self.scores[2 * number : 2 * number + 2]
                exponents = pair(*values)
                ptx.inst.fma.rn.f32x2(exponents, exponents, self.scale, shift)
                self.powers.power(exponents, values, number)
                round_pairs([weight], values)
            ptx.tcgen05.st(self.mine[:, at : at + CHUNK], self.weights, shape="32x32b", count=CHUNK)
        ptx.tcgen05.wait_st()
        ptx.tcgen05.fence_before_thread_sync()
        ptx.mbarrier.arrive(self.memory.p_ready[self.tile])
        for number in range(KEYS // 2):
            total = self.sums[number % len(self.sums)]
            ptx.inst.add.rn.f32x2(total, total, pair(*self.scores[2 * number : 2 * number + 2]))

    def send(self, numbers, barriers, value: Reg) -> None:
        """Write the row's `value` to shared memory for the correction warpgroup, and arrive at the tile's mbarrier."""
        ptx.st(f32, numbers.address(self.tile, self.thread), value, space="shared")
        ptx.mbarrier.arrive(barriers[self.tile])

    def finish(self, lse) -> None:
        """Pass 1 / sum, the final factor of O, to the correction warpgroup; store LSE if the row exists."""
        parts = reg.array(f32, 2)
        first, second = self.sums
        ptx.inst.add.rn.f32x2(first, first, second)
        split(first, parts)
        inverse, logarithm = normalization(self.peak, parts[0] + parts[1], self.problem.scale2)
        self.send(self.memory.inverses, self.memory.inverse_ready, inverse)
        (pointer,) = ptx.global_ptrs(lse)
        line = (self.work.place.batch * self.problem.heads + self.work.place.head) * self.problem.queries
        ptx.st(f32, ptx.addr(pointer + (line + self.row) * 4), logarithm, pred=self.row < self.problem.queries)
