"""What a product of warpgroups multiplies, and where that lies.

Manual: "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import GroupKind

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment
    from pyptx_sim.extension.shared_matrices import Major


@dataclass(frozen=True, slots=True)
class WarpgroupProduct:
    """The product of four warps: d = a b, or a b + d.

    `types` are the elements of d, a and b; d has 64 rows and `columns`, and `depth` is K of b. `d` and `a` lay out
    registers over the 128 threads; `a` is None if a descriptor in shared memory stands in its place, as always for b.
    Of a layout with more elements than the operand has registers, the first ones are there. `majors` are those of a and
    b. `negates`: a and b count with the opposite sign. `selector` names the threads that hold the metadata of a sparse
    a, None if it is dense. `operation` is `"and"` for products of bits.
    """

    types: tuple[str, str, str]
    columns: int
    depth: int
    d: Fragment
    a: Fragment | None
    majors: tuple[Major, Major] = ("K", "K")
    negates: tuple[bool, bool] = (False, False)
    selector: int | None = None
    saturates: bool = False
    operation: str = ""


WGMMA: Final = GroupKind(
    name="wgmma",
    operations="products (wgmma)",
    unfinished="unfinished-product",
    issued_by="warpgroup",
    wait="wgmma.wait_group in all four warps, and then an order of the threads",
)
