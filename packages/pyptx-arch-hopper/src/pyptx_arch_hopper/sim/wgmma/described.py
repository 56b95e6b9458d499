"""What instructions of warpgroups say: what is multiplied and where it lies, and what is waited for.

Manual: "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_sim.extension import GroupKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.fragments import Fragment
    from pyptx_sim.machine.memory.shared_matrices import Major, SharedMatrix


@dataclass(frozen=True, slots=True)
class WarpgroupProduct:
    """The product of four warps: d = a b, or a b + d. Operands are d, a, b, then metadata and selector of a sparse a.

    `types` are the elements of d, a and b; d has 64 rows and `columns`, and `depth` is K of b. `d` and `a` lay out
    registers over the 128 threads; `a` is None if a descriptor in shared memory stands in its place, as always for b.
    Of a layout with more elements than the operand has registers, the first ones are there. `read` makes a descriptor
    readable. `majors` are those of a and b. `negates`: a and b count with the opposite sign. `selector` names the
    threads that hold the metadata of a sparse a, None if it is dense; `scale` is the number of the operand that says
    whether d is added to. `operation` is `"and"` for products of bits.
    """

    types: tuple[str, str, str]
    columns: int
    depth: int
    d: Fragment
    a: Fragment | None
    read: Callable[[int], SharedMatrix]
    scale: int
    majors: tuple[Major, Major] = ("K", "K")
    negates: tuple[bool, bool] = (False, False)
    selector: int | None = None
    saturates: bool = False
    operation: str = ""


@dataclass(frozen=True, slots=True)
class RegisterFence:
    """What orders accesses to registers before products that use them. Manual: "wgmma.fence"."""


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """What closes a group of products. Manual: "wgmma.commit_group"."""


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """What waits for all groups but the `latest` ones. Manual: "wgmma.wait_group"."""

    latest: int


WGMMA: Final = GroupKind(
    name="wgmma", operations="products (wgmma)", unfinished="unfinished-product", issued_by="warpgroup"
)
WarpgroupAction: TypeAlias = WarpgroupProduct | RegisterFence | CommitGroup | WaitGroup
