"""GEMM, the last step: persistent CTAs, clusters, and stores that overlap computation.

This kernel adds to the producer and the consumers of `gemm_warp_specialized.py`

- **persistence**: one CTA per SM of the device, which computes tile after tile. The producer fills stages for the next
  tile while the consumers still store the last one;
- **clusters**: two CTAs, one tile below the other, need the same columns of B. Each loads half of them, and TMA
  multicast writes it to both: two thirds of the traffic with L2;
- **an order of tiles** in bands of a few rows, computed from the number of the tile. CTAs that run at the same time
  read few rows of A and few columns of B, which stay in L2;
- **stores by TMA**: each warp rounds 16 rows of its accumulator to bf16 and writes 64 columns at a time to shared
  memory, swizzled, by `stmatrix`. TMA stores them while the next columns, or the next tile, are computed.

A is M x K and C is M x N, in bf16, row-major; B is K x N, or N x K if `b_major="K"`. N and K must be multiples of 8,
because TMA requires rows that are multiples of 16 bytes; TMA clips at the edges.

`gemm_parts.py` has the parts that `gemm_fp8_hopper.py` and `grouped_gemm.py` share with this kernel.

    python examples/hopper/gemm_highperf_hopper.py
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import PtxType, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper.gemm_parts import ROWS, Cut, Stages, divide, multiply, prefetch, stage_panel
from examples.tile_order import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc


@dataclass(frozen=True, slots=True)
class Gemm(Cut):
    """Tile sizes of a GEMM with clusters. The defaults are for large matrices."""

    dtype: ClassVar[PtxType] = bf16
    cluster: int = 2  # CTAs per cluster; their tiles of C are vertically adjacent and share tiles of B
    band: int = 8  # rows of clusters per band: clusters compute C band by band
    b_major: str = "MN"

    def __post_init__(self) -> None:
        """Extend the base class: raise ValueError for `blocks` below one cluster and `band` below one row of tiles."""
        Cut.__post_init__(self)
        if self.at_most(self.cluster) < self.cluster or self.band < 1:
            raise ValueError(f"blocks={self.blocks}, band={self.band}: use blocks >= {self.cluster} and band >= 1")

    @property
    def unit(self) -> int:
        """Required divisor of `block_n`: 64 columns per store; per CTA, 64 columns of B (TMA box), or 8 if K-major."""
        return math.lcm(64, (8 if self.b_major == "K" else 64) * self.cluster)

    @property
    def block_k(self) -> int:
        """Elements of K per stage: a row of the 128B swizzle."""
        return 1024 // self.dtype.bits

    @property
    def a_tile(self) -> SharedTile:
        """Layout of the tiles of A."""
        return SharedTile(self.dtype, (self.block_m, self.block_k), stages=self.stages)

    def b_tile(self, share: int = 1) -> SharedTile:
        """Return the layout of the tiles of B, or of the part that each of `share` CTAs loads."""
        columns = self.block_n // share
        shape = (columns, self.block_k) if self.b_major == "K" else (self.block_k, columns)
        return SharedTile(self.dtype, shape, major=self.b_major, stages=self.stages)

    @property
    def c_tile(self) -> SharedTile:
        """Layout of the shared memory buffers from which TMA stores C: two per consumer warp, or one."""
        buffers = 2 if self.block_n // 64 % 2 == 0 else 1
        return SharedTile(bf16, (16, 64), stages=buffers * self.block_m // 16)

    def extent(self, M: int, N: int) -> tuple[int, int]:
        """Return the number of rows and of columns of tiles, each tile that of a whole cluster."""
        return -(-M // (self.block_m * self.cluster)), -(-N // self.block_n)

    def grid(self, M: int, N: int, K: int) -> int:
        """Return the number of CTAs on a device that holds all of them at once: one per tile."""
        rows, columns = self.extent(M, N)
        return self.at_most(rows * columns * self.cluster) // self.cluster * self.cluster

    # --- tile order, producer, consumer -----------------------------------------------------------------

    def tiles(self, M: int, N: int) -> Iterator[tuple[Reg, Reg]]:
        """Emit a loop over the tiles of this CTA; yield the first row and column of each."""
        rows, columns = self.extent(M, N)
        first, step = ptx.special.clusterid.x(), ptx.special.nclusterid.x()
        rank = ptx.special.cluster_ctarank()
        for tile in ptx.range_(first, rows * columns, step):
            row, column = place(tile, rows, columns, self.band)
            yield (row * self.cluster + rank) * self.block_m, column * self.block_n

    def produce(self, a, b, c, shared: Shared) -> None:
        """Fill stage after stage, each as soon as the consumers of all CTAs have read its previous tiles."""
        A, B, part, rank = self.a_tile, self.b_tile(), self.b_tile(self.cluster), ptx.special.cluster_ctarank()
        everyone = (1 << self.cluster) - 1 if self.cluster > 1 else None
        ring = ptx.pipeline(self.stages, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
        start = reg.from_(shared.b, u32) + rank * part.stage_bytes
        for row, column in self.tiles(*c.shape):
            share = column + rank * part.mn
            for k in ptx.range_(0, a.shape[1], A.k):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.stages.empty[stage], phase)
                full = shared.stages.full[stage]
                ptx.mbarrier.arrive_expect_tx(full, A.stage_bytes + B.stage_bytes)
                ptx.cp.async_.bulk.tensor_2d(dst=shared.a[stage], src=a, coord=(k, row), mbar=full)
                target = start + stage * B.stage_bytes
                for panel in range(part.boxes):
                    ptx.cp.async_.bulk.tensor_2d(
                        dst=ptx.addr(target, panel * part.box_bytes),
                        src=b,
                        coord=(k, share) if self.b_major == "K" else (share + panel * part.box_columns, k),
                        mbar=full,
                        multicast_mask=everyone,
                    )

    def consume(self, c, shared: Shared, group: Reg, steps: int) -> None:
        """Multiply stage after stage, with one wgmma group in flight, and store tile after tile."""
        acc, tiles = reg.wgmma_frag(m=ROWS, n=self.block_n, dtype=f32), (self.a_tile, self.b_tile())
        reader = Reader(self, shared, group)
        for row, column in self.tiles(*c.shape):
            for step in ptx.range_(0, steps):
                a, b = reader.wait()
                multiply(acc, a, b, tiles, adds=~(step == 0))
                ptx.wgmma.wait_group(1)  # the MMAs of the previous step are complete and have read their stage
                with ptx.if_(step > 0):
                    reader.release()
            ptx.wgmma.wait_group(0)
            reader.release()
            self.store(acc, c, shared.c, row + group * ROWS, column)
        ptx.cp.async_.bulk.wait_group(0)

    def store(self, acc: RegArray, c, staged: SharedAlloc, row: Reg, column: Reg) -> None:
        """Round the accumulator, and store each warp's 16 rows by TMA, 64 columns at a time."""
        C, warp, lane = self.c_tile, (ptx.special.tid.x() >> 5) - 4, ptx.special.laneid()
        buffers = C.stages * 16 // self.block_m
        row += (warp & 3) * 16
        elected = ptx.elect_sync()
        for panel in range(self.block_n // 64):
            buffer = warp * buffers + panel % buffers
            ptx.cp.async_.bulk.wait_group(buffers - 1, read=True)  # TMA has read the previous C tile from this buffer
            ptx.bar.warp.sync()
            stage_panel(acc, panel, staged, buffer, lane)
            ptx.fence.proxy_async_shared_cta()  # makes writes to the buffer of C visible to TMA (async proxy)
            ptx.bar.warp.sync()
            with ptx.if_(elected):
                ptx.cp.async_.bulk.tensor_2d.store(dst=c, src=staged[buffer], coord=(column + panel * 64, row))
                ptx.cp.async_.bulk.commit_group()

    @property
    def factors(self) -> tuple[Tile, Tile]:
        """Input specs of the kernel: A, and B in its memory order."""
        b_dims = ("N", "K") if self.b_major == "K" else ("K", "N")
        return self.a_tile.tma_tile("M", "K"), self.b_tile(self.cluster).tma_tile(*b_dims)

    def kernel(self):
        """Return the GEMM kernel with these tile sizes."""
        C = self.c_tile.tma_tile("M", "N")

        @kernel(in_specs=self.factors, out_specs=(C,), grid=self.grid, cluster=self.cluster, **self.launch)
        def gemm(a, b, c) -> None:
            """Compute C = A · B; each CTA computes tile after tile of C."""
            shared, steps = Shared(self), -(-a.shape[1] // self.block_k)
            divide(
                self,
                lambda: shared.begin(a, b, c),
                produce=lambda: self.produce(a, b, c, shared),
                consume=lambda group: self.consume(c, shared, group, steps),
            )
            ptx.cluster.sync()  # no CTA exits while other CTAs still write to its shared memory
            ptx.ret()

        return gemm


class Shared:
    """Shared memory of a CTA: stages of A and B with their mbarriers, and buffers for stores of C."""

    def __init__(self, plan: Gemm) -> None:
        """Allocate the stages and their mbarriers; `empty` expects arrivals of warps of the whole cluster."""
        self.a, self.b, self.c = smem.tile(plan.a_tile), smem.tile(plan.b_tile()), smem.tile(plan.c_tile)
        self.stages = Stages(plan.stages, plan.cluster * plan.block_m // 16)

    def begin(self, *tensors: TensorSpec) -> None:
        """Prefetch tensor maps, initialize the mbarriers, and make them visible to the cluster and TMA by a fence."""
        prefetch(*tensors)
        self.stages.init()
        ptx.fence.mbarrier_init()


class Reader:
    """Position of a consumer warp in the ring: it waits for stages of its CTA, and releases them to all CTAs."""

    def __init__(self, plan: Gemm, shared: Shared, group: Reg) -> None:
        """Build the descriptors of this warpgroup's first stage; each of the first lanes releases stages to one CTA.

        Emits 19 instructions, or 16 if there is one consumer.
        """
        self.tiles, self.full = (plan.a_tile, plan.b_tile()), shared.stages.full
        rows = self.tiles[0].offset(mn=ROWS) if plan.block_m > ROWS else 0
        self.a = ptx.wgmma.advance(ptx.wgmma.descriptor(shared.a), rows, times=group)
        self.b = ptx.wgmma.descriptor(shared.b)
        self.ring = ptx.pipeline(plan.stages)
        lane = reg.from_(ptx.special.laneid(), u32)
        block = ptx.min(u32, reg.scalar(u32), lane, plan.cluster - 1)
        self.read, self.arrives = ptx.pipeline(plan.stages), lane < plan.cluster
        self.empty = ptx.mbarrier.array(ptx.cluster.map_shared_u32(shared.stages.empty, block), 0, plan.stages)

    def wait(self) -> tuple[Reg, Reg]:
        """Wait until the next stage is full, and return its matrix descriptors: 14 instructions."""
        stage, phase = self.ring.advance()
        ptx.mbarrier.wait(self.full[stage], phase)
        A, B = self.tiles
        return (
            ptx.wgmma.advance(self.a, A.stage_bytes, times=stage),
            ptx.wgmma.advance(self.b, B.stage_bytes, times=stage),
        )

    def release(self) -> None:
        """Arrive at `empty` of the oldest unreleased stage, in all CTAs of the cluster: 6 instructions."""
        stage, _ = self.read.advance()
        ptx.mbarrier.arrive_cluster(self.empty.at(stage), pred=self.arrives)


@functools.cache
def build_gemm(*, b_major: str = "MN", overlaps: bool = False, **sizes: int):
    """Return the kernel with other tile sizes: `build_gemm(block_n=128, cluster=1)`."""
    return Gemm(b_major=b_major, overlaps=overlaps, **sizes).kernel()


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
    print(f"gemm_highperf_hopper 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
