"""How attention is dealt out over blocks of Hopper: sizes of tiles, and over how many blocks keys are split."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from pyptx.smem import SharedTile
from pyptx.types import bf16

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.tiles import GROUP
from examples.hopper.clusters import AT_ONCE

ROWS = 64  # the M of wgmma
MERGING = 3.9
"""What splitting adds to the time of a cluster, in us: merging, and waiting for blocks to begin together.

Fitted, as is what steps take, to 4096 queries and keys of one head on an H200. Of 64: 48.1 us unsplit, 23.4, 18.3,
17.1 and 28.1 over 2, 3, 5 and 8 blocks, 27.6 over 4, or 14.9 where they attend causally. Of 128: 30.0 over 2, 22.9 over
3. Of each, 3.2 us are the launch; all are within 4% of that.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a head dimension is dealt out over a block.

    `keys` are multiplied in one step, `stages` steps are in flight; `registers` are those of a thread of the producer
    and of a consumer, which together fill the multiprocessor; a step takes `step_us`. `splits` blocks, a cluster, share
    the keys of a tile. What `overlaps` begins before the launch in front of it has ended.
    """

    head_dim: int
    consumers: int
    keys: int
    stages: int
    registers: tuple[int, int]
    step_us: float
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

    def cost(self, heads: int, queries: int, keys: int, *, causal: bool) -> float:
        """Return about how many us `heads` heads take, over all batches, behind the launch.

        Clusters begin in order, causal ones the longest first. Of one more than n times as many as there is room for,
        n + 1 run one behind the other somewhere, none shorter than the last of them.
        """
        merging, room = MERGING if self.splits > 1 else 0.0, AT_ONCE[self.splits]

        def length(cluster: int) -> float:
            hidden = cluster // heads * self.rows if causal else 0
            return -(-max(0, keys - hidden) // (self.keys * self.splits)) * self.step_us + merging

        turns = -(-heads * self.tiles(queries) // room)
        return max(turn * length((turn - 1) * room) for turn in range(1, turns + 1))


WIDE = Plan(head_dim=64, consumers=3, keys=128, stages=4, registers=(32, 160), step_us=1.4)
NARROW = Plan(head_dim=64, consumers=2, keys=128, stages=4, registers=(24, 240), step_us=1.02)
LONG = Plan(head_dim=128, consumers=2, keys=128, stages=2, registers=(24, 240), step_us=1.43)
PLANS = (
    WIDE,
    LONG,
    *(replace(NARROW, splits=splits) for splits in (2, 3, 4, 6, 8)),
    replace(WIDE, stages=3, splits=5),  # of 4096 queries there are as many tiles as clusters that fit
    *(replace(LONG, splits=splits) for splits in (2, 3, 4, 5, 6, 8)),
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
