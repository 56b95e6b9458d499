"""Shared memory of a CTA in the backward pass of attention on Hopper."""

from __future__ import annotations

import sys
from pathlib import Path

from pyptx import ptx, smem
from pyptx.smem import SharedTile
from pyptx.types import bf16, f32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.tiles import WARPS
from examples.hopper.attention_plans import ROWS

CONSUMERS = 2
STEP = 64  # queries (or keys) per iteration of the main loop
STAGES = 3


class Memory:
    """Shared memory of a CTA: the two tiles that it owns, the stages of the two tiles that it iterates over, mbarriers.

    `stats` receives the STATS values (-LSE, delta) of a stage's queries; `swizzle` is that of the owned tiles.
    """

    def __init__(self, head_dim: int, swizzle: str = "widest") -> None:
        """Allocate; mbarriers count bytes of TMA loads (`owned`, `loaded`) or warps that have read stages (`empty`)."""
        self.own = SharedTile(bf16, (ROWS, head_dim), swizzle=swizzle, stages=CONSUMERS)
        self.passing = SharedTile(bf16, (STEP, head_dim), stages=STAGES)
        self.across = SharedTile(bf16, (STEP, head_dim), major="MN", stages=STAGES)  # layout of transposed reads
        self.tiles = [smem.tile(self.own) for _ in range(2)]
        self.stages = [smem.tile(self.passing) for _ in range(2)]
        self.stats = smem.alloc(f32, (STAGES, 2, STEP))
        self.owned, self.empty = smem.mbarrier(1), smem.mbarrier(STAGES)
        self.loaded = [smem.mbarrier(STAGES) for _ in range(2)]

    def init(self) -> None:
        """Emit mbarrier.init for all mbarriers and a proxy fence, in one thread."""
        for barriers, count in ((self.owned, 1), *((each, 1) for each in self.loaded), (self.empty, CONSUMERS * WARPS)):
            for barrier in barriers:
                ptx.mbarrier.init(barrier, count)
        ptx.fence.proxy_async_shared_cta()
