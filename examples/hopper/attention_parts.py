"""Parts of all attention kernels on Hopper: MMAs of a warpgroup (wgmma), and the online softmax of the scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from pyptx import ptx, reg
from pyptx.types import PtxType, b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention.problem import LOWEST, normalization
from examples.attention.quads import over_quad
from examples.attention.tiles import GROUP
from examples.hopper.attention_plans import ROWS
from examples.rounding import round_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx.reg import Reg, RegArray
    from pyptx.smem import SharedAlloc, SharedSlice, SharedTile

FIRST_TURN = 1  # id of the first named barrier that `Turns` uses; barrier 0 synchronizes the whole CTA


class Types(TypedDict):
    """Types of the bf16 MMAs with f32 accumulators, as arguments of `mma_async`."""

    dtype_d: PtxType
    dtype_a: PtxType
    dtype_b: PtxType


TYPES: Types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}


def stage_rows(acc: RegArray, layout: SharedTile, tiles: SharedAlloc, stage: Reg, thread: Reg) -> None:
    """Round a warpgroup's accumulator to bf16 and write it to a stage of shared memory, 16 columns at a time."""
    packed = reg.array(b32, 4)
    for column in range(0, layout.shape[1], 16):
        first = column // 2  # 16 columns of the accumulator are 8 registers per thread
        round_pairs(packed, acc[first : first + 8])
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
    """Write a warpgroup's bf16 pairs to a shared memory stage, from `row` and `column` on, 16 columns at a time."""
    lane = thread & 31
    below, side = (thread >> 5) * 16 + (lane & 15), (lane >> 4) * 8
    for first in range(0, len(pairs), 4):
        panel, inside = divmod(column + 4 * first, layout.box_columns)
        which = (stage,) if layout.boxes == 1 else (stage, panel)
        ptx.stmatrix(smem=tiles.address(*which, below + row, side + inside), regs=pairs[first : first + 4], layout="x4")


# --- MMAs -------------------------------------------------------------------------------------------


def described_as(stage: Reg | SharedSlice, layout: SharedTile) -> Reg:
    """Return the matrix descriptor of `stage`, read with `layout`, which may differ from the layout as allocated."""
    return ptx.wgmma.make_descriptor(
        stage,
        leading_byte_offset=layout.leading_byte_offset,
        stride_byte_offset=layout.stride_byte_offset,
        swizzle=layout.swizzle_code,
    )


def multiply(d: RegArray, a: Reg, a_layout: SharedTile, b: Reg, b_layout: SharedTile) -> None:
    """Start d = A · Bᵀ as one wgmma group: A and B are in shared memory, and are reduced along the head dimension."""
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
    """Start d += W · B as one wgmma group: operand A is W in registers, B is reduced along the rows of its tile."""
    ptx.wgmma.fence()
    for k in range(0, b_layout.k, b_layout.k_step):
        ptx.wgmma.mma_async(
            shape=(ROWS, b_layout.mn, b_layout.k_step),
            **TYPES,
            d=d,
            a=weights[k // 4 : k // 4 + 4],  # 16 columns of W are 4 registers per thread
            b=b,
            b_k_offset=b_layout.offset(k=k),
            scale_d=True,
            trans_b=1,
        )
    ptx.wgmma.commit_group()


class Turns:
    """Round-robin order in which consumers issue MMAs: each waits for the previous consumer at a named barrier."""

    def __init__(self, consumers: int, consumer: Reg) -> None:
        """Arrive, in the last consumer, at the first consumer's named barrier, so that the first one can start."""
        self.consumer, self.own, self.next = consumer, consumer + FIRST_TURN, reg.scalar(u32)
        last = consumer == consumers - 1
        ptx.selp(u32, self.next, FIRST_TURN, self.own + 1, last)
        ptx.bar.arrive(FIRST_TURN, 2 * GROUP, pred=last)

    def take(self) -> None:
        """Wait at this consumer's named barrier."""
        ptx.bar.sync(self.own, 2 * GROUP)

    def give(self) -> None:
        """Arrive at the next consumer's named barrier."""
        ptx.bar.arrive(self.next, 2 * GROUP)

    def close(self) -> None:
        """Wait, in the first consumer, for the last arrival at its named barrier, so that no arrival stays pending."""
        with ptx.if_(self.consumer == 0):
            ptx.bar.sync(FIRST_TURN, 2 * GROUP)


# --- softmax ----------------------------------------------------------------------------------------


class Softmax:
    """Online softmax of a thread's two rows: running maxima and sums, and the scale factors of the last step."""

    def __init__(self, scale: float, layout) -> None:
        """Initialize maxima and sums; `scale` turns scores into exponents of 2, `layout` is their fragment layout."""
        self.scale, self.layout = scale, layout
        self.maxima = [reg.scalar(f32, init=LOWEST) for _ in range(2)]
        self.sums = [reg.scalar(f32, init=0.0) for _ in range(2)]
        self.corrections = [reg.scalar(f32) for _ in range(2)]

    def rows(self, values: Iterable[Reg]) -> list[list[Reg]]:
        """Return the fragment elements in each of the thread's two rows; the rows are 8 apart."""
        held: list[list[Reg]] = [[], []]
        for i, value in enumerate(values):
            held[self.layout.row(0, i) // 8].append(value)
        return held

    def update(self, scores: RegArray) -> None:
        """Replace scores by probabilities 2 ** (scale · (score - maximum)), and add these to the running sums."""
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

    def correct(self, acc: RegArray) -> None:
        """Multiply the accumulator of the earlier steps by the scale factors of the last step."""
        for correction, elements in zip(self.corrections, self.rows(acc), strict=True):
            for value in elements:
                ptx.inst.mul.rn.f32(value, value, correction)

    def finish(self, acc: RegArray) -> list[Reg]:
        """Divide the O accumulator by the row sums (by 1 if no key was seen); return the rows' LSE (natural log)."""
        logarithms = []
        for peak, total, elements in zip(self.maxima, self.totals(), self.rows(acc), strict=True):
            inverse, logarithm = normalization(peak, total, self.scale)
            for value in elements:
                ptx.inst.mul.rn.f32(value, value, inverse)
            logarithms.append(logarithm)
        return logarithms

    def totals(self) -> list[Reg]:
        """Reduce the thread's two row sums over the quad that shares the rows, in place, and return them."""
        for total in self.sums:
            over_quad(ptx.inst.add.rn.f32, total)
        return self.sums
