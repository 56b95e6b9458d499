"""Matrix product, the last step: the device hands out the tiles, by cluster launch control.

`gemm_highperf_blackwell.py` deals tiles out in advance, the same number to each pair. Where pairs are not equally fast,
or multiprocessors are busy with something else, the slowest one decides. Here the grid has a pair for each tile, as if
nothing was persistent: pairs that run ask for one that has not been launched, and do its work; the device launches what
nobody has taken over. It knows how many fit, and who is done first takes the next.

One warp more, of the first block, asks: `try_cancel` with `multicast` brings a response of 16 bytes to both blocks, in
which stands where the pair would have begun, or that there is none left. Responses go around a ring, too, which all
warps of both blocks read, each when it is through with its tile:

    asking warp  -- bytes of the response -->  `responses.full` of both blocks  -->  all warps
    all warps of both blocks  -- an arrival each -->  `responses.empty` of the first block  -->  asking warp

The ring has two places, so that a pair asks while it works, and knows at most two tiles that it has not begun: more
would be missing to others in the end.

All else is the step before: the same tiles in the same order, the same rings, the same stores.

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

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.blackwell.gemm_highperf_blackwell import PAIR, STORING, Block, Cut
from examples.blackwell.rings import Ring, first_of_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx import TensorSpec
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef

ASKING = STORING + 2  # behind the warps that fetch and multiply
RESPONSES, RESPONSE_BYTES = 2, 16
READERS = PAIR * (STORING + 1) + 2  # warps that store and fetch, of both blocks; and those that multiply and ask


@dataclass(frozen=True, slots=True)
class Taking(Cut):
    """A product whose pairs take over what has not been launched."""

    warps: ClassVar[int] = ASKING + 1
    persistent: ClassVar[int] = 0

    def block(self, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> Block:
        """Allocate what a block has in shared memory, and the responses."""
        return TakingBlock(self, a, b, c)


class TakingBlock(Block):
    """One block of a pair that takes tiles over."""

    def __init__(self, plan: Cut, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> None:
        """Allocate the responses and their barriers, too."""
        Block.__init__(self, plan, a, b, c)
        self.answers = smem.alloc(b32, (RESPONSES, RESPONSE_BYTES // b32.bytes), align=RESPONSE_BYTES)
        self.responses = Ring(RESPONSES, fillers=1, emptiers=READERS)

    def begin(self) -> None:
        """Initialise the barriers of the responses, too."""
        self.responses.init()
        Block.begin(self)

    def work(self, t) -> None:
        """Give the last warp of the first block its job, too."""
        Block.work(self, t)
        with ptx.if_((self.warp == ASKING) & (self.rank == 0)):
            self.ask()

    def tiles(self) -> Iterator[Reg]:
        """Yield the number of the pair's own tile, and then of each that it takes over. All lanes of a warp do."""
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
            tile //= PAIR  # a block's number, and undefined where there are no more

    def hand_back(self, empty: MbarrierRef) -> None:
        """Let the next response be written where this warp has read the last one."""
        ptx.fence.proxy_async_shared_cta()  # responses are written as TMA writes
        ptx.bar.warp.sync()
        ptx.mbarrier.arrive_cluster(first_of_pair(empty), sem="release", scope="cluster", pred=self.elected)

    def ask(self) -> None:
        """Ask for the next tile for each one that the pair has, until there is none."""
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
    """Return the kernel that cuts the product up in another way: `build_gemm(block_n=128, stages=8)`."""
    return Taking(b_major=b_major, **sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((600, 328), (328, 520)))
    expected = reference(a, b)
    error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
    print(f"gemm_persistent_blackwell 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
