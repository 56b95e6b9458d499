"""Placement of a kernel's allocations in the memories of a CTA: names and offsets; shared memory: static or dynamic.

Offsets in shared memory are assigned in order of allocation. So an allocation has the same address as a static variable
and as a part of one dynamic symbol. Static or dynamic is chosen when the trace ends.
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
    """One allocation: `bytes` bytes at `offset`; `name` is its symbol if it is declared as its own variable."""

    name: str
    bytes: int
    alignment: int
    offset: int


class MemoryLayout:
    """Allocations of one trace in one memory, such as shared memory."""

    __slots__ = ("alignment", "bytes", "regions", "space")

    fault: ClassVar[type[AllocationError]] = AllocationError

    def __init__(self, space: str) -> None:
        """Start a memory without allocations; `space` is its name."""
        self.space = space
        self.regions: list[MemoryRegion] = []
        self.bytes = 0
        self.alignment = find_memory(space).alignment

    def allocate(
        self, trace: Trace, size: int, alignment: int | None = None, *, name: str | None = None, stem: str | None = None
    ) -> MemoryRegion:
        """Append `size` bytes at the next aligned offset, named `name`, or `stem` with a number.

        Raises AllocationError (for shared memory SharedMemoryError) for an invalid size or alignment, and if the
        allocations exceed the target's limit per CTA.
        """
        memory = find_memory(self.space)
        aligned, wanted = as_count(memory.alignment if alignment is None else alignment), as_count(size)
        if wanted is None or wanted < 1:
            raise self.fault(f"cannot allocate {size!r} bytes of {memory.words}")
        if aligned is None or aligned < 1 or aligned & (aligned - 1):
            raise self.fault(f"the alignment must be a power of two, got {alignment!r}")
        offset = -(-self.bytes // aligned) * aligned
        self._refuse_more(trace, offset + wanted)
        symbol = self._symbol(trace, name, stem or self.space, declared=memory.declared)
        region = MemoryRegion(symbol, wanted, aligned, offset)
        self.regions.append(region)
        self.alignment = max(self.alignment, aligned)
        self.bytes = offset + wanted
        return region

    def beside(self) -> int:
        """Return the number of bytes of this memory that the kernel uses in addition to its allocations."""
        return 0

    def _refuse_more(self, trace: Trace, allocated: int) -> None:
        memory, target, total = find_memory(self.space), find_target(trace.target), allocated + self.beside()
        limit = memory.limit(target)
        if not limit:
            raise self.fault(f"{target.name} has no {memory.words}", help="pass another target as arch=")
        if total > limit:
            raise self.fault(
                f"kernel {trace.name!r} needs {total} bytes of {memory.words}; a CTA on {target.name} has "
                f"{limit // 1024} KiB ({limit} bytes)",
                help=memory.help,
            )

    def _symbol(self, trace: Trace, name: str | None, stem: str, *, declared: bool) -> str:
        if name is None:
            return trace.fresh_symbol(stem, self.space) if declared else f"{stem}_{len(self.regions)}"
        if not (isinstance(cast("object", name), str) and name.isidentifier() and name.isascii()):
            raise self.fault(f"invalid allocation name {name!r}", help="use an ASCII identifier")
        if declared:
            trace.claim_symbol(name, self.space)
        return name


class SharedLayout(MemoryLayout):
    """Shared allocations of one trace, and the declared dynamic shared memory of the kernel."""

    __slots__ = ("base_symbol", "dynamic_bytes", "force_dynamic")

    fault = SharedMemoryError

    def __init__(self) -> None:
        """Start without allocations; `base_symbol` and `dynamic_bytes` are the kernel's `extern_smem` and `smem`."""
        super().__init__("shared")
        self.base_symbol: str | None = None
        self.dynamic_bytes = 0
        self.force_dynamic = False

    def beside(self) -> int:
        """Return the bytes of dynamic shared memory (`smem=`) that precede the allocations at `extern_smem`."""
        return 0 if self.base_symbol is None else self.dynamic_bytes


class Memories:
    """The MemoryLayout of each memory of one trace."""

    __slots__ = ("_others", "shared")

    def __init__(self) -> None:
        """Start all memories without allocations."""
        self.shared = SharedLayout()
        self._others: dict[str, MemoryLayout] = {}

    def of(self, space: str) -> MemoryLayout:
        """Return the MemoryLayout of a memory; raise MissingPluginError if no plugin defines the memory."""
        if space == self.shared.space:
            return self.shared
        if space not in self._others:
            self._others[space] = MemoryLayout(space)
        return self._others[space]

    def declared(self) -> Iterator[MemoryLayout]:
        """Yield the MemoryLayouts, except that of shared memory, whose allocations are declared as variables."""
        return (layout for layout in self._others.values() if find_memory(layout.space).declared)
