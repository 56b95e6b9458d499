"""Propagation of undefined bits from the inputs of wgmma to the accumulators.

Undefined bits in a row of A make this row of D undefined; undefined bits in a column of B make this column of D
undefined. An undefined accumulator element stays undefined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.wgmma.descriptors import located
from pyptx_sim.extension.shared_matrices import CHUNK, gather, offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_arch_hopper.sim.wgmma.batch import WgmmaBatch, WgmmaPlan
    from pyptx_arch_hopper.sim.wgmma.descriptors import Bits
    from pyptx_sim.extension import Array, ExecutionContext, IntArray, Mask, Operands, Origin, Warpgroups
    from pyptx_sim.extension.shared_matrices import Extent

_WORD = np.dtype("<u4")


class UndefinedAccumulators:
    """Undefined elements of the accumulators of one instruction."""

    def __init__(self, operands: Operands, plan: WgmmaPlan) -> None:
        """Look up the registers of D, and of A if A is in registers."""
        self._plan = plan
        self._d = operands.carried_in("d", "b32")
        self._a = () if plan.collect is None else operands.carried_in("a", "b32")
        self._partial_warps = operands.fragments()

    def leave(self, turn: ExecutionContext, warpgroups: Warpgroups, sums: Mask, origin: Origin) -> None:
        """Record which elements of D, `[n, 64, columns]`, are undefined after completion."""
        # Masks of undefined bits: an undefined element is -1 (all bits set), a defined element is 0.
        elements: Array = -sums.reshape(len(sums), -1).astype(f"<i{self._plan.distribution.bits // 8}")
        parts = (elements[:, each.reshape(-1)] for each in self._plan.distribution.elements)
        dealt: list[Array] = [np.ascontiguousarray(each).view(_WORD) for each in parts]
        turn.carry_undefined(self._d, [warpgroups.spread(each) for each in dealt], origin)

    def found(self, turn: ExecutionContext, warpgroups: Warpgroups, products: WgmmaBatch) -> tuple[Mask, Origin] | None:
        """Return which elements of D become undefined by MMAs issued now, and the `Origin` of their bits.

        None if A, B and D have no undefined bits, and all threads of the warpgroups execute the instruction.
        """
        plan, blocks = self._plan, products.blocks
        a = products.a
        rows = self._rows(turn, warpgroups) if a is None else _stored(turn, a, blocks, plan.a)
        columns = _stored(turn, products.b, blocks, plan.b)
        before = turn.undefined_in(self._d)
        added = before if products.adds.any() else None
        partial = turn.undefined_fragments(self._partial_warps)
        # Undefined bits of the old D are reported before those of A and B; if D is not an input, the MMA defines D.
        origins = [each[1] for each in (partial, added, rows, columns, before) if each is not None]
        if not origins:
            return None
        sums = np.zeros((len(products), 64, plan.product.columns), np.bool_)
        if rows is not None:
            sums |= rows[0][:, :, None]
        if columns is not None:
            sums |= columns[0][:, None, :]
        if added is not None:
            sums |= self._added(warpgroups, added[0]) & products.adds[:, None, None]
        if partial is not None:
            whole: Mask = np.logical_and.reduce(warpgroups.threads(turn.mask), axis=1)
            sums |= ~whole[:, None, None]
        return sums, origins[0]

    def _rows(self, turn: ExecutionContext, warpgroups: Warpgroups) -> tuple[Mask, Origin] | None:
        """Return which rows of an A in registers have undefined bits, `[n, 64]`, and their `Origin`; else None."""
        found = turn.undefined_in(self._a)
        if found is None or self._plan.collect is None:
            return None
        elements = self._plan.collect(self._registers(warpgroups, found[0]))[:, 0]
        return (elements != 0).any(axis=-1), found[1]

    def _added(self, warpgroups: Warpgroups, bits: list[NDArray[np.uint32] | None]) -> Mask:
        """Return which elements of D have undefined bits in registers, `[n, 64, columns]`."""
        distribution = self._plan.distribution
        sums = np.zeros((len(warpgroups), distribution.size), np.bool_)
        for each, register in zip(distribution.elements, self._registers(warpgroups, bits), strict=True):
            sums[:, each.reshape(-1)] = register.view(np.dtype(f"<u{distribution.bits // 8}")) != 0
        return sums.reshape(len(sums), 64, -1)

    def _registers(self, warpgroups: Warpgroups, bits: list[NDArray[np.uint32] | None]) -> list[Array]:
        """Return the undefined bits of registers of warpgroups, `[n, 128]` each."""
        none = np.zeros((len(warpgroups), 128), _WORD)
        return [none if each is None else np.ascontiguousarray(warpgroups.threads(each)) for each in bits]


def _stored(turn: ExecutionContext, bits: Bits, blocks: IntArray, extent: Extent) -> tuple[Mask, Origin] | None:
    """Return which rows or columns of matrices in shared memory have undefined bits, `[n, mn]`, and their `Origin`."""
    memory = turn.wave.shared
    matrices = located(bits, blocks)
    where = offsets(matrices, extent)
    written = memory.arena.written(where, CHUNK)
    if written is None or written.all() or memory.arena.shadow is None:
        return None
    first = int(where[~written][0])
    message = f"{CHUNK} bytes at {memory.describe_offset(first)}"
    origin = turn.origin("shared", first, message, label="read by wgmma.mma_async")
    defined = gather(memory.arena.shadow, matrices, extent, np.dtype(f"<u{max(extent.bits // 8, 1)}"))
    return (defined != ~defined.dtype.type(0)).any(axis=-1), origin
