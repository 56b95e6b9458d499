"""GEMM with few rows: every byte of B is used once, so performance depends on the bandwidth for B.

C = A B with 16 rows of A, as in LLM decoding with a small batch, has little arithmetic per byte. Performance depends on
the number of bytes in flight at any time, on as many SMs as the device has:

- **B is operand A**: the kernel computes C transposed as B transposed times A transposed. The 64 rows of a wgmma are
  columns of B, and its columns the 16 rows of A. So no shared memory is spent on rows that A does not have. It goes to
  stages instead: ten, with 8 KiB of B each, in each of two CTAs per SM. A tile of B that is contiguous along N is read
  transposed (`trans_a`);
- **a cluster divides K** if there are too few columns for all SMs: each of `splits` CTAs has a part of K. The first one
  adds up the partial sums of the others, which it reads from their shared memory (DSMEM);
- **the accumulator is transposed** back before the store: `stmatrix` stores it transposed, and TMA skips elements
  outside C.

A is M x K and C is M x N, in bf16, row-major; B is K x N, or N x K if `b_major="K"`. N and K must be multiples of 8,
because TMA requires rows that are multiples of 16 bytes.

    python examples/hopper/gemm_narrow_hopper.py
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.hopper import gemm_highperf_hopper as highperf
from examples.hopper.attention_splits import CHUNK, GROUP, read
from examples.hopper.clusters import AT_ONCE
from examples.hopper.gemm_parts import ROWS, Stages, meet, prefetch
from examples.overlap import ATTRIBUTES, take_over
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc

THREADS = 2 * GROUP  # two warpgroups: one thread of the first issues copies, the second issues MMAs
COLUMNS = ROWS  # columns of C per CTA: M of one wgmma, which computes Cᵀ
BK = 64  # elements of K per stage: 128 bytes of bf16, the width of the 128B swizzle
reference = highperf.reference


@dataclass(frozen=True, slots=True)
class Narrow:
    """Tile sizes of the GEMM: `rows` of C per CTA, and `splits` CTAs that share K.

    If `overlaps`, the kernel starts before its prerequisite grid completes.
    """

    rows: int = 16
    splits: int = 1
    stages: int = 10
    b_major: str = "MN"
    overlaps: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for unsupported numbers of rows, CTAs and stages."""
        if self.rows not in range(16, 257, 16):
            raise ValueError(f"rows={self.rows}: multiples of 16 up to 256")
        if self.splits not in range(1, 9):
            raise ValueError(f"splits={self.splits}: one block, or a cluster of up to 8")
        if self.stages < 2:
            raise ValueError(f"stages={self.stages}: two or more, for one is read while the next is filled")

    @property
    def a_tile(self) -> SharedTile:
        """Layout of the tiles of A."""
        return SharedTile(bf16, (self.rows, BK), stages=self.stages)

    @property
    def b_tile(self) -> SharedTile:
        """Layout of the tiles of B."""
        shape = (COLUMNS, BK) if self.b_major == "K" else (BK, COLUMNS)
        return SharedTile(bf16, shape, major=self.b_major, stages=self.stages)

    @property
    def c_tile(self) -> SharedTile:
        """Layout of the tile of C through which the kernel stores."""
        return SharedTile(bf16, (self.rows, COLUMNS))

    @property
    def chunks(self) -> range:
        """Start indices of a thread's groups of four accumulator elements (16 bytes)."""
        return range(self.rows // 2 // CHUNK)

    def grid(self, M: int, N: int, K: int) -> tuple[int, int]:
        """Return the number of CTAs per row of tiles of C, by consecutive clusters, and the number of such rows."""
        return -(-N // COLUMNS) * self.splits, -(-M // self.rows)

    # --- split of K, producer, consumer -----------------------------------------------------------------

    def steps(self, K: int) -> tuple[Reg, Reg]:
        """Return the first step of this CTA's part of K, and the step after its last: 4 instructions."""
        steps = -(-K // BK)
        share = -(-steps // self.splits)
        first = reg.from_(ptx.special.cluster_ctarank(), u32) * share
        return first, ptx.min(u32, reg.scalar(u32), first + share, steps)

    def corner(self) -> tuple[Reg, Reg]:
        """Return the first row and column of C that this CTA's cluster computes."""
        return ptx.ctaid_y() * self.rows, ptx.special.clusterid.x() * COLUMNS

    def produce(self, a, b, shared: Shared) -> None:
        """Fill stage after stage, each as soon as the MMAs have read its previous tiles."""
        A, B, (row, column) = self.a_tile, self.b_tile, self.corner()
        ring = ptx.pipeline(self.stages, phase=reg.scalar(u32, init=1))  # all stages start empty: the first waits pass
        for step in ptx.range_(*self.steps(a.shape[1])):
            stage, phase = ring.advance()
            k, full = step * BK, shared.stages.full[stage]
            ptx.mbarrier.wait(shared.stages.empty[stage], phase)
            ptx.mbarrier.arrive_expect_tx(full, A.stage_bytes + B.stage_bytes)
            at = (k, column) if self.b_major == "K" else (column, k)
            ptx.cp.async_.bulk.tensor_2d(dst=shared.b[stage], src=b, coord=at, mbar=full)
            ptx.cp.async_.bulk.tensor_2d(dst=shared.a[stage], src=a, coord=(k, row), mbar=full)

    def consume(self, acc: RegArray, shared: Shared, steps: tuple[Reg, Reg]) -> None:
        """Multiply stage after stage, with one wgmma group in flight."""
        for each in acc:
            ptx.mov(f32, each, 0.0)  # zeros: the partial sums of a CTA that has no steps because K is short
        first_a, first_b = ptx.wgmma.descriptor(shared.a), ptx.wgmma.descriptor(shared.b)
        elected, ring, read_ = ptx.elect_sync(), ptx.pipeline(self.stages), ptx.pipeline(self.stages)
        for step in ptx.range_(*steps):
            stage, phase = ring.advance()
            ptx.mbarrier.wait(shared.stages.full[stage], phase)
            a = ptx.wgmma.advance(first_a, self.a_tile.stage_bytes, times=stage)
            b = ptx.wgmma.advance(first_b, self.b_tile.stage_bytes, times=stage)
            self.multiply(acc, a, b)
            ptx.wgmma.wait_group(1)  # the MMAs of the previous step are complete and have read their stage
            with ptx.if_(step > steps[0]):
                stage, _ = read_.advance()
                ptx.mbarrier.arrive(shared.stages.empty[stage], pred=elected)
        ptx.wgmma.wait_group(0)

    def multiply(self, acc: RegArray, a: Reg, b: Reg) -> None:
        """Start the MMAs of one stage as one wgmma group: operand A is B transposed."""
        A, B = self.a_tile, self.b_tile
        ptx.wgmma.fence()
        for k in range(0, BK, B.k_step):
            ptx.wgmma.mma_async(
                shape=(COLUMNS, self.rows, B.k_step),
                dtype_d=f32,
                dtype_a=bf16,
                dtype_b=bf16,
                d=acc,
                a=b,
                b=a,
                a_k_offset=B.offset(k=k),
                b_k_offset=A.offset(k=k),
                scale_d=True,
                trans_a=1 if self.b_major == "MN" else None,
            )
        ptx.wgmma.commit_group()

    def hand_over(self, acc: RegArray, shared: Shared, thread: Reg) -> None:
        """Write this CTA's partial sums to shared memory, for the first CTA of the cluster."""
        at = shared.acc.address(0, thread, 0)
        for chunk in self.chunks:
            values = acc[CHUNK * chunk : CHUNK * (chunk + 1)]
            ptx.st(f32, ptx.addr(at, chunk * GROUP * CHUNK * f32.bytes), values, space="shared")

    def add_up(self, acc: RegArray, shared: Shared, thread: Reg) -> None:
        """Add the partial sums of the other CTAs of the cluster, in the order of their parts of K."""
        at = shared.acc.address(0, thread, 0)
        for peer in range(1, self.splits):
            parts = read(peer, at, CHUNK, self.chunks, GROUP * CHUNK)
            for total, part in zip(acc, (each for chunk in parts for each in chunk), strict=True):
                ptx.add(f32, total, total, part)

    def store(self, acc: RegArray, c, shared: Shared, thread: Reg) -> None:
        """Round the accumulator and store it by TMA."""
        row, column = self.corner()
        stage_turned(acc, shared.c, thread)
        ptx.fence.proxy_async_shared_cta()  # makes the tile of C visible to TMA (async proxy)
        ptx.bar.sync(1, GROUP)
        with ptx.if_(thread == 0):
            ptx.cp.async_.bulk.tensor_2d.store(dst=c, src=shared.c, coord=(column, row))
            ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)

    def combine(self, acc: RegArray, shared: Shared, thread: Reg, consumes: Reg) -> Reg:
        """Add up the partial sums in the first CTA of the cluster; return whether this thread is in that CTA."""
        first = ptx.special.cluster_ctarank() == 0
        with ptx.if_(consumes & ~first):
            self.hand_over(acc, shared, thread)
        ptx.cluster.sync()  # the partial sums of the cluster's CTAs are in their shared memory
        with ptx.if_(consumes & first):
            self.add_up(acc, shared, thread)
        ptx.cluster.sync()  # no CTA exits while another CTA reads its shared memory
        return consumes & first

    def kernel(self):
        """Return the GEMM kernel with these tile sizes."""
        specs = (self.a_tile.tma_tile("M", "K"), self.b_tile.tma_tile(*"NK" if self.b_major == "K" else "KN"))

        @kernel(
            in_specs=specs,
            out_specs=(self.c_tile.tma_tile("M", "N"),),
            grid=self.grid,
            cluster=self.splits,
            block=THREADS,
            arch="sm_90a",
            launch=ATTRIBUTES if self.overlaps else {},
        )
        def gemm(a, b, c) -> None:
            """Compute C = A · B, one cluster per tile of C."""
            shared, tid = Shared(self), reg.from_(ptx.special.tid.x(), u32)
            leader = (tid < 32) & ptx.elect_sync()
            consumes = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0) == 1  # lets ptxas infer a warp-uniform condition
            with ptx.if_(leader):
                prefetch(a, b, c)
                shared.stages.init()
                ptx.fence.mbarrier_init()
            meet()
            if self.overlaps:
                take_over()
            with ptx.if_(leader):
                self.produce(a, b, shared)
            acc, thread = reg.wgmma_frag(m=COLUMNS, n=self.rows, dtype=f32), tid & (GROUP - 1)
            with ptx.if_(consumes):
                self.consume(acc, shared, self.steps(a.shape[1]))
            stores = consumes if self.splits == 1 else self.combine(acc, shared, thread, consumes)
            with ptx.if_(stores):
                self.store(acc, c, shared, thread)
            ptx.ret()

        return gemm


class Shared:
    """Shared memory of a CTA: stages of A and B with their mbarriers, the tile of C, and partial sums."""

    def __init__(self, plan: Narrow) -> None:
        """Allocate tiles, the mbarriers of their stages, and partial sums in register order."""
        self.a, self.b, self.c = smem.tile(plan.a_tile), smem.tile(plan.b_tile), smem.tile(plan.c_tile)
        self.acc = smem.alloc(f32, (len(plan.chunks), GROUP, CHUNK))
        self.stages = Stages(plan.stages, GROUP // 32)


def stage_turned(acc: RegArray, staged: SharedAlloc, thread: Reg) -> None:
    """Round the accumulator to bf16, and write it transposed and swizzled to shared memory."""
    packed, lane = reg.array(b32, 4), thread & 31
    y, x = (lane >> 4) * 8 + (lane & 7), (thread >> 5) * 16 + (lane & 8)  # row, column for a lane's stmatrix
    for column in range(0, len(acc), 8):  # 16 columns of `acc` are 8 registers per thread
        round_pairs(packed, acc[column : column + 8])
        ptx.stmatrix(smem=staged.address(y + column * 2, x), regs=packed, trans=True)


@functools.cache
def build_gemm(*, b_major: str = "MN", overlaps: bool = False, **sizes: int):
    """Return the kernel with other tile sizes: `build_gemm(rows=32, stages=16)`."""
    return Narrow(b_major=b_major, overlaps=overlaps, **sizes).kernel()


def splits_for(columns: int) -> int:
    """Return the number of CTAs that share K: the largest with which the clusters of all columns are resident."""
    tiles = -(-columns // COLUMNS)
    return max((splits for splits, room in AT_ONCE.items() if tiles <= room), default=1)


def gemm(a, b):
    """Return `a` (M x K) times `b` (K x N), computed by the kernel whose clusters suit N."""
    return build_gemm(splits=splits_for(b.shape[1]))(a, b)


def main() -> None:
    """Run the kernel on the simulator and print its largest error against a float64 reference."""
    rng = np.random.default_rng(0)
    for columns in (520, 8456):
        a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((10, 328), (328, columns)))
        expected = reference(a, b)
        error = np.abs(gemm(a, b) - expected).max() / np.abs(expected).max()
        print(f"gemm_narrow_hopper 10x{columns}x328: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
