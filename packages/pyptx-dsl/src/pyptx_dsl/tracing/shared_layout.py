"""Where shared allocations lie: names, offsets, and static or dynamic.

Offsets are counted in order of allocation from the start, in both modes, so a layout gives the same addresses whether
it is declared as static variables or as one dynamic symbol. Which of both it is, is decided when the trace ends.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedRegion:
    """One allocation: `bytes` bytes at `offset`, under the symbol `name` in the static layout."""

    name: str
    bytes: int
    alignment: int
    offset: int


class SharedLayout:
    """All shared allocations of one trace."""

    __slots__ = ("alignment", "base_symbol", "dynamic_bytes", "force_dynamic", "regions", "static_bytes")

    def __init__(self) -> None:
        """Start with none; `base_symbol` and `dynamic_bytes` come from the kernel's `extern_smem` and `smem`."""
        self.regions: list[SharedRegion] = []
        self.static_bytes = 0
        self.alignment = 128
        self.base_symbol: str | None = None
        self.dynamic_bytes = 0
        self.force_dynamic = False

    def place(self, name: str, size: int, alignment: int) -> SharedRegion:
        """Append an allocation at the next aligned offset."""
        offset = -(-self.static_bytes // alignment) * alignment
        region = SharedRegion(name, size, alignment, offset)
        self.regions.append(region)
        self.alignment = max(self.alignment, alignment)
        self.static_bytes = offset + size
        return region
