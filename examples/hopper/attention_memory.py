"""What a block that differentiates attention on Hopper has in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path

from pyptx import ptx, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.tiles import WARPS
from examples.hopper.attention_plans import ROWS

CONSUMERS = 2
STEP = 64  # rows that a block walks over at once, those that are told of together
STAGES = 3


class Memory:
    """What a block has in shared memory: the two tiles that it owns, the stages of two that pass, and barriers.

    `told` is what the first kernel computed of the queries of a stage; `swizzle` is that of what the block owns.
    """

    def __init__(self, head_dim: int, swizzle: str = "widest") -> None:
        """Allocate; the barriers count the bytes that come (`owned`, `came`) and the warps that have read (`empty`)."""
        self.own = SharedTile(bf16, (ROWS, head_dim), swizzle=swizzle, stages=CONSUMERS)
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=STAGES)
        self.across = SharedTile(bf16, (STEP, head_dim), major="MN", stages=STAGES)  # the same bytes, turned
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(2)]
        self.told = smem.alloc(f32, (STAGES, 2, STEP))
        self.owned, self.empty = smem.mbarrier(1), smem.mbarrier(STAGES)
        self.came = [smem.mbarrier(STAGES) for _ in range(2)]

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        for barriers, count in ((self.owned, 1), *((each, 1) for each in self.came), (self.empty, CONSUMERS * WARPS)):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()
