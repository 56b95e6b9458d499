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
    """MMA of a warpgroup, D = A · B or A · B + D, with the properties in its row of the instruction table.

    `types` are the element types of D, A and B. D has 64 rows and `columns` columns, and `depth` is K of B. `d` and `a`
    are the layouts of the registers of D and A over the 128 threads; `a` is None if A, like B, is in shared memory. If
    a layout has more elements than the operand has registers, only the first elements exist. `majors` are the majors of
    A and B. `negates`: whether A and B are negated. `selector` selects the threads that provide the metadata of a
    sparse A, and is None for a dense A. `operation` is `"and"` for b1.
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
