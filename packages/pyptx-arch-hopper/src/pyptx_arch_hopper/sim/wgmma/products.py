"""Products of warpgroups on their way: issued together by four warps, completing when the engine says so.

Manual: "Asynchronous Multiply-and-Accumulate Instruction: wgmma.mma_async".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.wgmma.accumulators import Accumulators
from pyptx_arch_hopper.sim.wgmma.described import WGMMA
from pyptx_sim.extension import WARPGROUP
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.shared_matrices import Extent, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx_arch_hopper.sim.wgmma.described import WarpgroupProduct
    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.asynchrony.engine import Item
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.memory.shared_matrices import SharedMatrix
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

    Located = tuple[SharedMatrix, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one instruction multiplies, and how.

    `slots` are the registers of d. `collect` makes a matrix of the registers of a; `split` makes elements of bytes;
    `widen` makes numbers of the elements of d, a and b; `select` picks what a sparse a meets; `total` sums.
    """

    product: WarpgroupProduct
    slots: tuple[int, ...]
    a: Extent
    b: Extent
    collect: Callable[[Sequence[Array]], Array] | None
    widen: tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]
    select: Callable[[Array, Array], Array] | None
    total: Callable[[Array, Array, Array], Array]


@dataclass(slots=True)
class Products:
    """The products that one instruction has issued, one entry for each of some warpgroups.

    `numbers` are their groups; `a` and `b` say where the matrices lie, `registers` hold an a that is not in shared
    memory, `[n, 128]` each, and `metadata` that of a sparse one. `adds`: d is added to.
    """

    wave: Wave
    pc: int
    plan: Plan
    warpgroups: IntArray
    numbers: IntArray
    a: list[Located] | None
    b: list[Located]
    registers: tuple[Array, ...]
    metadata: Array | None
    adds: Mask
    group: GroupKind | None = WGMMA
    item_id: int = 0

    def __len__(self) -> int:
        """Return how many products have not completed."""
        return len(self.warpgroups)

    @property
    def warps(self) -> IntArray:
        """The warps of each product, `[n, 4]`."""
        return self.wave.geometry.warpgroups.warps[self.warpgroups]

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return which products belong to groups that any of their warps has waited for: they finish together."""
        del reads
        return np.asarray(self.numbers < groups.done[self.warps, 0].max(axis=1))

    def signals(self) -> Iterable[int]:
        """Return no mbarrier."""
        return ()

    def read(self) -> None:
        """Do nothing: nobody waits for the reads alone."""

    def complete(self, which: Mask | None) -> None:
        """Let the products complete that the same warpgroups issued before, then multiply."""
        chosen = np.arange(len(self)) if which is None else np.flatnonzero(which)
        if not len(chosen):
            return
        accumulators, product = self.wave.part(Accumulators), self.plan.product
        bank = accumulators.bank(self.plan.slots, product.d, product.columns)
        groups, adds = self.warpgroups[chosen], self.adds[chosen]

        def theirs(item: Item) -> Mask | None:
            return np.isin(item.warpgroups, groups) if isinstance(item, Products) and len(item) else None

        self.wave.engine.complete_before(self.item_id, theirs)
        c = bank.sums(groups) if adds.any() else np.zeros((1, 1, 1), f"<u{product.d.bits // 8}")
        addend = self.plan.widen[0](c)
        if not adds.all():
            addend = np.where(adds[:, None, None], addend, addend.dtype.type(0))
        sums = self._multiply(chosen, addend)
        accumulators.change(bank, groups, sums)
        self._keep(np.delete(np.arange(len(self)), chosen))

    def _multiply(self, chosen: IntArray, addend: Array) -> Array:
        """Return the sums of some products, those that share a matrix b computed as one."""
        b, owners = self._b(chosen)
        a = self._a(chosen)
        if self.plan.select is not None and self.metadata is not None:
            return self._sparse(a, self.plan.select, self.metadata[chosen], b[owners], addend)
        count, columns = len(b), self.plan.product.columns
        together = len(chosen) // count
        if together * count != len(chosen) or (owners != np.repeat(np.arange(count), together)).any():
            b, count, together = b[owners], len(chosen), 1
        addend = np.broadcast_to(addend, (len(chosen), a.shape[1], columns))
        return self.plan.total(a.reshape(count, -1, a.shape[2]), b, addend.reshape(count, -1, columns))

    def _sparse(
        self, a: Array, select: Callable[[Array, Array], Array], metadata: Array, b: Array, addend: Array
    ) -> Array:
        """Return the sums with a sparse a, warp by warp: each row meets elements of b of its own."""
        n, rows, stored = a.shape
        warps, columns = n * WARPGROUP, self.plan.product.columns
        met = select(metadata.reshape(warps, WARP), np.repeat(b, WARPGROUP, axis=0)[:, None])
        addend = np.broadcast_to(addend, (n, rows, columns)).reshape(warps, 1, -1, columns)
        return self.plan.total(a.reshape(warps, 1, -1, stored), met, addend)

    def _a(self, chosen: IntArray) -> Array:
        """Return the numbers of a, `[n, 64, k]`."""
        plan = self.plan
        if plan.collect is not None:
            bits = plan.collect([register[chosen] for register in self.registers])[:, 0]
        else:
            matrices = self.a or []
            bits = self._load([matrices[position] for position in chosen.tolist()], plan.a)
        numbers = plan.widen[1](bits)
        return -numbers if plan.product.negates[0] else numbers

    def _b(self, chosen: IntArray) -> tuple[Array, IntArray]:
        """Return the numbers of the distinct b, `[m, columns, k]`, and which of them each product has."""
        plan = self.plan
        found: dict[Located, int] = {}
        owners = [found.setdefault(self.b[position], len(found)) for position in chosen.tolist()]
        numbers = plan.widen[2](self._load(list(found), plan.b))
        return -numbers if plan.product.negates[1] else numbers, np.array(owners, np.int64)

    def _load(self, matrices: list[Located], extent: Extent) -> Array:
        arena = self.wave.memories["shared"].arena
        elements = gather(arena, matrices, extent, np.dtype(f"<u{max(extent.bits // 8, 1)}"))
        return elements if extent.bits >= 8 else np.unpackbits(elements, axis=-1, bitorder="little")

    def _keep(self, left: IntArray) -> None:
        self.warpgroups, self.numbers, self.adds = self.warpgroups[left], self.numbers[left], self.adds[left]
        self.registers = tuple(register[left] for register in self.registers)
        self.metadata = None if self.metadata is None else self.metadata[left]
        self.a = None if self.a is None else [self.a[position] for position in left.tolist()]
        self.b = [self.b[position] for position in left.tolist()]
