"""GEMM, the last step: the device assigns the tiles, by cluster launch control.

`gemm_highperf_blackwell.py` assigns tiles in advance, the same number to each pair. If pairs are not equally fast, or
SMs are busy with other work, the slowest pair determines the time. Here the grid has a pair for each tile, as in a
kernel that is not persistent. Running pairs request a pair that has not been launched, and compute its tile; the device
launches the others. The device knows how many fit, and the first pair to finish takes the next tile.

One more warp of the first CTA sends the requests: `try_cancel` with `multicast` writes a response of 16 bytes to both
CTAs. It contains the position at which the pair would have started, or that none is left. Responses also go through a
ring, which all warps of both CTAs read, each when it has finished its tile:

    requesting warp  -- bytes of the response -->  `responses.full` of both CTAs  -->  all warps
    all warps of both CTAs  -- an arrival each -->  `responses.empty` of the first CTA  -->  requesting warp

The ring has two stages, so a pair requests while it works, and holds at most two tiles that it has not begun. With
more, it would withhold tiles from idle pairs at the end.

All else is as in the previous step: the same tiles in the same order, the same rings, the same stores.

    python examples/blackwell/gemm_persistent_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pyptx import ptx, reg, smem
from pyptx.types import b32, b128, pred, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.gemm_highperf_blackwell import PAIR, STORING, Block, Cut
from examples.blackwell.rings import Ring, first_of_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx import TensorSpec
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef

ASKING = STORING + 2  # index of the warp that requests tiles: next after the loading warp and the MMA warp
RESPONSES, RESPONSE_BYTES = 2, 16
READERS = PAIR * (STORING + 1) + 2  # warps of a CTA pair that read a response: storing, loading x 2; MMA, requesting


@dataclass(frozen=True, slots=True)
class Taking(Cut):
    """Tiling of a GEMM whose CTA pairs take over the tiles of pairs that have not been launched."""

    warps: ClassVar[int] = ASKING + 1
    persistent: ClassVar[int] = 0

    def block(self, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> Block:
        """Return the `Block` that emits the kernel, with its shared memory and tile request responses allocated."""
        return TakingBlock(self, a, b, c)


class TakingBlock(Block):
    """One CTA of a pair that takes over the tiles of pairs that have not been launched."""

    def __init__(self, plan: Cut, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> None:
        """Extend the base class: allocate the responses to tile requests, and their mbarriers."""
        Block.__init__(self, plan, a, b, c)
        self.answers = smem.alloc(b32, (RESPONSES, RESPONSE_BYTES // b32.bytes), align=RESPONSE_BYTES)
        self.responses = Ring(RESPONSES, fillers=1, emptiers=READERS)

    def begin(self) -> None:
        """Extend the base class: initialize the mbarriers of the responses to tile requests."""
        self.responses.init()
        Block.begin(self)

    def work(self, t) -> None:
        """Extend the base class: emit the job of the first CTA's last warp, which requests tiles."""
        Block.work(self, t)
        with ptx.if_((self.warp == ASKING) & (self.rank == 0)):
            self.ask()

    def tiles(self) -> Iterator[Reg]:
        """Yield the index of the pair's own tile, then of each tile that the pair takes over, in all warp lanes."""
        ring, tile = self.responses.emptying(), reg.from_(ptx.special.clusterid.x(), u32)
        response, more = reg.scalar(b128), reg.scalar(pred)
        with ptx.loop(pred=more):
            yield tile
            place, phase = ring.advance()
            ptx.mbarrier.wait(self.responses.full[place], phase)
            ptx.ld(b128, response, self.answers.address(place, 0), space="shared")
            self.hand_back(self.responses.empty[place])
            ptx.clusterlaunchcontrol.query_cancel.is_canceled(response, more)
            ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(response, tile, dimension="x")
            tile //= PAIR  # converts a CTA index to the index of the CTA's pair; undefined if no tile is left

    def hand_back(self, empty: MbarrierRef) -> None:
        """Release the tile request response that this warp has read, so that the next one can overwrite it."""
        ptx.fence.proxy_async_shared_cta()  # orders the read before the async proxy's next response write
        ptx.bar.warp.sync()
        ptx.mbarrier.arrive_cluster(first_of_pair(empty), sem="release", scope="cluster", pred=self.elected)

    def ask(self) -> None:
        """Send a tile request for each tile that the pair computes, until no tile is left."""
        ring = self.responses.filling()
        for _ in self.tiles():
            place, phase = ring.advance()
            ptx.mbarrier.wait(self.responses.empty[place], phase, sem="acquire", scope="cluster")
            with ptx.if_(self.elected):
                full = self.responses.full[place]
                for block in range(PAIR):
                    ptx.mbarrier.arrive_cluster(ptx.cluster.map_shared_u32(full, block), tx_count=RESPONSE_BYTES)
                answer = self.answers.address(place, 0)
                ptx.clusterlaunchcontrol.try_cancel(answer, full, multicast=True)


@functools.cache
def build_gemm(*, b_major: str = "MN", **sizes: int):
    """Return the kernel with another tiling: `build_gemm(block_n=128, stages=8)`."""
    return Taking(b_major=b_major, **sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A · B, computed by NumPy in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((600, 328), (328, 520)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_persistent_blackwell 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
