"""Block-scaled GEMMs: how scale factors reach the tensor cores, common to formats of 8 and 4 bits.

Each block of 16 or 32 elements along K has a scale factor, so an MMA needs those of its rows and columns. `tcgen05.mma`
reads them from tensor memory. They are loaded together with the operands:

    global memory  -- TMA -->  a stage of shared memory  -- `tcgen05.cp` -->  tensor memory  -->  `tcgen05.mma`

The layout in memory is that of `scales.py`: 512 bytes for 128 rows and four blocks of K. One `tcgen05.cp` copies such a
piece to four columns of tensor memory, in all four lane quarters. MMAs execute after earlier copies of the same thread,
without a wait between them (manual: "Pipelined tcgen05 Instructions").

Each CTA of a pair has the scale factors of its 128 rows of A, and those of all columns of B, because its tensor cores
compute 128 rows of all columns.

The manual does not order a copy after earlier MMAs that read the columns it overwrites. So every stage has columns of
tensor memory of its own: it is refilled only when it is empty, and it is empty only when its MMAs are complete. That
leaves room for one accumulator of 256 columns. The MMAs of the next tile wait until the accumulator of the last one is
loaded, but their stages are filled meanwhile.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyptx import ptx, smem
from pyptx.types import PtxType, b32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if a script imports this

from examples.blackwell import scales
from examples.blackwell.gemm_highperf_blackwell import BM, Block, Gemm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.blackwell.gemm_highperf_blackwell import Corner

    from pyptx import TensorSpec, Tile
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory

COLUMNS = scales.WORDS * scales.WORD // 128  # tensor memory columns per 512 bytes of scale factors: 128 bytes each
LARGEST_TILE, TENSOR_COLUMNS = 256, 512  # maximum columns of C per tile; columns of an SM's tensor memory


@dataclass(frozen=True, slots=True)
class ScaledGemm(Gemm):
    """Tiling of a block-scaled GEMM; formats derive from it. Elements are stored in bytes of `dtype`.

    `element` is their type, `per_byte` their number per byte. `per_scale` elements share a scale factor (`scale_type`).
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
        """Extend the base class: ValueError for more stages of scale factors than fit into tensor memory."""
        Gemm.__post_init__(self)
        if self.stages * self.scale_columns > TENSOR_COLUMNS - LARGEST_TILE:
            raise ValueError(f"stages={self.stages}: scales take {self.scale_columns} columns of tensor memory each")

    @property
    def words(self) -> int:
        """Words (four scale factors each) per matrix row and stage."""
        return self.block_k * self.per_byte // self.per_scale // scales.WORD

    @property
    def pieces(self) -> tuple[int, int]:
        """Groups of 128 rows of A, and of 128 columns of B, whose scale factors a CTA loads."""
        return 1, self.block_n // scales.ROWS

    @property
    def scale_columns(self) -> int:
        """Columns of tensor memory for the scale factors of a stage."""
        return sum(self.pieces) * self.words * COLUMNS

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage in a CTA, scale factors included."""
        return Gemm.stage_bytes.fget(self) + sum(self.pieces) * self.words * scales.BYTES

    @property
    def scale_tiles(self) -> tuple[Tile, Tile]:
        """Tiles of the scale factors of A and B; one TMA box has the scale factors of a stage."""
        of_a, of_b = self.pieces
        return scales.tile("RA", "C", (of_a, self.words)), scales.tile("RB", "C", (of_b, self.words))

    def product(self, step: int) -> ptx.tcgen05.InstructionDescriptor:
        """Return the instruction descriptor of a step's MMA; its scale factor IDs select bytes of a word."""
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
        """Return the index of a step's first scale factor among the scale factors of a row in a stage."""
        return step * self.a_tile.k_step * self.per_byte // self.per_scale


class ScaledBlock(Block):
    """One CTA of a pair in a block-scaled GEMM, which also loads and copies scale factors."""

    plan: ScaledGemm

    def __init__(
        self, plan: ScaledGemm, a: TensorSpec, b: TensorSpec, c: TensorSpec, given: tuple[TensorSpec, TensorSpec]
    ) -> None:
        """Extend the base class: allocate stages of scale factors; ValueError if their arrays do not fit A and B."""
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
        """Number of columns to allocate: all of tensor memory, since the scale factors follow the accumulator."""
        return TENSOR_COLUMNS

    def fetch(self, stage: Reg, corner: Corner, k: Reg, full: Reg) -> None:
        """Extend the base class: copy a stage's scale factors, of this CTA's rows of A and of all columns of B."""
        super().fetch(stage, corner, k, full)
        word = k // self.plan.block_k * self.plan.words
        for first, source, shared in zip(corner, self.scales, self.shared_scales, strict=True):
            at = 0, word, first // scales.ROWS
            ptx.cp.async_.bulk.tensor_3d(dst=shared[stage], src=source, coord=at, mbar=full, cta_group=2)

    def multiply(self, t: TensorMemory) -> None:
        """Run the MMAs, with scale factors in the columns after the accumulator."""
        self.scale_memory = t[:, LARGEST_TILE:]
        super().multiply(t)

    def descriptors(self) -> tuple[Reg, ...]:
        """Return the descriptors of A, B and, in contiguous blocks of 32 rows of 16 bytes, scale factors."""
        make = functools.partial(ptx.tcgen05.make_descriptor, leading_byte_offset=0, stride_byte_offset=128)
        return (*super().descriptors(), *map(make, self.shared_scales))

    def products(self, d: TensorMemory, first: Sequence[Reg], stage: Reg, *, adds: Reg) -> None:
        """Copy the scale factors of a stage to tensor memory, and issue the MMAs of the stage."""
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
        """Copy a stage's scale factors to tensor memory; return the columns of A's and of B's factors, per word.

        In shared memory, the words of the same rows are contiguous. The columns that one MMA reads have the same word
        of all rows.
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
