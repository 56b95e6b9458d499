"""What to do about each rule that the race checker reports."""

from __future__ import annotations

from typing import Final

HINTS: Final = {
    "shared-race": "let the threads of the block meet between the two: bar.sync",
    "global-race": "order the two: a barrier inside a block; across blocks a fence and an atomic, or two launches",
    "lane-race": "lanes of a warp are not ordered by running together: put bar.warp.sync between the two",
    "read-before-wait": "wait for the copy first: for its group, and then a barrier, or for its mbarrier's phase",
    "early-reuse": "wait until everybody has read it: an mbarrier that the readers arrive at, or wait_group(.read)",
    "missing-proxy-fence": "put fence.proxy.async behind the writes, before the barrier that orders them; behind "
    "mbarrier.init fence.mbarrier_init does too",
    "mbarrier-inval": "let all waits return, and a barrier of the block order them, before one thread invalidates it",
    "missing-tensormap-fence": "behind the write fence.proxy.tensormap::generic.release (or tensormap.cp_fenceproxy), "
    "an order between the threads, and before the copy fence.proxy.tensormap::generic.acquire of the map's 128 bytes",
    "matrix-descriptor": "describe the tile once (SharedTile), and take TMA's layout and the descriptor from that",
    "mbarrier-as-data": "give data and mbarriers places of their own, or end the mbarrier first: mbarrier.inval, and a "
    "barrier of the block",
    "mbarrier-unsynchronised": "let everybody see the initialisation: a barrier of the block; across blocks "
    "fence.mbarrier_init and a barrier of the cluster",
    "exited-block": "end with a barrier of the cluster, so that no block ends while others use its shared memory",
}
