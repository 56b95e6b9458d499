"""Matrix product of fp8: `C = scale_a · scale_b · (A · Bᵀ)` with e4m3 factors and a sum of two levels.

Tensor cores of Hopper add products of fp8 with few bits below the largest of them, fewer than f32 has, so that a long
sum loses what is small beside it. So they only add up 128 of K, four products of 32; that sum is then added to the
total, in f32, by ordinary instructions, while the tensor cores work for the other warpgroup.

All else is as in `gemm_highperf_hopper.py`: persistent blocks, a producer, clusters that share B, tiles in bands,
stores by TMA. The two accumulators take 2 x 64 registers for the 64 x 128 of each warpgroup.

A is M x K, B is N x K (bytes cannot be transposed on the way, so K is contiguous in both), C is M x N in bf16; the
scales are arrays of one f32. K is a multiple of 16 and N one of 8, so that rows are whole multiples of 16 bytes.

    python examples/hopper/gemm_fp8_hopper.py
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.smem import SharedTile
from pyptx.types import b32, bf16, bf16x2, e4m3, f32, u32

ROWS = 64  # of C to a warpgroup: the M of a product
BK = 128  # of K to a stage, and to what tensor cores add up: a row of the 128B swizzle
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # of each thread; 168 at the start, 504 in all


@dataclass(frozen=True, slots=True)
class Fp8Gemm:
    """How the product is cut up. The defaults are for large matrices on a device of 132 multiprocessors."""

    block_m: int = 128
    block_n: int = 128
    stages: int = 6
    cluster: int = 2  # blocks below each other that share what they read of B
    band: int = 8  # clusters below each other that are taken before the next column
    blocks: int = 132  # at most, in the grid

    def __post_init__(self) -> None:
        """Refuse more consumers than there are registers for, and columns that cannot be stored."""
        if self.block_m not in {64, 128}:
            raise ValueError(f"block_m={self.block_m}: one consumer or two, of 64 rows each")
        if self.block_n % 64:
            raise ValueError(f"block_n={self.block_n}: multiples of 64, which is what a store has")

    @property
    def threads(self) -> int:
        """One warpgroup produces, the others consume."""
        return 128 * (1 + self.block_m // ROWS)

    @property
    def a_tile(self) -> SharedTile:
        """What a block holds of A."""
        return SharedTile(e4m3, (self.block_m, BK), stages=self.stages)

    def b_tile(self, share: int = 1) -> SharedTile:
        """Describe what a block holds of B, or the part of it that each of `share` blocks fetches."""
        return SharedTile(e4m3, (self.block_n // share, BK), stages=self.stages)

    @property
    def c_tile(self) -> SharedTile:
        """What a warp stores at a time, and how many of these there are: two for each consuming warp, or one."""
        buffers = 2 if self.block_n // 64 % 2 == 0 else 1
        return SharedTile(bf16, (16, 64), stages=buffers * self.block_m // 16)

    def extent(self, M: int, N: int) -> tuple[int, int]:
        """Return how many tiles there are, of a whole cluster each: below each other, and side by side."""
        return -(-M // (self.block_m * self.cluster)), -(-N // self.block_n)

    def grid(self, M: int, N: int, K: int) -> int:
        """Return the number of blocks: all that run at the same time, unless there are fewer tiles."""
        rows, columns = self.extent(M, N)
        return min(rows * columns, self.blocks // self.cluster) * self.cluster

    # --- the parts of the kernel ------------------------------------------------------------------------

    def tiles(self, M, N):
        """Yield row and column of every tile of this block: bands of rows, down and then to the right in each."""
        rows, columns = self.extent(M, N)
        first, step = ptx.special.clusterid.x(), self.grid(M, N, 0) // self.cluster
        rank = ptx.special.cluster_ctarank()
        for tile in ptx.range_(first, rows * columns, step):
            top = tile // (self.band * columns) * self.band
            inside, height = tile - top * columns, ptx.min(u32, reg.scalar(u32), rows - top, self.band)
            column = inside // height
            row = top + (inside - column * height)
            yield (row * self.cluster + rank) * self.block_m, column * self.block_n

    def produce(self, a, b, c, shared):
        """Fill one stage after the other, each as soon as the consumers of all blocks have read what was in it."""
        A, B, part, rank = self.a_tile, self.b_tile(), self.b_tile(self.cluster), ptx.special.cluster_ctarank()
        everyone = (1 << self.cluster) - 1 if self.cluster > 1 else None
        ring = ptx.pipeline(self.stages, phase=reg.scalar(u32, init=1))  # at first all stages are empty
        start = reg.from_(shared.b, u32) + rank * part.stage_bytes
        for row, column in self.tiles(*c.shape):
            share = column + rank * part.mn
            for k in ptx.range_(0, a.shape[1], BK):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.empty[stage], phase)
                full = shared.full[stage]
                ptx.mbarrier.arrive_expect_tx(full, A.stage_bytes + B.stage_bytes)
                ptx.cp.async_.bulk.tensor_2d(dst=shared.a[stage], src=a, coord=(k, row), mbar=full)
                place = start + stage * B.stage_bytes
                ptx.cp.async_.bulk.tensor_2d(
                    dst=ptx.addr(place), src=b, coord=(k, share), mbar=full, multicast_mask=everyone
                )

    def consume(self, c, scales, shared, group, steps):
        """Multiply stage after stage, add each to the total, and store tile after tile."""
        A, B = self.a_tile, self.b_tile()
        rows = A.offset(mn=ROWS) if self.block_m > ROWS else 0
        a0 = ptx.wgmma.advance(ptx.wgmma.descriptor(shared.a), rows, times=group)
        b0 = ptx.wgmma.descriptor(shared.b)
        part, total = (reg.wgmma_frag(m=ROWS, n=self.block_n, dtype=f32) for _ in range(2))
        ring, read = ptx.pipeline(self.stages), Reader(self, shared)
        scale = scaling(*scales)
        for row, column in self.tiles(*c.shape):
            for value in total:
                ptx.mov(f32, value, 0.0)
            for _ in ptx.range_(0, steps):
                stage, phase = ring.advance()
                ptx.mbarrier.wait(shared.full[stage], phase)
                a = ptx.wgmma.advance(a0, A.stage_bytes, times=stage)
                b = ptx.wgmma.advance(b0, B.stage_bytes, times=stage)
                self.multiply(part, a, b)
                ptx.wgmma.wait_group(0)
                read.release()
                for value, addend in zip(total, part, strict=True):
                    ptx.add(f32, value, value, addend)
            for value in total:
                ptx.mul(f32, value, value, scale)
            self.store(total, c, shared.c, row + group * ROWS, column)
        ptx.cp.async_.bulk.wait_group(0)

    def multiply(self, part, a, b):
        """Start the products of one stage, a group, in an accumulator that begins anew."""
        A, B = self.a_tile, self.b_tile()
        ptx.wgmma.fence()
        for k in range(0, BK, A.k_step):
            ptx.wgmma.mma_async(
                shape=(ROWS, self.block_n, A.k_step),
                dtype_d=f32,
                dtype_a=e4m3,
                dtype_b=e4m3,
                d=part,
                a=a,
                b=b,
                a_k_offset=A.offset(k=k),
                b_k_offset=B.offset(k=k),
                scale_d=k > 0,
            )
        ptx.wgmma.commit_group()

    def store(self, acc, c, staged, row, column):
        """Round the accumulator, and let TMA write each warp's 16 rows, 64 columns at a time."""
        C, warp, lane = self.c_tile, (ptx.special.tid.x() >> 5) - 4, ptx.special.laneid()
        buffers = C.stages * 16 // self.block_m
        row += (warp & 3) * 16
        y, x = lane & 15, (lane >> 4) * 8  # the eight columns that a lane gives to stmatrix
        elected, packed = ptx.elect_sync(), reg.array(b32, 4)
        for panel in range(self.block_n // 64):
            buffer = warp * buffers + panel % buffers
            ptx.cp.async_.bulk.wait_group(buffers - 1, read=True)  # what was in this buffer is on its way
            ptx.bar.warp.sync()
            for block in range(panel * 32, panel * 32 + 32, 8):  # 16 columns: 8 registers
                for pair, i in zip(packed, range(block, block + 8, 2), strict=True):
                    ptx.cvt(bf16x2, f32, pair, acc[i + 1], acc[i], rounding="rn")
                ptx.stmatrix(smem=staged.address(buffer, y, x + block * 2 % 64), regs=packed)
            ptx.fence.proxy_async_shared_cta()  # TMA sees what was stored
            ptx.bar.warp.sync()
            with ptx.if_(elected):
                ptx.cp.async_.bulk.tensor_2d.store(dst=c, src=staged[buffer], coord=(column + panel * 64, row))
                ptx.cp.async_.bulk.commit_group()

    def kernel(self):
        """Put the parts together."""

        @kernel(
            in_specs=(
                self.a_tile.tma_tile("M", "K"),
                self.b_tile(self.cluster).tma_tile("N", "K"),
                Tile(1, f32),
                Tile(1, f32),
            ),
            out_specs=(self.c_tile.tma_tile("M", "N"),),
            grid=self.grid,
            block=self.threads,
            cluster=self.cluster,
            arch="sm_90a",
            raw_directives=[("maxntid", (self.threads, 1, 1)), ("minnctapersm", (1,))],  # setmaxnreg needs to know
        )
        def gemm(a, b, scale_a, scale_b, c) -> None:
            """Multiply, each block tile after tile of C."""
            shared = Shared(self)
            tid = reg.from_(ptx.special.tid.x(), u32)
            leader = (tid < 32) & ptx.elect_sync()
            warpgroup = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0)  # the same in all lanes, and ptxas knows it
            with ptx.if_(leader):
                shared.begin()
            ptx.cluster.sync()

            with ptx.if_(warpgroup == 0):
                ptx.setmaxnreg_dec(PRODUCER_REGISTERS)
                with ptx.if_(leader):
                    self.produce(a, b, c, shared)
            with ptx.else_():
                ptx.setmaxnreg_inc(CONSUMER_REGISTERS)
                steps = -(-a.shape[1] // BK)
                self.consume(c, (scale_a, scale_b), shared, warpgroup - 1, steps)
            ptx.cluster.sync()  # nobody leaves while others still write to its shared memory
            ptx.ret()

        return gemm


def scaling(scale_a, scale_b):
    """Load both scales and return their product."""
    pa, pb = ptx.global_ptrs(scale_a, scale_b)
    a, b = reg.scalar(f32), reg.scalar(f32)
    ptx.ld(f32, a, ptx.addr(pa))
    ptx.ld(f32, b, ptx.addr(pb))
    return a * b


class Shared:
    """What lies in a block's shared memory."""

    def __init__(self, plan: Fp8Gemm) -> None:
        """Allocate the tiles and the barriers of their stages."""
        self.plan = plan
        self.a, self.b, self.c = smem.tile(plan.a_tile), smem.tile(plan.b_tile()), smem.tile(plan.c_tile)
        self.full, self.empty = smem.mbarrier(plan.stages), smem.mbarrier(plan.stages)

    def begin(self):
        """Initialise the barriers: a stage is full by its bytes, and empty by an arrival of each warp that reads it."""
        for stage in range(self.plan.stages):
            ptx.mbarrier.init(self.full[stage], 1)
            ptx.mbarrier.init(self.empty[stage], self.plan.cluster * self.plan.block_m // 16)
        ptx.fence.mbarrier_init()


class Reader:
    """A consuming warp's place in the ring: the stages that it has read, of its own block and of the others."""

    def __init__(self, plan: Fp8Gemm, shared: Shared) -> None:
        """Let each of the first lanes look after one block of the cluster."""
        lane = reg.from_(ptx.special.laneid(), u32)
        block = ptx.min(u32, reg.scalar(u32), lane, plan.cluster - 1)
        self.ring, self.arrives = ptx.pipeline(plan.stages), lane < plan.cluster
        self.empty = ptx.mbarrier.array(ptx.cluster.map_shared_u32(shared.empty, block), 0, plan.stages)

    def release(self):
        """Tell the producers of all blocks that this warp has read one stage more."""
        stage, _ = self.ring.advance()
        ptx.mbarrier.arrive_cluster(self.empty.at(stage), pred=self.arrives)


@functools.cache
def build_gemm(**sizes: int | str):
    """Return the kernel that cuts the product up in another way: `build_gemm(block_n=128, cluster=1)`."""
    return Fp8Gemm(**sizes).kernel()


gemm = build_gemm()


def reference(a: np.ndarray, b: np.ndarray, scale_a: np.ndarray, scale_b: np.ndarray) -> np.ndarray:
    """Compute the same in float64."""
    scale = scale_a.astype(np.float64) * scale_b.astype(np.float64)
    return a.astype(np.float64) @ b.astype(np.float64).T * scale


def main() -> None:
    """Run on the simulator and print the largest error against float64."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((300, 656), (264, 656)))
    scales = np.array([[0.5], [3.0]], np.float32)
    expected = reference(a, b, *scales)
    error = np.abs(gemm(a, b, *scales) - expected).max() / np.abs(expected).max()
    print(f"gemm_fp8_hopper 300x264x656: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
