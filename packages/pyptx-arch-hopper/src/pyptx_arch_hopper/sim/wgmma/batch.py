"""Outstanding wgmma: issued together by the four warps of a warpgroup.

Manual: "Asynchronous Multiply-and-Accumulate Instruction: wgmma.mma_async".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.wgmma.descriptors import located
from pyptx_sim.extension import WARP, WARPGROUP, AsyncIssue
from pyptx_sim.extension.shared_matrices import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyptx_arch_hopper.sim.wgmma.described import WgmmaDescription
    from pyptx_sim.extension import Array, Groups, IntArray, Mask
    from pyptx_sim.extension.deferred import Distribution
    from pyptx_sim.extension.shared_matrices import Extent, Located
    from pyptx_sim.numerics.dot_products import SparseSum, Sum


@dataclass(frozen=True, slots=True)
class WgmmaPlan:
    """Static properties of one wgmma instruction.

    `slots` are the indices of D's registers, and `distribution` is the layout of D. `a` and `b` are the sizes of A and
    B. `collect` converts the registers of A to a matrix; `widen` converts the elements of D, A and B to floats or
    integers. `total` computes the dot products, `sparse_total` the dot products with a sparse A.
    """

    product: WgmmaDescription
    slots: tuple[int, ...]
    distribution: Distribution
    a: Extent
    b: Extent
    collect: Callable[[Sequence[Array]], Array] | None
    widen: tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]
    total: Sum
    sparse_total: SparseSum | None


@dataclass(slots=True, kw_only=True)
class WgmmaBatch(AsyncIssue):
    """MMAs issued by one instruction, one MMA for each warpgroup in `warpgroups`.

    `a` and `b` are the matrix descriptors, `blocks` the simulator's offsets of the CTAs' shared memory. If A is in
    registers, `fragments` returns its registers, each `[issued MMAs, 128]`, and `places` are the indices of this
    batch's MMAs among the issued MMAs. `metadata` is the metadata of a sparse A. `adds`: whether D is an input. `warps`
    has the first warp of each warpgroup.
    """

    plan: WgmmaPlan
    warpgroups: IntArray
    blocks: IntArray
    a: NDArray[np.uint64] | None
    b: NDArray[np.uint64]
    fragments: Callable[[], Sequence[Array]]
    places: IntArray
    metadata: tuple[Array, ...]
    adds: Mask

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return which MMAs are in wgmma groups that a warp waited for: a warpgroup's four warps complete together."""
        del reads
        warps = self.warps[:, None] + np.arange(WARPGROUP)
        return np.asarray(self.numbers < groups.done[warps, 0].max(axis=1))

    def move(self) -> None:
        """Complete earlier MMAs of the same warpgroups, then compute these MMAs."""
        self.complete_earlier(self._theirs)
        plan, deferred = self.plan, self.wave.deferred
        matrix = deferred.matrix(plan.slots, plan.distribution, self.wave.geometry.warpgroups.warps)
        shape = len(self), -1, plan.product.columns
        c: Array = np.zeros((1, 1, 1), f"<u{plan.distribution.bits // 8}")
        if self.adds.any():
            c = matrix.values(self.warpgroups).reshape(shape)
        addend = plan.widen[0](c)
        if not self.adds.all():
            addend = np.where(self.adds[:, None, None], addend, addend.dtype.type(0))
        deferred.set(matrix, self.warpgroups, self._multiply(addend))

    def _theirs(self, item: object) -> Mask | None:
        if not isinstance(item, WgmmaBatch) or not len(item):
            return None
        return np.isin(item.warpgroups, self.warpgroups)

    def _multiply(self, addend: Array) -> Array:
        """Return the new accumulators; MMAs with the same operand B are computed as one MMA."""
        b, owners = self._b()
        a = self._a()
        if self.plan.sparse_total is not None:
            return self._sparse(a, self.plan.sparse_total, b[owners], addend)
        count, columns = len(b), self.plan.product.columns
        together = len(self) // count
        if together * count != len(self) or (owners != np.repeat(np.arange(count), together)).any():
            b, count, together = b[owners], len(self), 1
        addend = np.broadcast_to(addend, (len(self), a.shape[1], columns))
        return self.plan.total(a.reshape(count, -1, a.shape[2]), b, addend.reshape(count, -1, columns))

    def _sparse(self, a: Array, total: SparseSum, b: Array, addend: Array) -> Array:
        """Return the new accumulators for a sparse A, warp by warp: each row of A selects elements of B."""
        n, rows, stored = a.shape
        warps, columns = n * WARPGROUP, self.plan.product.columns
        metadata, b = self.metadata[0].reshape(warps, WARP), np.repeat(b, WARPGROUP, axis=0)[:, None]
        addend = np.broadcast_to(addend, (n, rows, columns)).reshape(warps, 1, -1, columns)
        return total(metadata, a.reshape(warps, 1, -1, stored), b, addend)

    def _a(self) -> Array:
        """Return the element values of A, `[n, 64, k]`."""
        plan = self.plan
        if self.a is not None:
            bits = self._load(located(self.a, self.blocks), plan.a)
        else:
            assert plan.collect is not None  # noqa: S101 - A is in shared memory, or in registers
            bits = plan.collect([each[self.places] for each in self.fragments()])[:, 0]
        numbers = plan.widen[1](bits)
        return -numbers if plan.product.negates[0] else numbers

    def _b(self) -> tuple[Array, IntArray]:
        """Return the element values of the distinct Bs, `[m, columns, k]`, and the index of each MMA's B among them."""
        plan = self.plan
        found: dict[Located, int] = {}
        owners = [found.setdefault(each, len(found)) for each in located(self.b, self.blocks)]
        numbers = plan.widen[2](self._load(list(found), plan.b))
        return -numbers if plan.product.negates[1] else numbers, np.array(owners, np.int64)

    def _load(self, matrices: list[Located], extent: Extent) -> Array:
        arena = self.wave.shared.arena
        elements = gather(arena, matrices, extent, np.dtype(f"<u{max(extent.bits // 8, 1)}"))
        return elements if extent.bits >= 8 else np.unpackbits(elements, axis=-1, bitorder="little")
