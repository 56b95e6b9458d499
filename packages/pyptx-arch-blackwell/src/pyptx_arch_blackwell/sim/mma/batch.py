"""Outstanding tcgen05.mma: issued by threads, performed in order. Manual: "tcgen05.mma"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_blackwell.sim.copies import shifted
from pyptx_arch_blackwell.sim.matrices import located
from pyptx_arch_blackwell.sim.mma import sparse
from pyptx_arch_blackwell.sim.mma.numerics import sum_of
from pyptx_arch_blackwell.sim.mma.scales import scales_of
from pyptx_arch_blackwell.sim.pipeline import Piped
from pyptx_sim.extension.shared_matrices import CHUNK, offsets
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.operands import WIDEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_arch_blackwell.datapath import Rectangle
    from pyptx_arch_blackwell.descriptors import ZeroColumnMask
    from pyptx_arch_blackwell.sim.mma.elements import Decode
    from pyptx_arch_blackwell.sim.mma.plan import MmaPlan
    from pyptx_arch_blackwell.sim.tensor_memory import Words
    from pyptx_sim.extension import Array, AsyncIssue, IntArray, Mask
    from pyptx_sim.extension.shared_matrices import Extent

__all__ = ["MmaBatch"]

_HALF = 0xFFFF
_HELP = "clear the enable-input-d predicate for the first MMA of an accumulation"


@dataclass(slots=True, kw_only=True)
class MmaBatch(Piped):
    """MMAs issued by one instruction for some threads, one entry for each thread.

    `d` are the tensor memory addresses of D; `a` and `b` are the descriptors of A and B, or, for an A in tensor memory,
    its addresses. `adds`: whether the old D, divided by 2 to the power `divisor`, is added. `further` are the addresses
    of the scale factors of A and of B, and of the metadata of A, if the MMA has scale factors or metadata. `disabled`
    are the words of the mask of lanes that are not written; `zeros` are the columns of B that count as zero.
    """

    plan: MmaPlan
    d: IntArray
    a: NDArray[np.uint64]
    b: NDArray[np.uint64]
    adds: Mask
    further: tuple[IntArray, ...]
    disabled: Words
    divisor: int
    zeros: ZeroColumnMask | None

    def goes_on_in(self, following: AsyncIssue) -> bool:
        """Return whether the next outstanding operation, `following`, adds to the accumulators of these MMAs."""
        return (
            isinstance(following, MmaBatch)
            and following.plan is self.plan
            and not self.disabled.any()
            and not following.disabled.any()
            and not following.divisor
            and bool(following.adds.all())
            and np.array_equal(following.blocks, self.blocks)
            and np.array_equal(following.d, self.d)
        )

    def perform(self, further: Sequence[Piped]) -> None:
        """Perform these MMAs, and the `further` MMAs with the same accumulator."""
        plan, total = self.plan, sum_of(self.plan)
        parts = [each.factors() for each in (self, *further) if isinstance(each, MmaBatch)]
        sums = total(*parts[0], self._addend())
        for part in parts[1:]:
            sums = total(*part, WIDEN[plan.descriptor.d](_bits(sums)))
        if plan.descriptor.d == "f32":
            sums = canonical(sums)
        words = _bits(sums).astype(np.uint32, copy=False)
        self.tensor.write(self.blocks, self.d, plan.d, words, self._hidden())

    def factors(self) -> tuple[Array, ...]:
        """Return the elements of A, `[n, m, k]`, and of B, `[n, columns, k]`, then their scale factors, if any."""
        a, b = self._a(), self._b()
        if self.plan.opcode.sparse:
            a = sparse.dense(self, a, self.further[-1])
        return (a, b, *scales_of(self)) if self.plan.opcode.scaled else (a, b)

    def report(self, rule: str, message: str, help: str, count: int = 1) -> None:
        """Report a finding at the line of the tcgen05.mma."""
        self.wave.report(rule, message, self.pc, help=help, count=count)

    def _addend(self) -> Array:
        """Return the addend of A times B: the old accumulator, or zeros."""
        plan, adds = self.plan, self.adds
        if not adds.any():
            return np.zeros((1, 1, 1), np.int32 if plan.descriptor.d == "s32" else np.float32)
        half = plan.descriptor.d == "f16"
        unknown = self.tensor.unknown(self.blocks[adds], self.d[adds], plan.d, _HALF if half else 0xFFFFFFFF)
        if unknown is not None:
            message = "tcgen05.mma accumulates into uninitialized tensor memory"
            self.report("uninitialized-memory", message, _HELP, int(np.count_nonzero(unknown)))
        words = self.tensor.read(self.blocks, self.d, plan.d)
        values = WIDEN[plan.descriptor.d](words.astype(np.uint16) if half else words)
        if self.divisor:
            values = np.ldexp(values, -self.divisor)
        return values if adds.all() else np.where(adds[:, None, None], values, values.dtype.type(0))

    def _hidden(self) -> Mask | None:
        """Return which lanes of D the MMAs do not write, `[n, lanes]`; None if they write all lanes."""
        if not self.disabled.any():
            return None
        octets = np.ascontiguousarray(self.disabled).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)

    # --- operands A and B -------------------------------------------------------------------------

    def _a(self) -> Array:
        """Return the decoded elements of A, `[n, m, k]`."""
        plan = self.plan
        in_tensor = plan.opcode.in_tensor
        numbers = self._a_of_tensor() if in_tensor else self._shared(self.a, plan.a, plan.decoder("a"))
        return -numbers if plan.descriptor.negate_a else numbers

    def _a_of_tensor(self) -> Array:
        plan, addresses = self.plan, self.a.astype(np.int64)
        first, *others = (self._copy_of_a(addresses, copy) for copy in plan.a_copies)
        if any(not np.array_equal(first, other) for other in others):
            message = "operand A differs between lane groups that compute the same rows"
            help = "write the same rows of A to every lane group that computes columns of these rows"
            self.report("tcgen05-mma", message, help)
        words = shifted(first) if plan.opcode.shifted else first
        return plan.decoder("a")(words.view(np.uint8))

    def _copy_of_a(self, addresses: IntArray, copy: Sequence[Rectangle]) -> Words:
        unknown = self.tensor.unknown(self.blocks, addresses, copy)
        if unknown is not None:
            message = "tcgen05.mma reads uninitialized tensor memory as operand A"
            help = "write operand A first: tcgen05.st and tcgen05.wait::st, or tcgen05.cp"
            self.report("uninitialized-memory", message, help, int(np.count_nonzero(unknown)))
        return self.tensor.read(self.blocks, addresses, copy)

    @property
    def b_extent(self) -> Extent:
        """The part of B in each CTA, with the extra columns that an MMA with a shifted zero-column mask reads."""
        plan, zeros = self.plan, self.zeros
        return plan.b if zeros is None else replace(plan.b, mn=plan.b.mn + zeros.shift)

    def _b(self) -> Array:
        """Return the decoded elements of B, `[n, columns, k]`."""
        plan, zeros = self.plan, self.zeros
        numbers = self._shared(self.b, self.b_extent, plan.decoder("b"))
        if plan.descriptor.negate_b:
            numbers = -numbers
        if zeros is not None:
            numbers = numbers[:, zeros.shift : zeros.shift + plan.b.mn].copy()
            numbers[:, list(zeros.columns(plan.descriptor.m, plan.b.mn))] = 0
        return numbers

    def _shared(self, bits: NDArray[np.uint64], extent: Extent, decode: Decode) -> Array:
        """Return the decoded elements of matrices in shared memory, with the parts of a CTA pair concatenated."""
        shared = self.wave.shared
        parts: list[Array] = []
        for block in range(self.plan.opcode.blocks):
            index = offsets(located(bits, self.blocks + block, shared.stride), extent) // CHUNK
            data = shared.arena.chunks(index).view(np.uint8).reshape(*index.shape[:2], -1)
            numbers = decode(data)
            parts.append(numbers.swapaxes(1, 2) if extent.major == "MN" else numbers)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _bits(sums: Array) -> Array:
    """Return the bits of accumulator elements as unsigned integers."""
    return np.ascontiguousarray(sums).view(f"<u{sums.itemsize}")
