"""The contract between instructions of warpgroups and the engine: products of matrices that are computed later.

A semantics row of a plugin may bind an instruction to one of these values instead of an `Operation`. They say what is
multiplied and where it lies; the engine reads, multiplies in its own time, and watches over the order.

Manual: "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.fragments import Fragment

Major: TypeAlias = Literal["K", "MN"]
"""The dimension along which the elements of a matrix lie side by side."""


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """A matrix in shared memory as a descriptor tells of it; all numbers are bytes.

    `leading` and `stride` are the leading and the stride dimension byte offset. `swizzle` is the width of a panel: 128,
    64 or 32, or 16 without a swizzle. `base` is the row of the swizzle's pattern that counts as its first.
    Manual: "Strides", "Matrix Descriptor Format".
    """

    start: int
    leading: int
    stride: int
    swizzle: int
    base: int = 0


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


WarpgroupAction: TypeAlias = WarpgroupProduct | RegisterFence | CommitGroup | WaitGroup
