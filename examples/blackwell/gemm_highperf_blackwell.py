"""GEMM, the fourth step: persistent CTA pairs, whose tensor cores never wait for a store.

Added to the CTA pairs of `gemm_2sm_blackwell.py`:

- **persistence**: one pair for every two SMs, which computes tile after tile. The ring is filled for the next tile
  while the last one is multiplied;
- **two accumulators** of 256 columns, which is all of tensor memory. While four warps load one accumulator, round and
  store it, the tensor cores compute the next tile in the other half;
- **stores by TMA**: each warp writes 32 rows of 64 columns to shared memory, swizzled, and TMA stores them while the
  warp rounds the next ones. Two buffers per warp;
- **an order of tiles** in bands of a few rows, so that concurrent pairs read few rows of A and few columns of B, which
  L2 still holds;
- **six stages**, which fit into shared memory with the buffers.

Three kinds of warps run concurrently, and synchronize through two rings of mbarriers only:

    TMA warps of both CTAs                        multiplying warp                    storing warps of both CTAs
                              -- stages.full -->                   -- acc.full -->
                              <-- stages.empty --                  <-- acc.empty --

A is M x K and C is M x N, in bf16 and row-major; B is K x N, or N x K if `b_major="K"`. N and K are multiples of 8, so
that rows are whole multiples of 16 bytes, which TMA requires; TMA clips all tiles at the edges.

`gemm_persistent_blackwell.py` is the last step: this kernel, with tiles that the device assigns. Others reuse parts of
it and state the differences: `gemm_fp8_blackwell.py`, `block_scaled.py`, `grouped_gemm_blackwell.py`.

    python examples/blackwell/gemm_highperf_blackwell.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import ml_dtypes
import numpy as np

from pyptx import kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import PtxType, b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell.accumulators import VECTOR, chunks
from examples.blackwell.rings import Ring, first_of_pair
from examples.rounding import round_pairs
from examples.tile_order import place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx import TensorSpec, Tile
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import MbarrierRef

PAIR, BOTH = 2, 0b11  # CTAs per pair; CTA mask with both CTAs of a pair
BM, HALF = 256, 128  # rows of C per tile of a CTA pair, and per CTA: one row per lane of tensor memory
STORING, PRODUCER, MULTIPLIER = 4, 4, 5  # warps 0-3 store C, warp 4 loads A and B, warp 5 issues MMAs
ROWS, COLUMNS = 32, 64  # rows and columns of C that a warp stores at a time
BUFFERS = 2  # shared memory buffers of each storing warp, of ROWS x COLUMNS elements of C


@dataclass(frozen=True, slots=True)
class Cut:
    """Tiling of a GEMM over CTA pairs."""

    pairs: ClassVar[int] = 1  # CTA pairs per cluster; their tiles of C are vertically adjacent
    dtype: ClassVar[PtxType] = bf16
    accumulators: ClassVar[int] = 2
    warps: ClassVar[int] = MULTIPLIER + 1  # warps per CTA: four that store C, the loading warp, and the MMA warp
    persistent: ClassVar[int] = 1  # maximum number of CTAs per SM if the kernel is persistent; 0 if it is not
    block_n: int = 256
    stages: int = 6
    band: int = 8  # rows of tiles per band: CTA pairs compute C band by band
    b_major: str = "MN"

    def __post_init__(self) -> None:
        """Reject `block_n` other than 128 and 256, `stages` below 2 and `band` below 1."""
        if self.block_n not in {128, 256}:
            raise ValueError(f"block_n={self.block_n}: 128 or 256")
        if self.stages < 2 or self.band < 1:
            raise ValueError(f"stages={self.stages}, band={self.band}: use stages >= 2 and band >= 1")

    @property
    def block_k(self) -> int:
        """Elements of K per stage: a row of the 128B swizzle."""
        return 1024 // self.dtype.bits

    @property
    def a_tile(self) -> SharedTile:
        """Layout of a CTA's tiles of A: half of the rows of the pair's tile."""
        return SharedTile(self.dtype, (HALF, self.block_k), stages=self.stages)

    @property
    def b_tile(self) -> SharedTile:
        """Layout of a CTA's tiles of B: half of the columns of the pair's tile."""
        columns = self.block_n // PAIR
        shape = (columns, self.block_k) if self.b_major == "K" else (self.block_k, columns)
        return SharedTile(self.dtype, shape, major=self.b_major, stages=self.stages)

    @property
    def c_tile(self) -> SharedTile:
        """Layout of the 32 x 64 elements of C that a warp stores at a time, with one stage per buffer of all warps."""
        return SharedTile(bf16, (ROWS, COLUMNS), stages=STORING * BUFFERS)

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage (tiles of A and B) in a CTA."""
        return self.a_tile.stage_bytes + self.b_tile.stage_bytes

    @property
    def cluster(self) -> int:
        """Number of CTAs per cluster."""
        return PAIR * self.pairs

    def extent(self, M: int, N: int) -> tuple[int, int]:
        """Return the number of rows and of columns of tiles, where a tile is that of a whole cluster."""
        return -(-M // (BM * self.pairs)), -(-N // self.block_n)

    def grid(self, M: int, N: int) -> int:
        """Return the number of CTAs: one cluster per tile."""
        rows, columns = self.extent(M, N)
        return self.cluster * rows * columns

    @property
    def factors(self) -> tuple[Tile, ...]:
        """Input specs of the kernel: A, and B in its memory order."""
        b_dims = ("N", "K") if self.b_major == "K" else ("K", "N")
        return self.a_tile.tma_tile("M", "K"), self.b_tile.tma_tile(*b_dims)

    @property
    def launch(self) -> dict[str, Any]:
        """Arguments of `kernel` besides the arrays."""
        return {
            "grid": self.grid,
            "cluster": self.cluster,
            "block": 32 * self.warps,
            "persistent": self.persistent,
            "arch": "sm_100a",
        }

    def block(self, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> Block:
        """Return the `Block` that emits the kernel, with its shared memory allocated."""
        return Block(self, a, b, c)

    def kernel(self):
        """Return the kernel of this tiling."""

        @kernel(in_specs=self.factors, out_specs=(self.c_tile.tma_tile("M", "N"),), **self.launch)
        def gemm(a, b, c) -> None:
            """Compute C: each cluster, tile after tile."""
            self.block(a, b, c).run()

        return gemm


@dataclass(frozen=True, slots=True)
class Gemm(Cut):
    """Tiling of a GEMM on as many CTAs as fit on the device, or on at most `blocks` CTAs."""

    blocks: int | None = None

    def __post_init__(self) -> None:
        """Extend the base class: raise ValueError if `blocks` is less than one cluster."""
        Cut.__post_init__(self)
        if self.blocks is not None and self.blocks < self.cluster:
            raise ValueError(f"blocks={self.blocks}: use blocks >= {self.cluster}, the CTAs of a cluster")

    def grid(self, M: int, N: int) -> int:
        """Return the maximum number of CTAs of the grid."""
        blocks = Cut.grid(self, M, N)
        return blocks if self.blocks is None else min(blocks, self.blocks // self.cluster * self.cluster)


class Corner(NamedTuple):
    """First row of C (of A) and first column of C (of B) that a CTA loads for a tile."""

    row: Reg
    column: Reg


class Block:
    """One CTA of a pair: its shared memory, and the jobs of its warps.

    All lanes of a warp iterate over the tiles; the elected lane executes the single-thread instructions.
    """

    def __init__(self, plan: Cut, a: TensorSpec, b: TensorSpec, c: TensorSpec) -> None:
        """Allocate tiles and mbarriers, and compute the ranks of the CTA and the index of the warp."""
        self.plan, self.a, self.b, self.c = plan, a, b, c
        self.shared_a, self.shared_b, self.shared_c = (smem.tile(x) for x in (plan.a_tile, plan.b_tile, plan.c_tile))
        self.stages = Ring(plan.stages, fillers=PAIR, emptiers=plan.pairs)
        self.acc = Ring(plan.accumulators, fillers=1, emptiers=PAIR * STORING)
        self.half = self.rank = ptx.special.cluster_ctarank()  # the CTA's rank in its pair (`half`), and its cluster
        self.both: Reg | int = BOTH
        self.warp = reg.from_(ptx.special.tid.x(), u32) >> 5
        self.elected = ptx.elect_sync()

    def run(self) -> None:
        """Emit the code of the whole kernel."""
        with ptx.if_((self.warp == 0) & self.elected):
            self.begin()
        ptx.cluster.sync()  # makes the mbarriers visible to the cluster's other CTAs
        with ptx.tmem.alloc(self.tensor_columns, cta_group=2, when=self.warp == 0, relinquish=True) as t:
            self.work(t)
        ptx.ret()

    @property
    def tensor_columns(self) -> int:
        """Number of tensor memory columns that a CTA allocates: here, those of its accumulators."""
        return self.plan.accumulators * self.plan.block_n

    def begin(self) -> None:
        """Prefetch tensor maps, initialize mbarriers, and fence them for the cluster and TMA, in one thread."""
        for tensor in (self.a, self.b, self.c):
            ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))
        self.stages.init()
        self.acc.init()
        ptx.fence.mbarrier_init()

    def work(self, t) -> None:
        """Emit the code of each warp, selected by warp index."""
        with ptx.if_(self.warp == PRODUCER):
            self.produce()
        with ptx.if_((self.warp == MULTIPLIER) & (self.half == 0)):
            self.multiply(t)
        with ptx.if_(self.warp < STORING):
            self.store(t)

    def tiles(self) -> Iterator[Reg]:
        """Yield the index of each tile of this cluster: every n-th tile if there are n clusters."""
        rows, columns = self.plan.extent(*self.c.shape)
        yield from ptx.range_(ptx.special.clusterid.x(), rows * columns, ptx.special.nclusterid.x())

    def corner(self, tile: Reg) -> Corner:
        """Return the first row and column of C that this CTA loads for a tile."""
        row, column = place(tile, *self.plan.extent(*self.c.shape), self.plan.band)
        return Corner(row * (BM * self.plan.pairs) + self.rank * HALF, column * self.plan.block_n)

    def of_pair(self, barrier: MbarrierRef) -> Reg:
        """Return the address of an mbarrier in the pair's first CTA, which issues the MMAs: one instruction."""
        return first_of_pair(barrier)

    def produce(self) -> None:
        """Copy A and B to stage after stage, each as soon as the MMAs have read its previous tiles."""
        ring = self.stages.filling()
        for tile in self.tiles():
            corner = self.corner(tile)
            with ptx.if_(self.elected):
                for k in ptx.range_(0, self.a.shape[1], self.plan.block_k):
                    stage, phase = ring.advance()
                    ptx.mbarrier.wait(self.stages.empty[stage], phase)
                    full = self.of_pair(self.stages.full[stage])
                    ptx.mbarrier.arrive_cluster(full, tx_count=self.plan.stage_bytes)
                    self.fetch(stage, corner, k, full)

    def fetch(self, stage: Reg, corner: Corner, k: Reg, full: Reg) -> None:
        """Copy this CTA's halves of A and B, from `k` on, to a stage; the pair's mbarrier `full` counts their bytes."""
        B, at = self.plan.b_tile, (k, corner.row)
        ptx.cp.async_.bulk.tensor_2d(dst=self.shared_a[stage], src=self.a, coord=at, mbar=full, cta_group=2)
        column = corner.column + self.half * B.mn
        for panel in range(B.boxes):
            at = (k, column) if B.major == "K" else (column + panel * B.box_columns, k)
            shared = self.shared_b[stage, panel] if B.boxes > 1 else self.shared_b[stage]
            ptx.cp.async_.bulk.tensor_2d(dst=shared, src=self.b, coord=at, mbar=full, cta_group=2)

    def multiply(self, t) -> None:
        """Issue the MMAs of stage after stage; accumulators alternate, each reused after storing warps loaded it."""
        steps, columns = -(-self.a.shape[1] // self.plan.block_k), self.plan.block_n
        first, everyone = self.descriptors(), (1 << self.plan.cluster) - 1
        stages, accumulators = self.stages.emptying(), self.acc.filling()
        for _ in self.tiles():
            accumulator, phase = accumulators.advance()
            with ptx.if_(self.elected):
                ptx.mbarrier.wait(self.acc.empty[accumulator], phase)
                ptx.tcgen05.fence_after_thread_sync()
                d = t[:, :columns].advance(columns, times=accumulator)
                for step in ptx.range_(0, steps):
                    stage, phase = stages.advance()
                    ptx.mbarrier.wait(self.stages.full[stage], phase)
                    ptx.tcgen05.fence_after_thread_sync()
                    self.products(d, first, stage, adds=step > 0)
                    ptx.tcgen05.commit(self.stages.empty[stage], cta_group=2, multicast_mask=everyone)
                ptx.tcgen05.commit(self.acc.full[accumulator], cta_group=2, multicast_mask=self.both)

    def descriptors(self) -> tuple[Reg, ...]:
        """Return the shared memory descriptors of A and B in the first stage."""
        return ptx.tcgen05.descriptor(self.shared_a), ptx.tcgen05.descriptor(self.shared_b)

    def products(self, d, first: Sequence[Reg], stage: Reg, *, adds: Reg) -> None:
        """Issue the MMAs of one stage; the first MMA overwrites `d` if `adds` is false."""
        A, B = self.plan.a_tile, self.plan.b_tile
        a = ptx.tcgen05.advance(first[0], A.stage_bytes, times=stage)
        b = ptx.tcgen05.advance(first[1], B.stage_bytes, times=stage)
        for k in range(0, A.k, A.k_step):
            ptx.tcgen05.mma.async_2sm(
                d,
                a,
                b,
                shape=(BM, self.plan.block_n),
                dtype_d=f32,
                dtype_a=A.dtype,
                dtype_b=B.dtype,
                trans_b=1 if B.major == "MN" else 0,
                a_k_offset=A.offset(k=k),
                b_k_offset=B.offset(k=k),
                accumulate=True if k else adds,
            )

    def store(self, t) -> None:
        """Round tile after tile of accumulators, and store each warp's 32 rows by TMA, 64 columns at a time."""
        columns, pairs = self.plan.block_n, reg.array(b32, COLUMNS // 2)
        accumulators = self.acc.emptying()
        for tile in self.tiles():
            corner = self.corner(tile)
            accumulator, phase = accumulators.advance()
            ptx.mbarrier.wait(self.acc.full[accumulator], phase)
            ptx.tcgen05.fence_after_thread_sync()
            d = t[:, :columns].advance(columns, times=accumulator)
            for first, acc in chunks(d, self.warp, COLUMNS):
                if first + COLUMNS == columns:
                    self.release(self.acc.empty[accumulator])
                at = corner._replace(row=corner.row + self.warp * ROWS, column=corner.column + first)
                self.scale(acc, at)
                round_pairs(pairs, acc)
                self.write(pairs, first // COLUMNS % BUFFERS, at)
        ptx.cp.async_.bulk.wait_group(0)

    def scale(self, acc: RegArray, at: Corner) -> None:
        """Scale the accumulators of each thread's row before they are rounded; here, leave them unchanged."""

    def release(self, empty: MbarrierRef) -> None:
        """Signal the MMA warp in the pair's first CTA that this warp has loaded its accumulators."""
        ptx.tcgen05.fence_before_thread_sync()
        ptx.bar.warp.sync()
        ptx.mbarrier.arrive_cluster(self.of_pair(empty), pred=self.elected)

    def write(self, pairs: RegArray, buffer: int, at: Corner) -> None:
        """Write 64 columns of each thread's row to one of the warp's buffers, and store them by TMA."""
        lane, number = ptx.special.laneid(), self.warp * BUFFERS + buffer
        ptx.cp.async_.bulk.wait_group(BUFFERS - 1, read=True)  # TMA has read the previous C tile from this buffer
        ptx.bar.warp.sync()
        for i in range(0, COLUMNS, VECTOR):
            ptx.st(b32, self.shared_c.address(number, lane, i), pairs[i // 2 : (i + VECTOR) // 2], space="shared")
        ptx.fence.proxy_async_shared_cta()  # makes writes to the buffer of C visible to TMA
        ptx.bar.warp.sync()
        with ptx.if_(self.elected):
            ptx.cp.async_.bulk.tensor_2d.store(dst=self.c, src=self.shared_c[number], coord=(at.column, at.row))
            ptx.cp.async_.bulk.commit_group()


@functools.cache
def build_gemm(*, b_major: str = "MN", **sizes: int):
    """Return the kernel with another tiling: `build_gemm(block_n=128, stages=8)`."""
    return Gemm(b_major=b_major, **sizes).kernel()


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
    print(f"gemm_highperf_blackwell 600x520x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
