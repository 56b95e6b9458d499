"""Operands of wgmma and their layouts.

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
class WgmmaDescription:
    """MMA of a warpgroup, d = a b or a b + d, as the instruction table describes it.

    `types` are the elements of d, a and b; d has 64 rows and `columns`, and `depth` is K of b. `d` and `a` are the
    layouts of registers over the 128 threads; `a` is None if a descriptor in shared memory replaces it, as always for
    b. If a layout has more elements than the operand has registers, only the first elements exist. `majors` are the
    majors of a and b. `negates`: whether a and b are negated. `selector` selects the threads that provide the metadata
    of a sparse a, None if it is dense. `operation` is `"and"` for b1.
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
    operations="wgmma groups",
    unfinished="unfinished-wgmma",
    issued_by="warpgroup",
    wait="wgmma.wait_group in all four warps, then a barrier",
)
