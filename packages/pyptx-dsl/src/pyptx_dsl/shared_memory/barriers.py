"""Arrays of mbarrier objects in shared memory, and the addresses of the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterIndexError
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.shared_memory.allocations import SharedAddress, index_register
from pyptx_dsl.types import u32
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.tracing.memories import MemoryRegion
    from pyptx_dsl.tracing.trace import Trace

BARRIER_BYTES = 8
"""An mbarrier object is opaque, 64 bits wide and aligned to 8 bytes. Manual: "mbarrier"."""


class MbarrierArray:
    """`count` mbarrier objects of 8 bytes each; `[i]` is object i."""

    __slots__ = ("count", "region", "trace")

    def __init__(self, region: MemoryRegion, count: int, trace: Trace) -> None:
        """Store the name, offset and count of mbarriers in the trace's shared memory layout."""
        self.region = region
        self.count = count
        self.trace = trace

    @property
    def name(self) -> str:
        """Symbol of the mbarrier array, if the kernel's shared allocations are static variables."""
        return self.region.name

    @property
    def byte_offset(self) -> int:
        """Offset in bytes from the start of the kernel's shared allocations."""
        return self.region.offset

    def __len__(self) -> int:
        """Return the number of mbarriers in the array."""
        return self.count

    def __iter__(self) -> Iterator[MbarrierRef]:
        """Iterate over the mbarriers of the array."""
        return (MbarrierRef(self, index) for index in range(self.count))

    def __getitem__(self, index: object) -> MbarrierRef:
        """Return mbarrier `idx`; a register index emits two instructions, a number is range-checked."""
        return MbarrierRef(self, index)

    def __repr__(self) -> str:
        """Return the array's name and number of mbarriers as text."""
        return f"MbarrierArray({self.name!r}, {self.count})"

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the symbol operand, the address of the first mbarrier."""
        return SharedAddress(self.name, 0, self.trace).__ptx_operand__(trace)


class MbarrierRef(SharedAddress):
    """One mbarrier object of an array; `byte_offset` is the distance from the array's symbol."""

    __slots__ = ("array", "idx")

    def __init__(self, array: MbarrierArray, idx: object) -> None:
        """Compute the address of mbarrier `idx`; a register index emits `mov` and `mad`."""
        self.array = array
        self.idx = idx
        if isinstance(idx, Handle):
            address = array.trace.fresh(u32)
            array.trace.emit(("mov", "u32"), (address, tree.Symbol(array.name)))
            array.trace.emit(("mad", "lo", "u32"), (address, index_register(idx), BARRIER_BYTES, address))
            super().__init__(array.name, 0, array.trace, address)
            return
        number = as_count(idx)
        if number is None:
            raise OperandError(f"cannot index mbarriers with {idx!r}", help="index with an int or an integer register")
        if not -array.count <= number < array.count:
            raise RegisterIndexError(f"mbarrier index {number} is out of range for {array.name} of size {array.count}")
        super().__init__(array.name, number % array.count * BARRIER_BYTES, array.trace)

    def __repr__(self) -> str:
        """Return the array's name and the index as text."""
        return f"MbarrierRef({self.array.name!r}[{self.idx!r}])"
