"""What the persistent products share: how they are cut up, who does what in a block, and what each does there.

`gemm_highperf_hopper.py` puts these parts together first; `gemm_fp8_hopper.py` and `grouped_gemm.py` differ where they
say so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyptx import ptx, reg, smem
from pyptx.types import b32, bf16x2, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where a file that imports this is run by itself

from examples.overlap import ATTRIBUTES, take_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc, SharedTile

ROWS = 64  # of C to a warpgroup: the M of a product
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # of each thread; 168 at the start, 504 in all


@dataclass(frozen=True, slots=True)
class Cut:
    """How a product is cut up among blocks that produce and consume.

    A block runs on each multiprocessor, or there are `blocks`, if they are fewer. What `overlaps` begins before
    the launch in front of it has ended.
    """

    widest: ClassVar[int] = 256  # columns that one product can have
    block_m: int = 128
    block_n: int = 256
    stages: int = 4
    blocks: int | None = None
    overlaps: bool = False

    def __post_init__(self) -> None:
        """Refuse what there are no registers for, columns that cannot be stored or shared, and what would never end."""
        if self.block_m not in {64, 128}:
            raise ValueError(f"block_m={self.block_m}: one consumer or two, of 64 rows each")
        if self.block_n not in range(self.unit, self.widest + 1, self.unit):
            raise ValueError(f"block_n={self.block_n}: multiples of {self.unit} up to {self.widest}")
        if self.stages < 2:
            raise ValueError(f"stages={self.stages}: two or more, for one is read while the next is filled")

    @property
    def unit(self) -> int:
        """What the columns of a tile are multiples of: a panel of B, and a store."""
        return 64

    @property
    def threads(self) -> int:
        """One warpgroup produces, the others consume."""
        return 128 * (1 + self.block_m // ROWS)

    @property
    def launch(self) -> dict[str, Any]:
        """What `kernel` has to know; `setmaxnreg` needs both directives."""
        directives = [("maxntid", (self.threads, 1, 1)), ("minnctapersm", (1,))]
        said = {"block": self.threads, "arch": "sm_90a", "raw_directives": directives, "persistent": 1}
        return {**said, "launch": ATTRIBUTES if self.overlaps else {}}

    def at_most(self, blocks: int) -> int:
        """Return how many of so many blocks are launched on a device that has room for all of them."""
        return blocks if self.blocks is None else min(blocks, self.blocks)


def meet() -> None:
    """Wait for the other blocks of the cluster, whose barriers are initialised then: two instructions.

    The fence behind the initialisation has told all that there is to tell, so that the arrival need not (`relaxed`):
    no thread waits for its memory operations.
    """
    ptx.cluster.arrive(sem="relaxed")
    ptx.cluster.wait()


def divide(cut: Cut, begin: Callable[[], None], *, produce: Callable[[], None], consume: Callable[[Reg], None]) -> None:
    """Divide the work: one thread begins, all meet, then it produces, and all warpgroups but its own consume.

    A consumer is told its number, from 0. Where there are two, the producer's registers go to them; one begins with all
    that a thread can have. Beside what the three emit, these are 14 instructions, and two more for each of the two
    conditions.
    """
    deals = cut.block_m > ROWS
    tid = reg.from_(ptx.special.tid.x(), u32)
    leader = (tid < 32) & ptx.elect_sync()
    warpgroup = ptx.shfl.sync.idx(reg.scalar(u32), tid >> 7, 0)  # the same in all lanes, and ptxas knows it
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
    """Start the products of one stage, a group; the first of them overwrites `acc` where `adds` is false.

    The descriptors `a` and `b` name the stage, `tiles` says how it lies. Emits a fence, four products, each but the
    first behind six instructions that move the descriptors on, and a commit.
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
            trans_b=1 if B.major == "MN" else None,  # what is K-major cannot be turned if it is of bytes
        )
    ptx.wgmma.commit_group()


def stage_panel(acc: RegArray, panel: int, staged: SharedAlloc, buffer: Reg, lane: Reg) -> None:
    """Round 64 columns of a warp's 16 rows to bf16, and put them where the swizzle has them: 4 `stmatrix`, 16 `cvt`."""
    packed, y, x = reg.array(b32, 4), lane & 15, (lane >> 4) * 8  # the eight columns that a lane gives to stmatrix
    for block in range(panel * 32, panel * 32 + 32, 8):  # 16 columns: 8 registers
        for pair, i in zip(packed, range(block, block + 8, 2), strict=True):
            ptx.cvt(bf16x2, f32, pair, acc[i + 1], acc[i], rounding="rn")
        ptx.stmatrix(smem=staged.address(buffer, y, x + block * 2 % 64), regs=packed)


def prefetch(*tensors: TensorSpec) -> None:
    """Let TMA fetch the maps of tensors, so that the first copies find them: an instruction each, for one thread."""
    for tensor in tensors:
        ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))


class Stages:
    """The barriers of stages: one is `full` by the bytes that come, `empty` by an arrival of each warp that reads."""

    def __init__(self, count: int, readers: int) -> None:
        """Allocate; `readers` warps arrive at `empty`."""
        self.full, self.empty, self.readers = smem.mbarrier(count), smem.mbarrier(count), readers

    def init(self) -> None:
        """Emit the initialisation, two instructions a stage, for one thread. A fence has to follow."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, 1)
            ptx.mbarrier.init(empty, self.readers)
