"""Ring of rows in shared memory: a persistent CTA loads its next row while it processes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.rows.vectors import BYTES

from pyptx import ptx, reg, smem
from pyptx.types import b32, u32

if TYPE_CHECKING:
    from pyptx import TensorSpec

STAGES = 2


class Ring:
    """Rows of several matrices in shared memory, adjacent within each stage, and their loads by thread 0."""

    def __init__(self, row, count: int, stride: int, *matrices: TensorSpec) -> None:
        """Initialize the mbarriers and load the first rows of this CTA: every `stride`-th of `count` rows."""
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
        """Return the shared address of this thread's part of each matrix's row in a stage."""
        start = self._start + stage * self.stage_bytes
        return [start + first if first else start for first in range(0, self.stage_bytes, self.size)]

    def fetch(self, stage) -> None:
        """Start the bulk copies of the CTA's next row, if any, in thread 0."""
        with ptx.if_((self.row.tid == 0) & (self._next < self.count)):
            size = self.row.limit * BYTES
            ptx.mbarrier.arrive_expect_tx(self.full[stage], size * len(self._pointers))
            for there, pointer in zip(self.starts(stage), self._pointers, strict=True):
                ptx.cp.async_.bulk.load(ptx.addr(there), pointer, size, mbar=self.full[stage])
                ptx.inst.add.s64(pointer, pointer, self.stride * self.row.plan.columns * self.row.plan.dtype.bytes)
            self._next += self.stride
