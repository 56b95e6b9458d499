"""Parts of all persistent GEMMs: their sizes, the roles of a CTA's warpgroups, and the code of each role.

`gemm_highperf_hopper.py` is the first to combine these parts; `gemm_fp8_hopper.py` and `grouped_gemm.py` describe how
they differ from it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyptx import ptx, reg, smem
from pyptx.types import b32, bf16x2, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if a script imports this

from examples.overlap import ATTRIBUTES, take_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc, SharedTile

ROWS = 64  # rows of C per warpgroup: M of one wgmma
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # registers per thread: 40 + 2 * 232 = 504 = 3 * 168 at launch


@dataclass(frozen=True, slots=True)
class Cut:
    """Tile sizes of a GEMM on CTAs with a producer and consumers.

    One CTA runs on each SM, or `blocks` CTAs in total if that is fewer. If `overlaps`, the kernel starts before its
    prerequisite grid completes.
    """

    widest: ClassVar[int] = 256  # maximum columns of C per tile: the maximum N of one wgmma
    block_m: int = 128
    block_n: int = 256
    stages: int = 4
    blocks: int | None = None
    overlaps: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for too many registers, columns that cannot be stored or shared, or too few stages."""
        if self.block_m not in {64, 128}:
            raise ValueError(f"block_m={self.block_m}: one consumer or two, of 64 rows each")
        if self.block_n not in range(self.unit, self.widest + 1, self.unit):
            raise ValueError(f"block_n={self.block_n}: multiples of {self.unit} up to {self.widest}")
        if self.stages < 2:
            raise ValueError(f"stages={self.stages}: two or more, for one is read while the next is filled")

    @property
    def unit(self) -> int:
        """Required divisor of `block_n`: columns of a TMA box of B, and of a store."""
        return 64

    @property
    def threads(self) -> int:
        """Threads per CTA: one warpgroup produces, the others consume."""
        return 128 * (1 + self.block_m // ROWS)

    @property
    def launch(self) -> dict[str, Any]:
        """Arguments of `kernel`; `setmaxnreg` requires `maxntid` and `minnctapersm`."""
        directives = [("maxntid", (self.threads, 1, 1)), ("minnctapersm", (1,))]
        said = {"block": self.threads, "arch": "sm_90a", "raw_directives": directives, "persistent": 1}
        return {**said, "launch": ATTRIBUTES if self.overlaps else {}}

    def at_most(self, blocks: int) -> int:
        """Return the number of CTAs, at most `blocks`, that are launched on a device that holds all of them at once."""
        return blocks if self.blocks is None else min(blocks, self.blocks)


def meet() -> None:
    """Wait until all CTAs of the cluster have initialized their mbarriers: two instructions.

    The fence that follows mbarrier.init has released the initialization already, so the arrival is `relaxed`: no thread
    waits for its memory operations.
    """
    ptx.cluster.arrive(sem="relaxed")
    ptx.cluster.wait()


def divide(cut: Cut, begin: Callable[[], None], *, produce: Callable[[], None], consume: Callable[[Reg], None]) -> None:
    """Assign roles: one thread runs `begin` and, after a cluster barrier, `produce`; other warpgroups run `consume`.

    `consume` gets the consumer's index, from 0. With two consumers, registers move to them from the producer; one
    consumer starts with the maximum per thread. Besides the code of the three callbacks, this emits 14 instructions,
    two more if registers move, and two more if `cut.overlaps`.
    """
    deals = cut.block_m > ROWS
    tid = reg.from_(ptx.special.tid.x(), u32)
    leader = (tid < 32) & ptx.elect_sync()
    warpgroup = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0)  # lets ptxas infer a warp-uniform warpgroup index
    with ptx.if_(leader):
        begin()
    meet()
    if cut.overlaps:
        take_over()
    with ptx.if_(warpgroup == 0):
        if deals:
            ptx.setmaxnreg_dec(PRODUCER_REGISTERS)
        with ptx.if_(leader):
            produce()
    with ptx.else_():
        if deals:
            ptx.setmaxnreg_inc(CONSUMER_REGISTERS)
        consume(warpgroup - 1)


def multiply(acc: RegArray, a: Reg, b: Reg, tiles: tuple[SharedTile, SharedTile], *, adds: Reg | bool) -> None:
    """Start the MMAs of one stage as one wgmma group; the first overwrites `acc` if `adds` is false.

    `a` and `b` are the stage's descriptors, `tiles` the layouts. Emits a fence, four wgmma, each but the first after
    six instructions that advance the descriptors, and a commit.
    """
    A, B = tiles
    ptx.wgmma.fence()
    for k in range(0, A.k, A.k_step):
        ptx.wgmma.mma_async(
            shape=(ROWS, B.mn, A.k_step),
            dtype_d=f32,
            dtype_a=A.dtype,
            dtype_b=B.dtype,
            d=acc,
            a=a,
            b=b,
            a_k_offset=A.offset(k=k),
            b_k_offset=B.offset(k=k),
            scale_d=True if k else adds,
            trans_b=1 if B.major == "MN" else None,  # 8-bit operands are K-major: wgmma cannot transpose them
        )
    ptx.wgmma.commit_group()


def stage_panel(acc: RegArray, panel: int, staged: SharedAlloc, buffer: Reg, lane: Reg) -> None:
    """Round 64 columns of a warp's 16 rows to bf16, and write them swizzled: 4 `stmatrix`, 16 `cvt`."""
    packed, y, x = reg.array(b32, 4), lane & 15, (lane >> 4) * 8  # row, column for the lane's stmatrix
    for block in range(panel * 32, panel * 32 + 32, 8):  # 16 columns of `acc` are 8 registers per thread
        for pair, i in zip(packed, range(block, block + 8, 2), strict=True):
            ptx.cvt(bf16x2, f32, pair, acc[i + 1], acc[i], rounding="rn")
        ptx.stmatrix(smem=staged.address(buffer, y, x + block * 2 % 64), regs=packed)


def prefetch(*tensors: TensorSpec) -> None:
    """Prefetch tensor maps, so that the first TMA copies do not wait for them: one instruction each, in one thread."""
    for tensor in tensors:
        ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))


class Stages:
    """Mbarriers of stages: `full` counts the bytes of TMA loads, `empty` an arrival of each warp that reads a stage."""

    def __init__(self, count: int, readers: int) -> None:
        """Allocate the mbarriers of `count` stages; `empty` expects an arrival of each of `readers` warps."""
        self.full, self.empty, self.readers = smem.mbarrier(count), smem.mbarrier(count), readers

    def init(self) -> None:
        """Emit mbarrier.init, two instructions per stage, in one thread. A proxy fence must follow."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, 1)
            ptx.mbarrier.init(empty, self.readers)
