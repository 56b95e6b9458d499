"""What the kernels of attention share: the problem, how tiles of one head come and go, and their products.

Arrays are dense, [batch, sequence, heads, head_dim]. TMA sees all four dimensions, so a tile of rows of one head is a
box, and rows beyond the sequence are zero when they come and left out when they go.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from pyptx import Tile, ptx, reg, smem
from pyptx.types import PtxType, b16, b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where this file is run by itself

from examples.hopper.attention_plans import GROUP, ROWS, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx import TensorSpec
    from pyptx.reg import Reg, RegArray
    from pyptx.smem import MbarrierRef, SharedAlloc, SharedSlice, SharedTile

WARPS = GROUP // 32
LOG2_E = math.log2(math.e)
CHUNK = 8  # bf16 in 16 bytes, the widest ordinary load
QUAD = 4  # lanes that share a row of sums
FIRST_TURN = 1  # the first of the named barriers of the turns; barrier 0 is the whole block's
LOWEST = -1e30  # below every score, and finite: the difference of two maxima is never inf - inf


class Types(TypedDict):
    """The types of a product, as `mma_async` takes them."""

    dtype_d: PtxType
    dtype_a: PtxType
    dtype_b: PtxType


TYPES: Types = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}


@dataclass(frozen=True, slots=True)
class Problem:
    """What a specialisation knows: sizes, whether queries see all keys, and the scale of the scores.

    With `causal`, query i sees the keys up to i + `ahead`: the last query sees all of them. `shared` heads of queries
    share a head of keys.
    """

    queries: int
    keys: int
    heads: int
    heads_of_keys: int
    causal: bool
    scale: float

    @property
    def ahead(self) -> int:
        """How many keys beyond its own number a query sees, if causal."""
        return self.keys - self.queries

    @property
    def shared(self) -> int:
        """How many heads of queries share a head of keys."""
        return self.heads // self.heads_of_keys

    @property
    def scale2(self) -> float:
        """The scale of scores as exponents of 2."""
        return self.scale * LOG2_E

    def steps(self, behind: Reg, size: int) -> Reg | int:
        """Return how many steps of `size` keys hold all that a query before `behind` sees; at least one."""
        every = -(-self.keys // size)
        if not self.causal:
            return every
        return divided((behind + (self.ahead + size - 1)).max(size), size).min(every)

    def whole_steps(self, first: Reg, size: int) -> Reg | int:
        """Return how many steps of `size` keys, from key 0 on, every query from `first` on sees whole."""
        every = self.keys // size
        if not self.causal:
            return every
        return divided((first + (self.ahead + 1)).max(0), size).min(every)


def problem_of(q, k, scale: float | None, *, causal: bool) -> Problem:
    """Read the sizes of Q and K; raise ValueError for heads that do not divide, or a scale that is not positive.

    The scale is 1 / sqrt(head_dim) unless another is given.
    """
    (_, queries, heads, head_dim), (_, keys, heads_of_keys, _) = q.shape, k.shape
    if heads % heads_of_keys:
        raise ValueError(f"{heads} heads of Q do not share {heads_of_keys} heads of K and V evenly")
    scale = head_dim**-0.5 if scale is None else scale
    if not scale > 0:  # a score of -inf hides a key, which another sign would turn round
        raise ValueError(f"scores are scaled by {scale}; the scale is positive")
    return Problem(queries, keys, heads, heads_of_keys, causal, scale)


@dataclass(frozen=True, slots=True)
class Place:
    """A head of a batch, and the first of some of its rows, in 32-bit registers."""

    head: Reg
    batch: Reg
    row: Reg


def thread_of_group() -> Reg:
    """Return the number of this thread in its warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) & (GROUP - 1)


class Ring:
    """The stages of a tile with their barriers: `full` counts the bytes that come, `empty` the warps that have read."""

    def __init__(self, layout: SharedTile, readers: int) -> None:
        """Allocate; `readers` warps arrive at `empty`."""
        self.layout, self.readers = layout, readers
        self.tiles = smem.tile(layout)
        self.full, self.empty = smem.mbarrier(layout.stages), smem.mbarrier(layout.stages)

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, 1)
            ptx.mbarrier.init(empty, self.readers)


def heads_tile(layout: SharedTile, sequence: str, heads: str) -> Tile:
    """Return the Tile of [B, sequence, heads, head_dim] whose boxes are the panels of `layout`, rows of one head."""
    rows, columns = layout.tma_box
    shape = ("B", sequence, heads, layout.panels * columns)
    return Tile(*shape, bf16, layout=layout.tma_layout, tma_box=(1, rows, 1, columns))


def boxes(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, place: Place) -> list[tuple[SharedSlice, tuple]]:
    """Return for each panel of a stage its address and its coordinates, innermost first."""
    panels = [(panel,) for panel in range(layout.panels)] if layout.panels > 1 else [()]
    return [
        (tiles[stage, *panel], (number * layout.panel_columns, place.head, place.row, place.batch))
        for number, panel in enumerate(panels)
    ]


def fetch_maps(*tensors: TensorSpec) -> None:
    """Fetch tensor maps, for one thread: the first copies need not wait for them, as they would in a short kernel."""
    for tensor in tensors:
        ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))


def load(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: Place, full: MbarrierRef) -> None:
    """Start the copies of a stage from the rows of `place`; `full` has been told how many bytes come."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d(dst=address, src=tensor, coord=at, mbar=full)


def store(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: Place) -> None:
    """Start the copies of a stage to the rows of `place` as a group."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d.store(dst=tensor, src=address, coord=at)
    ptx.cp.async_.bulk.commit_group()


def stage_rows(sums: RegArray, layout: SharedTile, tiles: SharedAlloc, stage: Reg, thread: Reg) -> None:
    """Round the sums of a warpgroup to bf16 and write them to a stage of shared memory, 16 columns at a time."""
    lane = thread & 31
    row, side = (thread >> 5) * 16 + (lane & 15), (lane >> 4) * 8
    packed = reg.array(b32, 4)
    for column in range(0, layout.shape[1], 16):
        first = column // 2  # 16 columns are 8 registers
        round_pairs(packed, sums[first : first + 8])
        panel, inside = divmod(column, layout.panel_columns)
        which = (stage,) if layout.panels == 1 else (stage, panel)
        ptx.stmatrix(smem=tiles.address(*which, row, side + inside), regs=packed, layout="x4")


def round_pairs(packed: RegArray, values: RegArray | Sequence[Reg]) -> None:
    """Round sums to bf16, two to a register: so they are the first factor of a product, in the same layout."""
    for i, pair in enumerate(packed):
        ptx.inst.cvt.rn.bf16x2.f32(pair, values[2 * i + 1], values[2 * i])


def dot(rows: list[Reg], head_dim: int) -> Reg:
    """Return the sum of the products of two rows, in each of the four lanes that share them, by 16 bytes at a time."""
    total, words = reg.scalar(f32, init=0.0), [reg.array(b32, CHUNK // 2) for _ in rows]
    for first in range(0, head_dim, QUAD * CHUNK):
        for loaded, row in zip(words, rows, strict=True):
            ptx.inst.ld.global_.v4.b32(loaded, ptx.addr(row, 2 * first))
        for pair in zip(*words, strict=True):
            for left, right in zip(*map(unpacked, pair), strict=True):
                ptx.inst.fma.rn.f32(total, left, right, total)
    over_quad(ptx.inst.add.rn.f32, total)
    return total


def unpacked(pair: Reg) -> list[Reg]:
    """Return the two bf16 of a register as f32."""
    halves, wide = [reg.scalar(b16) for _ in range(2)], [reg.scalar(f32) for _ in range(2)]
    ptx.inst.mov.b32(halves, pair)
    for half, value in zip(halves, wide, strict=True):
        ptx.inst.cvt.f32.bf16(value, half)
    return wide


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


def settled(peak: Reg, total: Reg, scale: float) -> tuple[Reg, Reg]:
    """Return what to multiply a row by, 1 / total (1 if no key was seen), and the natural logarithm of its sum."""
    inverse, logarithm = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.rcp.approx.ftz.f32(inverse, total)
    ptx.selp(f32, inverse, inverse, 1.0, total != 0.0)
    ptx.inst.lg2.approx.ftz.f32(logarithm, total)
    ptx.inst.fma.rn.f32(logarithm, peak, scale, logarithm)
    ptx.inst.mul.rn.f32(logarithm, logarithm, 1 / LOG2_E)
    return inverse, logarithm


def over_quad(combine: Callable[[Reg, Reg, Reg], object], value: Reg) -> None:
    """Combine a value over the four lanes that share a row of sums."""
    other = reg.scalar(f32)
    for distance in (1, 2):
        ptx.shfl.sync.bfly(other, value, distance)
        combine(value, value, other)


def probabilities(q, k, *, causal: bool, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the softmax of the scores of [B, H, S, D] arrays, and the logarithms of its sums, in float64."""
    scores = q @ k.swapaxes(2, 3) * scale
    if causal:
        queries, keys = scores.shape[2:]
        scores[:, :, ~np.tri(queries, keys, keys - queries, dtype=bool)] = -np.inf
    peak = np.maximum(scores.max(3, keepdims=True), LOWEST)
    weights = np.exp(scores - peak)
    total = weights.sum(3, keepdims=True)
    with np.errstate(divide="ignore"):
        return weights / np.where(total > 0, total, 1), (peak + np.log(total))[..., 0]
