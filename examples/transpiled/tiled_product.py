"""GEMM in tiles of 16 x 16, written in Python for Numba: its PTX, transpiled and cleaned by hand.

Source: `multiply` of `corpus/sources/numba/kernels.py`, by numba-cuda 0.30 for sm_90a: C = A · B in f32, of any shape.
Indices have 64 bits, and a negative one counts from the end, as in Python: `from_end` computes the correction.

Cleaned by hand: names of 250 characters are put together from parts; the nine parameters of an array are an `Array`;
negative indices, bounds, and the sixteen steps of a tile are functions and a loop. `pyptx diff` of the source and
`module.ptx()` is empty.

    python examples/transpiled/tiled_product.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import pyptx
from pyptx import ptx, reg
from pyptx.types import b8, b32, b64, f32, pred, u64
from pyptx_sim import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pyptx.reg import Reg

SOURCE = "numba-0.30/kernels.sm_90a.multiply.ptx"
_MANGLED = (
    "7kernels8multiplyB2v1B102cw51cXTLSUwv1sDUaKthqaNgoKOgnqiuqaOAFAC24LAFBjFabNuCUh5EGJKwkARQEwtMAsnxttXqsCBVt1KARo06U"
    "BLIM67VBAA_3d" + "E5ArrayIfLi2E1C7mutable7aligned" * 3 + "E"
)
ENTRY = f"_ZN{_MANGLED}"
TILE = 16
FIELDS = 9  # per array: two owners, array size, element size, pointer, two extents, two strides
POINTER, ROWS, COLUMNS = 4, 5, 6

SIGNED = {
    b32: "and.b32 shr.u32 mul.wide.s32",
    b64: "add.s64 and.b64 mul.lo.s64 shl.b64 shr.s64 setp.ge.s64 setp.gt.s64",
}

module = pyptx.module(version=(9, 5), target="sm_90a")
module.var("global", f"_ZN08NumbaEnv{_MANGLED}", u64, align=8, linking="common")
left = module.var("shared", "_cudapy_smem_1", b8, 4 * TILE * TILE, align=4, linking="visible")
right = module.var("shared", "_cudapy_smem_2", b8, 4 * TILE * TILE, align=4, linking="visible")


def long() -> Reg:
    """Return a fresh 64-bit register."""
    return reg.scalar(b64)


def exact(longs: int, *more: Reg) -> AbstractContextManager[None]:
    """Open a block where each operator emits one signed instruction, `longs` of them to a fresh 64-bit register."""
    return ptx.expr(temps=(*(long() for _ in range(longs)), *more), spelling=SIGNED)


@dataclass(frozen=True, slots=True)
class Array:
    """Matrix in global memory."""

    pointer: Reg
    rows: Reg
    columns: Reg

    @classmethod
    def loaded(cls, names: Sequence[str]) -> Array:
        """Load pointer and extents of an array from its parameters."""
        return cls(*(ptx.inst.ld.param.u64(long(), ptx.addr(names[field])) for field in (POINTER, ROWS, COLUMNS)))


def position(axis: str) -> tuple[Reg, Reg]:
    """Emit 6 instructions: the index of a thread along x or y, in its CTA and in the grid."""
    special = [getattr(getattr(ptx.special, name), axis)() for name in ("tid", "ntid", "ctaid")]
    thread, threads, block = reg.array(b32, 3)
    own = ptx.inst.cvt.s64.s32(long(), ptx.inst.mov.u32(thread, special[0]))
    ptx.inst.mov.u32(threads, special[1])
    ptx.inst.mov.u32(block, special[2])
    with exact(2):
        return own, threads * block + own


def from_end(index: Reg, extent: Reg) -> Reg:
    """Emit 2 instructions: `extent` if the index is negative, else 0."""
    with exact(2):
        return (index >> 63) & extent


def at(pointer: Reg, element: Reg) -> Reg:
    """Emit 2 instructions: the address of an element."""
    with exact(2):
        return pointer + (element << 2)


def corrected(thread: Reg, word: Reg) -> Reg:
    """Emit 4 instructions: the rest of that correction for the index of a thread, which is never negative."""
    sign = ptx.inst.and_.b32(reg.scalar(b32), word, -(1 << 31))
    extent = ptx.inst.shr.u32(reg.scalar(b32), sign, 27)
    wide = ptx.inst.cvt.u64.u32(long(), extent)
    return ptx.inst.add.s64(long(), wide, thread)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Shared addresses of a thread: its element of both tiles, and the start of its row and of its column of them."""

    own_left: Reg
    own_right: Reg
    row: Reg
    column: Reg


@dataclass(frozen=True, slots=True)
class Problem:
    """Operands A and B, the element of C that a thread computes, and its position in the tile."""

    a: Array
    b: Array
    row: Reg
    column: Reg
    y: Reg
    x: Reg


def tiles_of(problem: Problem) -> tuple[Tiles, Reg, Reg, Reg]:
    """Compute a thread's addresses, the first step, and the loop-invariant parts of the operand indices."""
    words = [ptx.inst.cvt.u32.u64(reg.scalar(b32), index) for index in (problem.x, problem.y)]
    y, x = corrected(problem.y, words[1]), corrected(problem.x, words[0])
    with exact(3):
        own = ((y << 4) + x) << 2
    base = ptx.inst.mov.u64(long(), left)
    own_left = ptx.inst.add.s64(long(), base, own)
    step = ptx.inst.mov.u64(long(), 0)
    with exact(2):
        a_row = (from_end(problem.row, problem.a.rows) + problem.row) * problem.a.columns
    with exact(1):
        b_column = from_end(problem.column, problem.b.columns) + problem.column
    other = ptx.inst.mov.u64(long(), right)
    with exact(5):
        own_right = other + own
        row = base + (y << 6)
        return Tiles(own_left, own_right, row, other + (x << 2)), step, a_row, b_column


def fetch_left(problem: Problem, pointer: Reg, k: Reg, a_row: Reg, zero: Reg) -> Reg:
    """Load a thread's element of the left tile, or 0 outside A."""
    value, (below, behind) = reg.scalar(f32), reg.array(pred, 2)
    with ptx.block() as done:
        ptx.inst.setp.ge.s64(below, problem.row, problem.a.rows)
        ptx.inst.mov.f32(value, zero)
        ptx.break_(done, pred=below)
        column = ptx.inst.add.s64(long(), k, problem.x)
        ptx.inst.setp.ge.s64(behind, column, problem.a.columns)
        ptx.inst.mov.f32(value, zero)
        ptx.break_(done, pred=behind)
        wrapped = from_end(column, problem.a.columns)
        with exact(2):
            element = (column + a_row) + wrapped
        ptx.inst.ld.global_.f32(value, ptx.addr(at(pointer, element)))
    return value


def fetch_right(problem: Problem, pointer: Reg, k: Reg, b_column: Reg) -> Reg:
    """Load a thread's element of the right tile, or 0 outside B."""
    value, (below, behind, outside) = reg.scalar(f32), reg.array(pred, 3)
    row = ptx.inst.add.s64(long(), k, problem.y)
    ptx.inst.setp.ge.s64(below, row, problem.b.rows)
    ptx.inst.setp.ge.s64(behind, problem.column, problem.b.columns)
    ptx.inst.mov.f32(value, 0.0)
    with ptx.if_(~ptx.inst.or_.pred(outside, behind, below)):
        with exact(3):
            element = b_column + (from_end(row, problem.b.rows) + row) * problem.b.columns
        ptx.inst.ld.global_.f32(value, ptx.addr(at(pointer, element)))
    return value


def multiply_tiles(tiles: Tiles, total: Reg) -> None:
    """Add the dot product of a row and a column of the tiles to `total`."""
    partial = total
    for i in range(TILE):
        b, a = reg.array(f32, 2)
        ptx.inst.ld.shared.f32(b, ptx.addr(tiles.column, 4 * TILE * i or None))
        ptx.inst.ld.shared.f32(a, ptx.addr(tiles.row, 4 * i or None))
        target = total if i == TILE - 1 else reg.scalar(f32)
        partial = ptx.inst.fma.rn.f32(target, a, b, partial)


def multiply(problem: Problem, steps: Reg, any_steps: Reg, total: Reg) -> None:
    """Accumulate over all pairs of tiles; like Numba, count the remaining steps down, and the step number up."""
    tiles, step, a_row, b_column = tiles_of(problem)
    left_over = ptx.inst.add.s64(long(), steps, ptx.inst.selp.s64(long(), -1, 0, any_steps))
    a, b = (ptx.inst.cvta.to.global_.u64(long(), array.pointer) for array in (problem.a, problem.b))
    zero = ptx.inst.mov.f32(reg.scalar(f32), 0.0)
    following, more = ptx.inst.mov.u64(long(), 1), reg.scalar(pred)
    ptx.inst.mov.f32(total, zero)
    with ptx.loop(pred=more):
        current = ptx.inst.mov.u64(long(), following)
        k = ptx.inst.shl.b64(long(), step, 4)
        ptx.inst.st.shared.f32(ptx.addr(tiles.own_left), fetch_left(problem, a, k, a_row, zero))
        ptx.inst.st.shared.f32(ptx.addr(tiles.own_right), fetch_right(problem, b, k, b_column))
        ptx.inst.bar.sync(0)
        multiply_tiles(tiles, total)
        ptx.inst.bar.sync(0)
        ptx.inst.setp.gt.s64(more, left_over, 0)
        ptx.inst.add.s64(following, current, ptx.inst.selp.u64(long(), 1, 0, more))
        ptx.inst.add.s64(left_over, left_over, ptx.inst.selp.b64(long(), -1, 0, more))
        ptx.inst.mov.u64(step, current)


def store(c: Array, row: Reg, column: Reg, total: Reg) -> None:
    """Store a thread's element of C, if it is inside."""
    below, behind, outside = reg.array(pred, 3)
    ptx.inst.setp.ge.s64(behind, column, c.columns)
    ptx.inst.setp.ge.s64(below, row, c.rows)
    with ptx.if_(~ptx.inst.or_.pred(outside, below, behind)):
        with exact(1):
            y = from_end(row, c.rows) + row
        with exact(1):
            x = from_end(column, c.columns) + column
        with exact(2):
            element = x + y * c.columns
        pointer = ptx.inst.cvta.to.global_.u64(long(), c.pointer)
        ptx.inst.st.global_.f32(ptx.addr(at(pointer, element)), total)


@module.entry(ENTRY, [u64] * (3 * FIELDS), linking="visible")
def product(*params: str) -> None:
    """C = A · B, one element per thread."""
    a, b, c = (Array.loaded(params[FIELDS * i : FIELDS * (i + 1)]) for i in range(3))
    (y, row), (x, column) = position("x"), position("y")
    with exact(1):
        last = a.columns + (TILE - 1)
    steps = ptx.inst.shr.u64(long(), last, 4)
    total, (some, none) = reg.scalar(f32), reg.array(pred, 2)
    ptx.inst.setp.ne.s64(some, steps, 0)
    ptx.inst.setp.eq.s64(none, steps, 0)
    ptx.inst.mov.f32(total, 0.0)
    with ptx.if_(~none):
        multiply(Problem(a, b, row, column, y, x), steps, some, total)
    store(c, row, column, total)
    ptx.inst.ret()


def fields(array: NDArray[np.generic]) -> list[Any]:
    """Return the arguments that Numba passes for an array."""
    return [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]


def reference(a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return A · B in float64."""
    return a.astype(np.float64) @ b.astype(np.float64)


def main() -> None:
    """Run it on the simulator, and print the largest error."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((20, 40), (40, 35)))
    c = np.zeros((20, 35), np.float32)
    args = [*fields(a), *fields(b), *fields(c)]
    run(module.module(), entry=ENTRY, args=args, grid=(2, 3), block=(TILE, TILE), checks="all")
    print(f"20 x 40 by 40 x 35: largest error {np.abs(c - reference(a, b)).max():.3g}")


if __name__ == "__main__":
    main()
