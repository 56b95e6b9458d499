"""Rows on their way to shared memory, in the turn in which a block that stays will work on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.rows.vectors import BYTES

from pyptx import ptx, reg, smem
from pyptx.types import b32, u32

if TYPE_CHECKING:
    from pyptx import TensorSpec

STAGES = 2


class Ring:
    """The rows of some matrices in shared memory, side by side in each stage, and the thread that fetches them."""

    def __init__(self, row, count: int, stride: int, *matrices: TensorSpec) -> None:
        """Fetch the first rows of the block of `row`: of `count`, every `stride`-th is its own."""
        self.row, self.count, self.stride = row, count, stride
        self.size = row.plan.slice * BYTES
        self.stage_bytes = len(matrices) * self.size
        self.full = smem.mbarrier(STAGES)
        self._start = reg.from_(smem.alloc(b32, STAGES * self.stage_bytes // 4), u32) + row.lane * BYTES
        self._next = reg.from_(row.number, u32)
        self._pointers = [row.pointer(matrix) for matrix in matrices]
        with ptx.if_(row.tid == 0):
            for barrier in self.full:
                ptx.mbarrier.init(barrier, 1)
            ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(0)
        for stage in range(STAGES):
            self.fetch(stage)

    def starts(self, stage):
        """Return where this thread's part of each matrix lies in a stage."""
        start = self._start + stage * self.stage_bytes
        return [start + first if first else start for first in range(0, self.stage_bytes, self.size)]

    def fetch(self, stage) -> None:
        """Have thread 0, whose part begins with the block's, start the copies of the next row, if there is one."""
        with ptx.if_((self.row.tid == 0) & (self._next < self.count)):
            size = self.row.limit * BYTES
            ptx.mbarrier.arrive_expect_tx(self.full[stage], size * len(self._pointers))
            for there, pointer in zip(self.starts(stage), self._pointers, strict=True):
                ptx.cp.async_.bulk.load(ptx.addr(there), pointer, size, mbar=self.full[stage])
                ptx.inst.add.s64(pointer, pointer, self.stride * self.row.plan.columns * self.row.plan.dtype.bytes)
            self._next += self.stride
