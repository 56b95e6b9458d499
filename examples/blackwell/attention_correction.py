"""Correction warpgroup of attention on Blackwell: it scales O in tensor memory, and stores it at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import b32, f32, pred, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.tiles import GROUP, store, thread_of_group
from examples.blackwell.attention_block import CHUNK, TILES, accumulator_of
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from examples.blackwell.attention_block import Memory, Work

    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

VECTOR = 8  # bf16 elements per 16-byte store
STAGED = 1  # named barrier of the correction warpgroup; barrier 0 synchronizes the whole CTA


class Correction:
    """A thread of the correction warpgroup, with one row of O in each of the CTA's two tiles."""

    def __init__(self, work: Work, memory: Memory, t: TensorMemory, warp: Reg) -> None:
        """Compute the position of the thread's row of O in each tile."""
        self.work, self.memory, self.thread = work, memory, thread_of_group()
        head_dim = memory.plan.head_dim
        self.mine = [accumulator_of(t, tile, head_dim).quarter(warp) for tile in range(TILES)]
        self.phase = reg.scalar(u32, init=0)  # phase parity of the next wait on mbarriers `factor_ready`
        self.held = reg.array(b32, CHUNK)

    def run(self) -> None:
        """Rescale O by the softmax's factor of each step, before P · V of that step is accumulated."""
        for tile in range(TILES):
            ptx.mbarrier.wait(self.memory.factor_ready[tile], self.phase)
            ptx.mbarrier.arrive(self.memory.p_ready[tile])  # step 0 has no earlier P · V: O needs no rescaling
        for _ in ptx.range_(1, self.work.steps):
            self.phase ^= 1
            for tile in range(TILES):
                factor = self.receive(tile, self.memory.factors, self.memory.factor_ready, self.phase)
                ptx.tcgen05.fence_after_thread_sync()
                with ptx.if_(self.any(factor != 1.0)):
                    self.scale(tile, factor)
                ptx.tcgen05.fence_before_thread_sync()
                ptx.mbarrier.arrive(self.memory.p_ready[tile])

    def receive(self, tile: int, numbers, barriers, phase: Reg | int) -> Reg:
        """Wait for the f32 that the softmax writes to `numbers` for the thread's row, and return it."""
        ptx.mbarrier.wait(barriers[tile], phase)
        return ptx.ld(f32, reg.scalar(f32), numbers.address(tile, self.thread), space="shared")

    @staticmethod
    def any(condition: Reg) -> Reg:
        """Return whether any lane's condition is true: a whole warp loads or stores tensor memory together."""
        return ptx.vote.sync.any(reg.scalar(pred), condition)

    def scale(self, tile: int, factor: Reg) -> None:
        """Multiply the thread's row of O in tensor memory by `factor`."""
        for at in range(0, self.memory.plan.head_dim, CHUNK):
            place = self.mine[tile][:, at : at + CHUNK]
            self.scaled(place, factor)
            ptx.tcgen05.st(place, self.held, shape="32x32b", count=CHUNK)
        ptx.tcgen05.wait_st()

    def scaled(self, place: TensorMemory, factor: Reg) -> None:
        """Load the columns `place` of the thread's row of O into `held`, and multiply them by `factor`."""
        ptx.tcgen05.ld(self.held, place, shape="32x32b", count=CHUNK)
        ptx.tcgen05.wait_ld()
        for value in self.held:
            ptx.inst.mul.rn.f32(value, value, factor)

    def finish(self, output) -> None:
        """Multiply O by the inverses of the softmax denominators, and store it through the shared memory of Q."""
        for tile in range(TILES):
            inverse = self.receive(tile, self.memory.inverses, self.memory.inverse_ready, 0)
            ptx.mbarrier.wait(self.memory.o_ready[tile], 0)
            ptx.tcgen05.fence_after_thread_sync()
            self.stage(tile, inverse)
            ptx.fence.proxy_async_shared_cta()
            ptx.bar.sync(STAGED, GROUP)
            with ptx.if_(self.thread == 0):
                store(self.memory.plan.q, self.memory.q, tile, output, self.work.place_of(tile))
        with ptx.if_(self.thread == 0):
            ptx.cp.async_.bulk.wait_group(0, read=True)

    def stage(self, tile: int, inverse: Reg) -> None:
        """Scale the thread's row of O by `inverse`, round to bf16 and write it to shared memory, 16 bytes at a time."""
        layout, packed = self.memory.plan.q, reg.array(b32, CHUNK // 2)
        for first in range(0, layout.shape[1], CHUNK):
            self.scaled(self.mine[tile][:, first : first + CHUNK], inverse)
            round_pairs(packed, self.held)
            for at in range(0, CHUNK, VECTOR):
                panel, column = divmod(first + at, layout.box_columns)
                which = (tile,) if layout.boxes == 1 else (tile, panel)
                place = self.memory.q.address(*which, self.thread, column)
                ptx.st(b32, place, packed[at // 2 : (at + VECTOR) // 2], space="shared")
