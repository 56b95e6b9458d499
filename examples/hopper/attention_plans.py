"""Distribution of attention over CTAs on Hopper: tile sizes, and the number of CTAs that split the keys."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from pyptx.smem import SharedTile
from pyptx.types import bf16

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.tiles import GROUP
from examples.hopper.clusters import AT_ONCE

ROWS = 64  # query rows per consumer warpgroup: M of one wgmma
MERGING = 3.9
"""Time in us that splitting the keys adds to a cluster: the merge, and the wait until all its CTAs have started.

Fitted, like the times of steps, to 4096 queries and keys of one head on an H200. Head dimension 64: 48.1 us unsplit,
23.4, 18.3, 17.1 and 28.1 us over 2, 3, 5 and 8 CTAs, 27.6 us over 4, or 14.9 us if causal. Head dimension 128: 30.0 us
over 2 CTAs, 22.9 us over 3. Each includes 3.2 us of launch; the fit is within 4% of all these times.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Tile sizes of a CTA for one head dimension.

    A step multiplies `keys` keys and takes `step_us`; `stages` steps are in flight. `registers` are those per thread of
    the producer and of a consumer, which together fill the SM. A cluster of `splits` CTAs shares the keys of a tile. If
    `overlaps`, the kernel starts before its prerequisite grid completes.
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
        """Rows of Q that a CTA owns."""
        return self.consumers * ROWS

    @property
    def threads(self) -> int:
        """Threads per CTA: producer and consumers."""
        return (1 + self.consumers) * GROUP

    @property
    def q(self) -> SharedTile:
        """Layout of Q, one stage per consumer; O is stored through the same shared memory."""
        return SharedTile(bf16, (ROWS, self.head_dim), stages=self.consumers)

    @property
    def k(self) -> SharedTile:
        """Layout of K in shared memory; MMAs reduce along its head dimension."""
        return SharedTile(bf16, (self.keys, self.head_dim), stages=self.stages)

    @property
    def v(self) -> SharedTile:
        """Layout of V in shared memory; MMAs reduce along its keys."""
        return SharedTile(bf16, (self.keys, self.head_dim), major="MN", stages=self.stages)

    @property
    def directives(self) -> list[tuple[str, tuple[int, ...]]]:
        """Directives of the kernel; without the cluster directives, ptxas also emits code for cluster size 1."""
        launch: list[tuple[str, tuple[int, ...]]] = [("maxntid", (self.threads, 1, 1)), ("minnctapersm", (1,))]
        return launch if self.splits == 1 else [*launch, ("reqnctapercluster", (self.splits,)), ("explicitcluster", ())]

    def tiles(self, queries: int) -> int:
        """Return the number of CTAs (or clusters, if keys are split) for the queries of a head."""
        return -(-queries // self.rows)

    def cost(self, heads: int, queries: int, keys: int, *, causal: bool) -> float:
        """Return the estimated time of `heads` heads (over all batches) in us, after the launch.

        Clusters start in order; if causal, those with most keys come first. `room` clusters run at a time. If there are
        more than n · `room` clusters, some n + 1 of them run in sequence, each at least as long as the last of these.
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
    replace(WIDE, stages=3, splits=5),  # for 4096 queries: as many query tiles as clusters that are resident at once
    *(replace(LONG, splits=splits) for splits in (2, 3, 4, 5, 6, 8)),
)


def splits_for(head_dim: int, heads: int, queries: int, keys: int, *, causal: bool = False) -> int:
    """Return the number of CTAs that split the keys; 1 unless the tiles of queries leave some of an H100's SMs idle.

    `heads` is the number of heads over all batches.
    """
    plans = [plan for plan in PLANS if plan.head_dim == head_dim]
    if not plans or heads * plans[0].tiles(queries) >= AT_ONCE[1]:
        return 1
    costs = [plan.cost(heads, queries, keys, causal=causal) for plan in plans]
    return plans[costs.index(min(costs))].splits
