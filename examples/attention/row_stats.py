"""STATS, the input of the attention gradients: two f32 per query, computed by a kernel of its own.

The values of each step (`TOGETHER` queries) are contiguous: the queries' exponent offsets (-LSE · log2(e)), then their
deltas. A delta is the sum of dO ∘ O over the query's row minus the gradient of its LSE. A query that does not exist or
sees no key has -inf and 0, so that its probabilities are 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from examples.attention.problem import LOG2_E, unflatten
from examples.attention.quads import CHUNK, QUAD, dot
from examples.attention.sides import STATS_BYTES, TOGETHER
from examples.overlap import ATTRIBUTES, take_over

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg

STATS_TILE = Tile("B", "Hq", "T", 2, TOGETHER, f32, align=2 * CHUNK)  # extent 2: -LSE · log2(e), and delta, of queries


def stats_specs(head_dim: int) -> tuple[Tile, ...]:
    """Return the input specs of the STATS kernel: O, dO, LSE, and the gradient of LSE."""
    queries, lse = Tile("B", "Sq", "Hq", head_dim, bf16, align=2 * CHUNK), Tile("B", "Hq", "Sq", f32)
    return queries, queries, lse, lse


def compute_stats(OUT, DOUT, LSE, DLSE, STATS) -> tuple[Reg, Reg]:
    """Compute STATS of `TOGETHER` queries (a step); return its index over (batch, head, step), and the thread index.

    Four lanes compute a query. `STATS` has elements for all steps of the CTAs that own queries.
    """
    _, present, heads, head_dim = OUT.shape
    thread = reg.from_(ptx.special.tid.x(), u32)
    row, part = thread >> 2, thread & (QUAD - 1)
    head, step, batch = unflatten(reg.from_(ptx.special.ctaid.x(), u32), heads, STATS.shape[2])  # heads vary fastest
    query = step * TOGETHER + row
    there = query.min(present - 1)
    line = ((batch * present + there) * heads + head) * (2 * head_dim) + part * (2 * CHUNK)
    delta = dot([pointer + line for pointer in ptx.global_ptrs(OUT, DOUT)], head_dim)
    place = ((batch * heads + head) * present + there) * 4
    total, gradient = reg.scalar(f32), reg.scalar(f32)
    for value, pointer in zip((total, gradient), ptx.global_ptrs(LSE, DLSE), strict=True):
        ptx.inst.ld.global_.f32(value, ptx.addr(pointer + place))
    silent = (query >= present) | (total == -math.inf)
    (stats,) = ptx.global_ptrs(STATS)
    line = (batch * heads + head) * STATS.shape[2] + step
    stats += line * STATS_BYTES + row * 4
    for which, (value, otherwise) in enumerate(((total * -LOG2_E, -math.inf), (delta - gradient, 0.0))):
        ptx.selp(f32, value, otherwise, value, silent)
        ptx.inst.st.global_.f32(ptx.addr(stats, which * TOGETHER * 4), value, pred=part == 0)
    return line, thread


def prepare_of(head_dim: int, *, arch: str, overlaps: bool = False) -> Kernel[tuple[Tile]]:
    """Return the kernel that computes STATS, for one head dimension and one architecture."""

    @kernel(
        in_specs=stats_specs(head_dim),
        out_specs=(STATS_TILE,),
        grid=lambda T, Hq, B: T * Hq * B,
        block=TOGETHER * QUAD,
        arch=arch,
        launch=ATTRIBUTES if overlaps else {},
    )
    def prepare_queries(OUT, DOUT, LSE, DLSE, STATS) -> None:
        """Compute STATS; its extent `T` is `steps_of(Sq)`, the number of groups of `TOGETHER` queries."""
        if overlaps:
            take_over()
        compute_stats(OUT, DOUT, LSE, DLSE, STATS)
        ptx.ret()

    return prepare_queries
