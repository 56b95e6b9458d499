"""Static properties of one tcgen05.mma, from its opcode and its instruction descriptor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal

from pyptx_arch_blackwell import mma
from pyptx_arch_blackwell.datapath import LANES, Rectangle, accumulator
from pyptx_arch_blackwell.descriptors import InstructionDescriptor
from pyptx_arch_blackwell.layouts.scale_factors import ScaleFactors, scale_factors
from pyptx_arch_blackwell.layouts.sparsity import Metadata, metadata, sparsity_of
from pyptx_arch_blackwell.sim.mma.elements import Decode, memory_bits, shared_decoder, tensor_decoder
from pyptx_sim.extension.shared_matrices import Extent

if TYPE_CHECKING:
    from pyptx_ir.fragments.sparse import Sparsity

__all__ = ["MmaPlan", "Opcode", "plan_of"]

_WORD_BITS: Final = 32
Operand = Literal["a", "b"]
_OPERANDS: Final[tuple[Operand, ...]] = ("a", "b")


@dataclass(frozen=True, slots=True)
class Opcode:
    """Decoded modifiers of a tcgen05.mma; `vector`: block size of scale factors, `in_tensor`: A is in tensor memory.

    `exact`: the target whose results are reproduced bit for bit; None for any result within error bounds.
    """

    kind: str
    blocks: int
    sparse: bool = False
    stationary: bool = False
    scaled: bool = False
    vector: str = ""
    in_tensor: bool = False
    shifted: bool = False
    exact: str | None = None


@dataclass(frozen=True)
class MmaPlan:
    """An MMA of one CTA or a CTA pair: `descriptor` has its types and shape, `opcode` its modifiers."""

    opcode: Opcode
    descriptor: InstructionDescriptor

    @cached_property
    def d(self) -> tuple[Rectangle, ...]:
        """Layout of the accumulator in tensor memory."""
        op, it = self.opcode, self.descriptor
        return accumulator(it.m, it.n, blocks=op.blocks, sparse=op.sparse, stationary=op.stationary)

    @property
    def rows(self) -> int:
        """Number of rows of A and D in each CTA."""
        return self.descriptor.m // self.opcode.blocks

    @property
    def stored(self) -> int:
        """Number of stored elements in each row of A."""
        return self.descriptor.depth // (2 if self.opcode.sparse else 1)

    @cached_property
    def a(self) -> Extent:
        """Rows and stored elements per row of the part of A in each CTA."""
        it = self.descriptor
        return Extent(self.rows, self.stored, memory_bits(it.kind), "MN" if it.a_major == "MN" else "K")

    @cached_property
    def b(self) -> Extent:
        """Columns and K of the part of B in each CTA."""
        it = self.descriptor
        columns = it.n // self.opcode.blocks
        return Extent(columns, it.depth, memory_bits(it.kind), "MN" if it.b_major == "MN" else "K")

    @cached_property
    def a_copies(self) -> tuple[tuple[Rectangle, ...], ...]:
        """Layout of A in tensor memory: each row in the lane of the same row of D, elements packed into columns.

        If several lane groups compute different columns of the same rows, each lane group has its own copy of A.
        """
        words = self.stored * memory_bits(self.descriptor.kind) // _WORD_BITS
        parts = sorted({each.n for each in self.d})
        return tuple(tuple(replace(each, n=0, columns=words) for each in self.d if each.n == part) for part in parts)

    @cached_property
    def further(self) -> tuple[tuple[Rectangle, ...], ...]:
        """Rectangles of the scale factors of A and B, in all lanes, and of the metadata, in D's lanes."""
        lanes = tuple(Rectangle(block, 0, LANES, 0, 1, 0) for block in range(self.opcode.blocks))
        held = [(lanes, self.scales(each).columns) for each in _OPERANDS] if self.opcode.scaled else []
        held += [(self.d, self.metadata.columns)] if self.opcode.sparse else []
        return tuple(
            tuple(replace(each, n=n, columns=1, column=column) for each in where for n, column in enumerate(columns))
            for where, columns in held
        )

    def decoder(self, operand: Operand) -> Decode:
        """Return the decoder of operand A or B."""
        it = self.descriptor
        in_tensor = operand == "a" and self.opcode.in_tensor
        return (tensor_decoder if in_tensor else shared_decoder)(it.kind, getattr(it, operand))

    def scales(self, operand: Operand) -> ScaleFactors:
        """Return the layout of an operand's scale factors in each CTA."""
        op, it = self.opcode, self.descriptor
        identifier = it.scale_a_id if operand == "a" else it.scale_b_id
        return scale_factors(
            operand, it.kind, op.vector, m=it.m, n=it.n, k=it.depth, group=op.blocks, identifier=identifier
        )

    @cached_property
    def metadata(self) -> Metadata:
        """Layout of the metadata of a sparse A in each CTA."""
        op, it = self.opcode, self.descriptor
        selector = it.selector if it.scale is None else 0
        return metadata(it.kind, m=it.m, group=op.blocks, weight_stationary=op.stationary, selector=selector)

    def check(self) -> None:
        """Raise ValueError if the descriptor's scale factor IDs or sparsity selector are invalid."""
        if self.opcode.scaled:
            self.scales("a")
            self.scales("b")
        if self.opcode.sparse:
            self.metadata  # noqa: B018 - cached property

    @property
    def sparsity(self) -> Sparsity:
        """Sparsity pattern of A."""
        return sparsity_of(self.descriptor.kind)


@lru_cache(maxsize=1024)
def plan_of(opcode: Opcode, bits: int) -> MmaPlan:
    """Return the `MmaPlan` of an MMA with these instruction descriptor bits; raise ValueError for an invalid MMA."""
    descriptor = InstructionDescriptor.decode(opcode.kind, bits)
    if descriptor.sparse != opcode.sparse:
        kind, opcode_has = ("sparse", "no .sp") if descriptor.sparse else ("dense", ".sp")
        raise ValueError(f"the MMA is {kind}, but the opcode has {opcode_has}")
    mma.check(descriptor, cta_group=opcode.blocks, ws=opcode.stationary)
    if opcode.in_tensor and descriptor.a_major == "MN":
        raise ValueError("A is MN-major, must be K-major in tensor memory")
    plan = MmaPlan(opcode, descriptor)
    plan.check()
    return plan
