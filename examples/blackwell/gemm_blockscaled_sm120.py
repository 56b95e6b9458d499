"""Block-scaled GEMMs for consumer Blackwell (sm_120): `C = (A · scales) · (B · scales)ᵀ` with `mma.sync`.

- `gemm_mxfp8`: A and B in e4m3, a scale factor in ue8m0, a power of two, for every 32 elements of K;
- `gemm_nvfp4`: A and B in e2m1, two to a byte, the first in the low half, a scale factor in ue4m3 for every 16.

Ring and epilogue are those of `warp_mma.py`, and so are the fragments: elements of 4, 8 or 16 bits are all rows of
32 bytes. Only the scale factors are new. They are row-major, one row for each row of A and of B. A lane loads them from
global memory to registers, for the next stage while it computes the current one. A stage is short enough that one load,
of 4 or 16 bytes, covers its scale factors of a row.

`mma.sync` reads the scale factors of 16 rows of A from two lanes of each group of four, chosen by a selector, and those
of 8 columns of B from one. So 32 rows, or columns, fit one register: lane `4 * q + t` has row `8 * t + q`. For e4m3,
each step of a stage uses one byte, chosen by another selector; for e2m1, it uses all four.

A is M x K, B is N x K, with scale factors of M x K / 32 and N x K / 32 (or / 16), C is M x N in bf16. N is a multiple
of 8, K of 128 in `gemm_mxfp8` and of 256 in `gemm_nvfp4`, so the scale factors of a stage are one aligned load.

    python examples/blackwell/gemm_blockscaled_sm120.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.smem import SharedTile
from pyptx.types import PtxType, b8, b32, e2m1, e4m3, f32, ue4m3, ue8m0

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.blackwell import warp_mma
from examples.blackwell.warp_mma import BM, DEPTH, STAGES, STEP, WM, WN, Block, Ring, Rows, Warp

if TYPE_CHECKING:
    from pyptx.reg import Reg

STEPS = DEPTH // STEP
SHARING = 32  # rows of an operand whose scale factors share one register of a warp


@dataclass(frozen=True, slots=True)
class Format:
    """Types of elements and scale factors, and the types with which arrays store them.

    `words` is the number of registers (four scale factors each) per row and stage: one for all steps, or one per step.
    """

    element: PtxType
    scale: PtxType
    memory: tuple[PtxType, PtxType]
    kind: str
    words: int

    @property
    def depth(self) -> int:
        """Elements of a row in a stage."""
        return DEPTH * 8 // self.element_bits

    @property
    def element_bits(self) -> int:
        """Bits of an element: 4 for e2m1, which has two per byte."""
        return 4 if self.element == e2m1 else 8

    @property
    def per_scale(self) -> int:
        """Elements that share a scale factor."""
        return self.depth // (4 * self.words)

    @property
    def tile(self) -> SharedTile:
        """Layout of the stages of A, and of those of B."""
        return SharedTile(self.memory[0], (BM, DEPTH), stages=STAGES)


MXFP8 = Format(e4m3, ue8m0, (e4m3, ue8m0), "mxf8f6f4", words=1)
NVFP4 = Format(e2m1, ue4m3, (b8, b8), "mxf4nvf4", words=STEPS)
TYPES = {  # NumPy types of the elements and scale factors of each format
    MXFP8: (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu),
    NVFP4: (ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn),
}


class Scales:
    """Scale factors of a warp's rows of one operand, for the current and the next stage."""

    def __init__(self, form: Format, scales, first: Reg, lane: Reg, rows: int) -> None:
        """Load the first stage's scale factors of `rows` matrix rows from row `first`; 32 rows share a register."""
        count, width = scales.shape
        (pointer,) = ptx.global_ptrs(scales)
        row = first + (lane & 3) * 8 + (lane >> 2)
        starts = range(0, rows, SHARING)
        self._bytes = 4 * form.words
        self._at = [pointer + (row + start) * width for start in starts]
        self._inside = [row + start < count for start in starts]
        self._next = [[reg.scalar(b32, init=0) for _ in range(form.words)] for _ in starts]
        self.words = [[reg.scalar(b32) for _ in each] for each in self._next]
        self._fetch()

    def _fetch(self, more: Reg | None = None) -> None:
        """Load the scale factors of the next stage, if the matrix row is in bounds and `more` is true."""
        for pointer, inside, words in zip(self._at, self._inside, self._next, strict=True):
            ptx.ld(b32, words, ptx.addr(pointer), nc=True, pred=inside if more is None else inside & more)
            ptx.inst.add.s64(pointer, pointer, self._bytes)

    def advance(self, more: Reg) -> None:
        """Move to the scale factors of the next stage; if `more`, load those of the stage after it."""
        for words, following in zip(self.words, self._next, strict=True):
            for word, value in zip(words, following, strict=True):
                ptx.mov(b32, word, value)
        self._fetch(more)

    def of(self, block: int, step: int, rows: int) -> tuple[Reg, tuple[int, int]]:
        """Return the scale factors' register and its byte and thread selectors, for MMA `step` of row block `block`."""
        words = self.words[block * rows // SHARING]
        word, byte = (words[0], step) if len(words) == 1 else (words[step], 0)
        return word, (byte, block % (SHARING // rows))


def consume(form: Format, warp: Warp, ring: Ring, scales: tuple[Scales, Scales], steps: int) -> None:
    """Multiply stage after stage with scale factors, and accumulate the warp's 64 x 32 of C."""
    (of_a, of_b), size = scales, form.element_bits
    a = Rows(ring.a, form.tile, warp.lane, warp.row, WM)
    b = Rows(ring.b, form.tile, warp.lane, warp.column, WN, of_b=True)
    turn = ptx.pipeline(STAGES)
    for index in ptx.range_(0, steps):
        stage, phase = turn.advance()
        for each in scales:
            each.advance(index + 1 < steps)
        ptx.mbarrier.wait(ring.full[stage], phase)
        for step in range(STEPS):
            for d, left, right, (i, j) in warp.products(a.load(stage, step), b.load(stage, step)):
                ptx.mma.sync(
                    shape=(16, 8, STEP * 8 // size),
                    dtype_d=f32,
                    dtype_a=form.element,
                    dtype_b=form.element,
                    dtype_c=f32,
                    d=d,
                    a=left,
                    b=right,
                    c=d,
                    kind=form.kind,
                    scale_vec=f"{form.words}X",  # scale factors per operand row and MMA
                    dtype_scale=form.scale,
                    scale_a=of_a.of(i, step, 16),
                    scale_b=of_b.of(j, step, 8),
                )
        ring.release(stage, warp.lane)


def multiply(form: Format, a, b, sa, sb, c) -> None:
    """Emit the GEMM kernel of one format."""
    ring, block = Ring(form.tile, form.tile), Block.of(c)
    warp, steps = Warp(block), a.shape[1] // DEPTH
    if a.shape[1] % DEPTH or sa.shape[1] != 4 * form.words * steps:
        size = (a.shape[1] * form.depth // DEPTH, form.depth, form.per_scale)
        raise ValueError("K is {}: a multiple of {} is needed, with a scale per {} elements of A and B".format(*size))

    def fetch(step, stage, barrier) -> None:
        load = ptx.cp.async_.bulk.tensor_2d.shared_cta_global_tile
        for target, source, row in ((ring.a, a, block.row), (ring.b, b, block.column)):
            load(dst=target[stage], src=source, coord=(step * DEPTH, row), mbar=barrier)

    with ptx.if_((block.warp == warp_mma.PRODUCER) & ptx.elect_sync()):
        ring.produce(steps, fetch)
    with ptx.if_(block.warp < warp_mma.CONSUMERS):
        scales = (
            Scales(form, sa, block.row + warp.row, warp.lane, WM),
            Scales(form, sb, block.column + warp.column, warp.lane, WN),
        )
        consume(form, warp, ring, scales, steps)
    warp_mma.store(ring, c, block, lambda: warp.park(ring))
    ptx.ret()


def build(form: Format):
    """Return the kernel `gemm(a, b, scales of a, scales of b)` of one format; `K` is the bytes of a row of `a`, `b`."""
    factors = form.tile.tma_tile("M", "K"), form.tile.tma_tile("N", "K")
    scales = (Tile(rows, "S", form.memory[1], align=16) for rows in ("M", "N"))

    @kernel(
        in_specs=(*factors, *scales),
        out_specs=(warp_mma.C.tma_tile("M", "N"),),
        grid=warp_mma.blocks,
        block=warp_mma.THREADS,
        arch="sm_120a",
    )
    def gemm(a, b, sa, sb, c) -> None:
        multiply(form, a, b, sa, sb, c)

    return gemm


gemm_mxfp8, gemm_nvfp4 = build(MXFP8), build(NVFP4)


def quantize(form: Format, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix's elements (bytes) and scale factors: a block's largest magnitude over the largest element."""
    element, scale = TYPES[form]
    blocks = x.reshape(len(x), -1, form.per_scale)
    wanted = np.abs(blocks).max(axis=2) / float(ml_dtypes.finfo(element).max)
    if form.scale == ue8m0:
        wanted = np.exp2(np.ceil(np.log2(np.maximum(wanted, 2.0**-127))))
    scales = np.maximum(wanted, float(ml_dtypes.finfo(scale).smallest_subnormal)).astype(scale)
    elements = (blocks / scales.astype(np.float32)[..., None]).reshape(x.shape).astype(element)
    if form.element != e2m1:
        return elements, scales
    codes = elements.view(np.uint8)
    return codes[:, ::2] | codes[:, 1::2] << 4, scales


def dequantize(form: Format, values: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the values of a quantized matrix in float64."""
    element, scale = TYPES[form]
    if form.element == e2m1:
        values = np.stack([values & 15, values >> 4], axis=2).reshape(len(values), -1)
    numbers = values.view(element).astype(np.float64)
    return numbers * scales.view(scale).astype(np.float64).repeat(form.per_scale, axis=1)


def reference(form: Format, a, b, sa, sb) -> np.ndarray:
    """Return C, computed by NumPy in float64 from the dequantized matrices."""
    return dequantize(form, a, sa) @ dequantize(form, b, sb).T


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    for name, form, multiplied in (("gemm_mxfp8", MXFP8, gemm_mxfp8), ("gemm_nvfp4", NVFP4, gemm_nvfp4)):
        factors = [quantize(form, rng.standard_normal((rows, 512), dtype=np.float32)) for rows in (200, 136)]
        (a, sa), (b, sb) = factors
        expected = reference(form, a, b, sa, sb)
        error = np.abs(multiplied(a, b, sa, sb) - expected).max() / np.abs(expected).max()
        print(f"{name} 200x136x512: largest relative error {error:.2e}")


if __name__ == "__main__":
    main()
