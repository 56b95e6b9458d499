"""What the kernels of attention of Hopper share: products of warpgroups, and the softmax of their sums."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from pyptx import ptx, reg
from pyptx.types import PtxType, b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.attention.problem import LOWEST, settled
from examples.attention.quads import over_quad
from examples.attention.tiles import GROUP
from examples.hopper.attention_plans import ROWS
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc, SharedSlice, SharedTile

FIRST_TURN = 1  # the first of the named barriers of the turns; barrier 0 is the whole block's


class Types(TypedDict):
    """The types of a product, as `mma_async` takes them."""

    dtype_d: PtxType
    dtype_a: PtxType
    dtype_b: PtxType


TYPES: Types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}


def stage_rows(sums: RegArray, layout: SharedTile, tiles: SharedAlloc, stage: Reg, thread: Reg) -> None:
    """Round the sums of a warpgroup to bf16 and write them to a stage of shared memory, 16 columns at a time."""
    packed = reg.array(b32, 4)
    for column in range(0, layout.shape[1], 16):
        first = column // 2  # 16 columns are 8 registers
        round_pairs(packed, sums[first : first + 8])
        stage_pairs(packed, layout, tiles, stage, thread, column=column)


def stage_pairs(
    pairs: RegArray,
    layout: SharedTile,
    tiles: SharedAlloc,
    stage: Reg,
    thread: Reg,
    *,
    row: Reg | int = 0,
    column: int = 0,
) -> None:
    """Write rounded sums of a warpgroup to a stage of shared memory, from a row and column on, 16 columns at a time."""
    lane = thread & 31
    below, side = (thread >> 5) * 16 + (lane & 15), (lane >> 4) * 8
    for first in range(0, len(pairs), 4):
        panel, inside = divmod(column + 4 * first, layout.panel_columns)
        which = (stage,) if layout.panels == 1 else (stage, panel)
        ptx.stmatrix(smem=tiles.address(*which, below + row, side + inside), regs=pairs[first : first + 4], layout="x4")


# --- products ---------------------------------------------------------------------------------------


def described_as(stage: Reg | SharedSlice, layout: SharedTile) -> Reg:
    """Return the descriptor of a stage as `layout`, whatever the layout that it was allocated with."""
    return ptx.wgmma.make_descriptor(
        stage,
        leading_byte_offset=layout.leading_byte_offset,
        stride_byte_offset=layout.stride_byte_offset,
        swizzle=layout.swizzle_code,
    )


def multiply(d: RegArray, a: Reg, a_layout: SharedTile, b: Reg, b_layout: SharedTile) -> None:
    """Start d = A · Bᵀ as a group: both matrices by their descriptors, both along the head."""
    ptx.wgmma.fence()
    for k in range(0, a_layout.k, a_layout.k_step):
        ptx.wgmma.mma_async(
            shape=(ROWS, b_layout.mn, a_layout.k_step),
            **TYPES,
            d=d,
            a=a,
            b=b,
            a_k_offset=a_layout.offset(k=k),
            b_k_offset=b_layout.offset(k=k),
            scale_d=k > 0,
        )
    ptx.wgmma.commit_group()


def accumulate(d: RegArray, weights: RegArray, b: Reg, b_layout: SharedTile) -> None:
    """Start d += W · B as a group: weights in registers, B along the rows of its tile."""
    ptx.wgmma.fence()
    for k in range(0, b_layout.k, b_layout.k_step):
        ptx.wgmma.mma_async(
            shape=(ROWS, b_layout.mn, b_layout.k_step),
            **TYPES,
            d=d,
            a=weights[k // 4 : k // 4 + 4],  # 16 columns are 4 registers
            b=b,
            b_k_offset=b_layout.offset(k=k),
            scale_d=True,
            trans_b=1,
        )
    ptx.wgmma.commit_group()


class Turns:
    """The order in which consumers issue products: each waits for the one before it, around the circle."""

    def __init__(self, consumers: int, consumer: Reg) -> None:
        """Open the first consumer's turn, by an arrival of the last one."""
        self.consumer, self.own, self.next = consumer, consumer + FIRST_TURN, reg.scalar(u32)
        last = consumer == consumers - 1
        ptx.selp(u32, self.next, FIRST_TURN, self.own + 1, last)
        ptx.bar.arrive(FIRST_TURN, 2 * GROUP, pred=last)

    def take(self) -> None:
        """Wait for the turn."""
        ptx.bar.sync(self.own, 2 * GROUP)

    def give(self) -> None:
        """Let the next consumer go on."""
        ptx.bar.arrive(self.next, 2 * GROUP)

    def close(self) -> None:
        """Take the turn that the last consumer gave and nobody needs, so that the barrier ends as it began."""
        with ptx.if_(self.consumer == 0):
            ptx.bar.sync(FIRST_TURN, 2 * GROUP)


# --- softmax ----------------------------------------------------------------------------------------


class Softmax:
    """The running softmax of a thread's two rows: maxima and sums so far, and by what the last step scales them."""

    def __init__(self, scale: float, layout) -> None:
        """Begin with no key seen; `scale` makes scores exponents of 2, `layout` is that of the scores."""
        self.scale, self.layout = scale, layout
        self.maxima = [reg.scalar(f32, init=LOWEST) for _ in range(2)]
        self.sums = [reg.scalar(f32, init=0.0) for _ in range(2)]
        self.corrections = [reg.scalar(f32) for _ in range(2)]

    def rows(self, values: Iterable[Reg]) -> list[list[Reg]]:
        """Return the elements of each of the thread's two rows, which are 8 apart."""
        held: list[list[Reg]] = [[], []]
        for i, value in enumerate(values):
            held[self.layout.row(0, i) // 8].append(value)
        return held

    def update(self, scores: RegArray) -> None:
        """Turn scores into 2 ** (scale · (score - maximum)), and add them up."""
        for row, elements in enumerate(self.rows(scores)):
            self._update(row, elements)

    def _update(self, row: int, elements: list[Reg]) -> None:
        peak, shift, correction = reg.scalar(f32, init=self.maxima[row]), reg.scalar(f32), self.corrections[row]
        for value in elements:
            ptx.inst.max.f32(peak, peak, value)
        over_quad(ptx.inst.max.f32, peak)
        ptx.inst.sub.rn.f32(correction, self.maxima[row], peak)
        ptx.inst.mul.rn.f32(correction, correction, self.scale)
        ptx.inst.ex2.approx.ftz.f32(correction, correction)
        ptx.inst.mov.f32(self.maxima[row], peak)
        ptx.inst.mul.rn.f32(shift, peak, -self.scale)
        ptx.inst.mul.rn.f32(self.sums[row], self.sums[row], correction)
        for value in elements:
            ptx.inst.fma.rn.f32(value, value, self.scale, shift)
            ptx.inst.ex2.approx.ftz.f32(value, value)
            ptx.inst.add.rn.f32(self.sums[row], self.sums[row], value)

    def correct(self, sums: RegArray) -> None:
        """Scale what was summed over earlier keys to the new maxima."""
        for correction, elements in zip(self.corrections, self.rows(sums), strict=True):
            for value in elements:
                ptx.inst.mul.rn.f32(value, value, correction)

    def finish(self, sums: RegArray) -> list[Reg]:
        """Divide by the sums of the rows (by 1 where no key was seen); return their natural logarithms."""
        logarithms = []
        for peak, total, elements in zip(self.maxima, self.totals(), self.rows(sums), strict=True):
            inverse, logarithm = settled(peak, total, self.scale)
            for value in elements:
                ptx.inst.mul.rn.f32(value, value, inverse)
            logarithms.append(logarithm)
        return logarithms

    def totals(self) -> list[Reg]:
        """Add up each row's sum over the lanes that share the row, and return it."""
        for total in self.sums:
            over_quad(ptx.inst.add.rn.f32, total)
        return self.sums
