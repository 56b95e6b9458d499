"""Products of scaled blocks: how the scales come to the tensor cores. Formats of 8 and 4 bits have it in common.

Blocks of 16 or 32 elements along K have a scale each, so that a product needs those of its rows and columns while it
multiplies. `tcgen05.mma` reads them out of tensor memory, and they take the way of the factors:

    global memory  -- TMA -->  a stage of shared memory  -- `tcgen05.cp` -->  tensor memory  -->  `tcgen05.mma`

`scales.py` says how they lie in memory: 512 bytes for 128 rows and four blocks of K. A copy takes such a piece to four
columns of tensor memory, in all four quarters of the lanes. Products follow the copies of the same thread that stand in
front of them, so that nobody waits between the two (manual: "Pipelined tcgen05 Instructions").

Each block of a pair has the scales of its 128 rows of A, and those of all columns of B, for its tensor cores compute
128 rows of all columns.

That a copy follows products, which read what it overwrites, is not promised. So every stage has columns of tensor
memory of its own: when it is filled again it was empty, and empty it is when its products are done. That leaves room
for one accumulator of 256 columns. The products of the next tile wait until the sums of the last one are loaded, but
their stages fill meanwhile.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyptx import ptx, smem
from pyptx.types import PtxType, b32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where an example is run by itself

from examples.blackwell import scales
from examples.blackwell.gemm_highperf_blackwell import BM, Block, Gemm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.blackwell.gemm_highperf_blackwell import Corner

    from pyptx import TensorSpec, Tile
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

COLUMNS = scales.WORDS * scales.WORD // 128  # of tensor memory that a piece takes: 32 lanes of four bytes to a column
LARGEST_TILE, TENSOR_COLUMNS = 256, 512  # columns of C, and of tensor memory


@dataclass(frozen=True, slots=True)
class ScaledGemm(Gemm):
    """How a product of scaled blocks is cut up; formats derive from it. Elements lie in bytes of `dtype`.

    `element` is what they are, `per_byte` how many a byte has; `per_scale` of a row share a scale of type `scale_type`.
    """

    accumulators: ClassVar[int] = 1
    kind: ClassVar[str]
    element: ClassVar[PtxType]
    per_byte: ClassVar[int]
    per_scale: ClassVar[int]
    scale_type: ClassVar[PtxType]
    stages: int = 5
    b_major: str = field(default="K", init=False)

    def __post_init__(self) -> None:
        """Refuse also more stages than tensor memory has room for the scales of."""
        Gemm.__post_init__(self)
        if self.stages * self.scale_columns > TENSOR_COLUMNS - LARGEST_TILE:
            raise ValueError(f"stages={self.stages}: scales take {self.scale_columns} columns of tensor memory each")

    @property
    def words(self) -> int:
        """How many words of scales a row has in a stage, four scales to a word."""
        return self.block_k * self.per_byte // self.per_scale // scales.WORD

    @property
    def pieces(self) -> tuple[int, int]:
        """How many times 128 rows of A, and of columns of B, a block has the scales of."""
        return 1, self.block_n // scales.ROWS

    @property
    def scale_columns(self) -> int:
        """How many columns of tensor memory the scales of a stage take."""
        return sum(self.pieces) * self.words * COLUMNS

    @property
    def stage_bytes(self) -> int:
        """What a block holds in a stage, scales included."""
        return Gemm.stage_bytes.fget(self) + sum(self.pieces) * self.words * scales.BYTES

    @property
    def scale_tiles(self) -> tuple[Tile, Tile]:
        """The scales of A and B, of which a copy brings a stage's."""
        of_a, of_b = self.pieces
        return scales.tile("RA", "C", (of_a, self.words)), scales.tile("RB", "C", (of_b, self.words))

    def product(self, step: int) -> ptx.tcgen05.InstructionDescriptor:
        """Return what the product of a step of a stage is: its scales begin at one of the four bytes of a word."""
        byte = self.first_scale(step) % scales.WORD
        return ptx.tcgen05.InstructionDescriptor(
            self.kind,
            d="f32",
            a=self.element.name,
            b=self.element.name,
            m=BM,
            n=self.block_n,
            scale=self.scale_type.name,
            scale_a_id=byte,
            scale_b_id=byte,
        )

    def first_scale(self, step: int) -> int:
        """Return which of a row's scales in a stage is the first of a step."""
        return step * self.a_tile.k_step * self.per_byte // self.per_scale


class ScaledBlock(Block):
    """One block of a pair that multiplies scaled blocks."""

    plan: ScaledGemm

    def __init__(
        self, plan: ScaledGemm, a: TensorSpec, b: TensorSpec, c: TensorSpec, given: tuple[TensorSpec, TensorSpec]
    ) -> None:
        """Allocate also the stages of scales; raise ValueError for scales that are not those of the factors."""
        super().__init__(plan, a, b, c)
        for name, scale, factor in zip("ab", given, (a, b), strict=True):
            wanted = scales.extent(factor.shape[0], -(-factor.shape[1] * plan.per_byte // plan.per_scale))
            if scale.shape[:2] != wanted:
                raise ValueError(
                    f"scale_{name} is {scale.shape}: {(*wanted, scales.WORDS)} for {factor.shape} of {name}"
                )
        self.scales = given
        self.shared_scales = [
            smem.alloc(b32, (plan.stages, count, plan.words, scales.WORDS), align=128) for count in plan.pieces
        ]

    @property
    def tensor_columns(self) -> int:
        """All of tensor memory: behind the accumulator lie the scales."""
        return TENSOR_COLUMNS

    def fetch(self, stage: Reg, corner: Corner, k: Reg, full: Reg) -> None:
        """Copy also the scales: of this block's rows, and of all columns."""
        super().fetch(stage, corner, k, full)
        word = k // self.plan.block_k * self.plan.words
        for first, source, shared in zip(corner, self.scales, self.shared_scales, strict=True):
            at = 0, word, first // scales.ROWS
            ptx.cp.async_.bulk.tensor_3d(dst=shared[stage], src=source, coord=at, mbar=full, cta_group=2)

    def multiply(self, t: TensorMemory) -> None:
        """Multiply with scales in the columns behind the accumulator."""
        self.scale_memory = t[:, LARGEST_TILE:]
        super().multiply(t)

    def descriptors(self) -> tuple[Reg, ...]:
        """Return those of the scales, too: pieces of 32 rows of 16 bytes, one behind the other."""
        make = functools.partial(ptx.tcgen05.make_descriptor, leading_byte_offset=0, stride_byte_offset=128)
        return (*super().descriptors(), *map(make, self.shared_scales))

    def products(self, d: TensorMemory, first: Sequence[Reg], stage: Reg, *, adds: Reg) -> None:
        """Copy the scales of a stage to its columns, and issue its products."""
        plan, A, B = self.plan, self.plan.a_tile, self.plan.b_tile
        a = ptx.tcgen05.advance(first[0], A.stage_bytes, times=stage)
        b = ptx.tcgen05.advance(first[1], B.stage_bytes, times=stage)
        of_a, of_b = self.copy_scales(first[2:], stage)
        for step, k in enumerate(range(0, A.k, A.k_step)):
            word = plan.first_scale(step) // scales.WORD
            ptx.tcgen05.mma.async_2sm(
                d,
                a,
                b,
                plan.product(step),
                block=plan.per_scale,
                scale_a=of_a[word],
                scale_b=of_b[word],
                a_k_offset=A.offset(k=k),
                b_k_offset=B.offset(k=k),
                accumulate=True if k else adds,
            )

    def copy_scales(self, sources: Sequence[Reg], stage: Reg) -> list[list[TensorMemory]]:
        """Copy the scales of a stage piece by piece; return where those of A and of B are, a place for each word.

        In shared memory the words of the same rows follow each other; the columns of a product are those of a word of
        all rows.
        """
        plan, found = self.plan, []
        free = self.scale_memory.advance(plan.scale_columns, times=stage)
        for source, count in zip(sources, plan.pieces, strict=True):
            start = ptx.tcgen05.advance(source, count * plan.words * scales.BYTES, times=stage)
            width = count * COLUMNS
            found.append([free[:, word * width : (word + 1) * width] for word in range(plan.words)])
            for piece in range(count):
                for word, place in enumerate(found[-1]):
                    at = ptx.tcgen05.advance(start, (piece * plan.words + word) * scales.BYTES)
                    ptx.tcgen05.cp(place[:, piece * COLUMNS : (piece + 1) * COLUMNS], at, size="32x128b", cta_group=2)
            free = free[:, plan.words * width :]
        return found
