"""What the kernels of attention's gradients are told of each query: two numbers, which a kernel of its own computes.

The numbers of `TOGETHER` queries lie together: what is added to exponents (-LSE, as a power of 2), then delta, the sum
of dO ∘ O over the query's row less the gradient of its LSE. Where there is no query, or one that saw no key, they are
-inf and 0, so that its probabilities are 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from examples.attention.problem import LOG2_E, dealt
from examples.attention.quads import CHUNK, QUAD, dot
from examples.attention.sides import TOGETHER, TOLD_BYTES
from examples.overlap import ATTRIBUTES, take_over

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg

TOLD_TILE = Tile("B", "Hq", "T", 2, TOGETHER, f32, align=2 * CHUNK)  # two numbers of each query


def told_specs(head_dim: int) -> tuple[Tile, ...]:
    """Return what the numbers are computed of: O, dO, LSE, and the gradients of LSE."""
    queries, sums = Tile("B", "Sq", "Hq", head_dim, bf16, align=2 * CHUNK), Tile("B", "Hq", "Sq", f32)
    return queries, queries, sums, sums


def tell(OUT, DOUT, LSE, DLSE, TOLD) -> tuple[Reg, Reg]:
    """Compute the numbers of a step, by four lanes to a query; return its line of (batch, head, step), and the thread.

    `TOLD` has room for as many steps as the queries' blocks have.
    """
    _, present, heads, head_dim = OUT.shape
    thread = reg.from_(ptx.special.tid.x(), u32)
    row, part = thread >> 2, thread & (QUAD - 1)
    head, step, batch = dealt(reg.from_(ptx.special.ctaid.x(), u32), heads, TOLD.shape[2])  # heads lie side by side
    query = step * TOGETHER + row
    there = query.min(present - 1)
    line = ((batch * present + there) * heads + head) * (2 * head_dim) + part * (2 * CHUNK)
    delta = dot([pointer + line for pointer in ptx.global_ptrs(OUT, DOUT)], head_dim)
    place = ((batch * heads + head) * present + there) * 4
    total, gradient = reg.scalar(f32), reg.scalar(f32)
    for value, pointer in zip((total, gradient), ptx.global_ptrs(LSE, DLSE), strict=True):
        ptx.inst.ld.global_.f32(value, ptx.addr(pointer + place))
    silent = (query >= present) | (total == -math.inf)
    (told,) = ptx.global_ptrs(TOLD)
    line = (batch * heads + head) * TOLD.shape[2] + step
    told += line * TOLD_BYTES + row * 4
    for which, (value, otherwise) in enumerate(((total * -LOG2_E, -math.inf), (delta - gradient, 0.0))):
        ptx.selp(f32, value, otherwise, value, silent)
        ptx.inst.st.global_.f32(ptx.addr(told, which * TOGETHER * 4), value, pred=part == 0)
    return line, thread


def prepare_of(head_dim: int, *, arch: str, overlaps: bool = False) -> Kernel[tuple[Tile]]:
    """Return the kernel that computes them, for one head dimension and one architecture."""

    @kernel(
        in_specs=told_specs(head_dim),
        out_specs=(TOLD_TILE,),
        grid=lambda T, Hq, B: T * Hq * B,
        block=TOGETHER * QUAD,
        arch=arch,
        launch=ATTRIBUTES if overlaps else {},
    )
    def prepare_queries(OUT, DOUT, LSE, DLSE, TOLD) -> None:
        """Compute them; `T` is how many steps the queries' blocks have."""
        if overlaps:
            take_over()
        tell(OUT, DOUT, LSE, DLSE, TOLD)
        ptx.ret()

    return prepare_queries
