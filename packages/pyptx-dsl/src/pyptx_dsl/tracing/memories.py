"""Where allocations lie in the memories of a block: names, offsets, and of shared memory whether static or dynamic.

Offsets of shared memory are counted in order of allocation from the start, in both modes, so a layout gives the same
addresses whether it is declared as static variables or as one dynamic symbol. Which of both it is, is decided when the
trace ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from pyptx_dsl.errors import AllocationError, SharedMemoryError
from pyptx_dsl.registers.operands import as_count
from pyptx_ir.plugins.memories import find_memory
from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["Memories", "MemoryLayout", "MemoryRegion", "SharedLayout"]


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """One allocation: `bytes` bytes at `offset`; `name` is its symbol where it is declared by itself."""

    name: str
    bytes: int
    alignment: int
    offset: int


class MemoryLayout:
    """All allocations of one trace in one memory."""

    __slots__ = ("alignment", "bytes", "regions", "space")

    fault: ClassVar[type[AllocationError]] = AllocationError

    def __init__(self, space: str) -> None:
        """Start with none."""
        self.space = space
        self.regions: list[MemoryRegion] = []
        self.bytes = 0
        self.alignment = find_memory(space).alignment

    def allocate(
        self, trace: Trace, size: int, alignment: int | None = None, *, name: str | None = None, stem: str | None = None
    ) -> MemoryRegion:
        """Append `size` bytes at the next aligned offset, called `name`, or `stem` and a number.

        Raise AllocationError (of shared memory SharedMemoryError) for a size or an alignment that makes no sense, and
        when a block on the target has not so much.
        """
        memory = find_memory(self.space)
        aligned, wanted = as_count(memory.alignment if alignment is None else alignment), as_count(size)
        if wanted is None or wanted < 1:
            raise self.fault(f"cannot allocate {size!r} bytes of {memory.words}")
        if aligned is None or aligned < 1 or aligned & (aligned - 1):
            raise self.fault(f"an alignment is a power of two, not {alignment!r}")
        offset = -(-self.bytes // aligned) * aligned
        self._refuse_more(trace, offset + wanted)
        symbol = self._symbol(trace, name, stem or self.space, declared=memory.declared)
        region = MemoryRegion(symbol, wanted, aligned, offset)
        self.regions.append(region)
        self.alignment = max(self.alignment, aligned)
        self.bytes = offset + wanted
        return region

    def beside(self) -> int:
        """Return how many bytes the kernel has besides the allocations."""
        return 0

    def _refuse_more(self, trace: Trace, allocated: int) -> None:
        memory, target, total = find_memory(self.space), find_target(trace.target), allocated + self.beside()
        limit = memory.limit(target)
        if not limit:
            raise self.fault(f"{target.name} has no {memory.words}", hint="choose a target that has it as arch=")
        if total > limit:
            raise self.fault(
                f"kernel {trace.name!r} needs {total} bytes of {memory.words} with this; "
                f"a block on {target.name} has {limit // 1024} KiB ({limit} bytes)",
                hint=memory.hint,
            )

    def _symbol(self, trace: Trace, name: str | None, stem: str, *, declared: bool) -> str:
        if name is None:
            return trace.fresh_symbol(stem, self.space) if declared else f"{stem}_{len(self.regions)}"
        if not (isinstance(cast("object", name), str) and name.isidentifier() and name.isascii()):
            raise self.fault(f"{name!r} cannot name an allocation", hint="use an ASCII identifier")
        if declared:
            trace.claim_symbol(name, self.space)
        return name


class SharedLayout(MemoryLayout):
    """All shared allocations of one trace, and the dynamic shared memory that the kernel is declared with."""

    __slots__ = ("base_symbol", "dynamic_bytes", "force_dynamic")

    fault = SharedMemoryError

    def __init__(self) -> None:
        """Start with none; `base_symbol` and `dynamic_bytes` come from the kernel's `extern_smem` and `smem`."""
        super().__init__("shared")
        self.base_symbol: str | None = None
        self.dynamic_bytes = 0
        self.force_dynamic = False

    def beside(self) -> int:
        """Return how many bytes of the kernel's own stand in front of the allocations."""
        return 0 if self.base_symbol is None else self.dynamic_bytes


class Memories:
    """What one trace has allocated, memory by memory."""

    __slots__ = ("_others", "shared")

    def __init__(self) -> None:
        """Start with nothing allocated."""
        self.shared = SharedLayout()
        self._others: dict[str, MemoryLayout] = {}

    def of(self, space: str) -> MemoryLayout:
        """Return the allocations in a memory; raise MissingPluginError for one that no plugin has."""
        if space == self.shared.space:
            return self.shared
        if space not in self._others:
            self._others[space] = MemoryLayout(space)
        return self._others[space]

    def declared(self) -> Iterator[MemoryLayout]:
        """Yield the memories, shared memory apart, whose allocations are variables."""
        return (layout for layout in self._others.values() if find_memory(layout.space).declared)
