"""How attention is dealt out over blocks of Hopper: sizes of tiles, and over how many blocks keys are split."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pyptx.smem import SharedTile
from pyptx.types import bf16

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.tiles import GROUP

ROWS = 64  # the M of wgmma
AT_ONCE = {1: 132, 2: 66, 4: 30, 8: 14}
"""How many clusters of each size an H100 or an H200 runs at a time, one block to an SM.

A cluster stays within a GPC, and of these some have fewer SMs that can be used than others, not the same on each chip.
"""
MERGING = 5
"""What splitting adds to the time of a cluster, in steps of 0.9 us: merging, and waiting for blocks to begin together.

Fitted, as are the clusters at a time, to 4096 queries and keys of one head of 64: on an H200 48.1 us unsplit, 23.3,
27.6 and 28.1 over 2, 4 and 8 blocks, and 14.6 where 4 blocks attend causally; 23.0 on an H100 where 2 do. Of each, 5
steps are taken for the launch.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a head dimension is dealt out over a block.

    `keys` are multiplied in one step, `stages` steps are in flight; `registers` are those of a thread of the producer
    and of a consumer, which together fill the multiprocessor. `splits` blocks, a cluster, share the keys of a tile.
    What `overlaps` begins before the launch in front of it has ended.
    """

    head_dim: int
    consumers: int
    keys: int
    stages: int
    registers: tuple[int, int]
    splits: int = 1
    overlaps: bool = False

    @property
    def rows(self) -> int:
        """The rows of Q that a block owns."""
        return self.consumers * ROWS

    @property
    def threads(self) -> int:
        """The threads of a block: producer and consumers."""
        return (1 + self.consumers) * GROUP

    @property
    def q(self) -> SharedTile:
        """Q, a stage for each consumer; the output leaves through the same memory."""
        return SharedTile(bf16, (ROWS, self.head_dim), stages=self.consumers)

    @property
    def k(self) -> SharedTile:
        """K, multiplied along the head."""
        return SharedTile(bf16, (self.keys, self.head_dim), stages=self.stages)

    @property
    def v(self) -> SharedTile:
        """V, multiplied along the keys."""
        return SharedTile(bf16, (self.keys, self.head_dim), major="MN", stages=self.stages)

    @property
    def directives(self) -> list[tuple[str, tuple[int, ...]]]:
        """The directives of the kernel; without the last two, ptxas expects launches without a cluster, too."""
        launch: list[tuple[str, tuple[int, ...]]] = [("maxntid", (self.threads, 1, 1)), ("minnctapersm", (1,))]
        return launch if self.splits == 1 else [*launch, ("reqnctapercluster", (self.splits,)), ("explicitcluster", ())]

    def tiles(self, queries: int) -> int:
        """Return how many blocks, or clusters, the queries of a head take."""
        return -(-queries // self.rows)

    def cost(self, heads: int, queries: int, keys: int, *, causal: bool) -> int:
        """Return about how long `heads` heads take, over all batches: steps, one behind the other, times their rows.

        Clusters begin in order, causal ones the longest first. Of one more than n times as many as there is room for,
        n + 1 run one behind the other somewhere, none shorter than the last of them.
        """
        merging, room = MERGING if self.splits > 1 else 0, AT_ONCE[self.splits]

        def length(cluster: int) -> int:
            hidden = cluster // heads * self.rows if causal else 0
            return -(-max(0, keys - hidden) // (self.keys * self.splits)) + merging

        turns = -(-heads * self.tiles(queries) // room)
        return max(turn * length((turn - 1) * room) for turn in range(1, turns + 1)) * self.rows


PLANS = (
    Plan(head_dim=64, consumers=3, keys=128, stages=4, registers=(32, 160)),
    Plan(head_dim=128, consumers=2, keys=128, stages=2, registers=(24, 240)),
    *(Plan(64, consumers=2, keys=128, stages=4, registers=(24, 240), splits=splits) for splits in (2, 4, 8)),
    *(Plan(128, consumers=2, keys=128, stages=2, registers=(24, 240), splits=splits) for splits in (2, 4, 8)),
)


def splits_for(head_dim: int, heads: int, queries: int, keys: int, *, causal: bool = False) -> int:
    """Return over how many blocks to split keys; 1 unless the tiles of queries leave some of an H100's SMs idle.

    `heads` counts those of all batches.
    """
    plans = [plan for plan in PLANS if plan.head_dim == head_dim]
    if not plans or heads * plans[0].tiles(queries) >= AT_ONCE[1]:
        return 1
    costs = [plan.cost(heads, queries, keys, causal=causal) for plan in plans]
    return plans[costs.index(min(costs))].splits
