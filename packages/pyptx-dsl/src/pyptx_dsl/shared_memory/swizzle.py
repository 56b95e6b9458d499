"""XOR swizzles of shared memory: bits of the row number permute the 16-byte chunks of a row.

Manual: "Tensor Swizzle Modes". The swizzle is a function of the address, so an allocation must be aligned to its
period.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import SharedMemoryError, close
from pyptx_dsl.types import u32
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace


@value
class Swizzle(Value):
    """The byte offset permutation `offset ^ (offset >> 3 & mask)`, which repeats every `period` bytes."""

    name: str
    mask: int
    period: int

    def apply(self, offset: int) -> int:
        """Return the swizzled byte offset for a row-major byte offset."""
        return offset ^ (offset >> 3 & self.mask)

    def emit(self, trace: Trace, offset: object) -> Reg:
        """Emit the three instructions (`shr`, `and`, `xor`) that swizzle an offset in a register."""
        result, bits = trace.fresh(u32), trace.fresh(u32)
        trace.emit(("shr", "u32"), (bits, offset, 3))
        trace.emit(("and", "b32"), (bits, bits, self.mask))
        trace.emit(("xor", "b32"), (result, offset, bits))
        return result


SWIZZLES = {
    row.name: row for row in (Swizzle("32B", 0x10, 256), Swizzle("64B", 0x30, 512), Swizzle("128B", 0x70, 1024))
}


def find_swizzle(name: str | None) -> Swizzle | None:
    """Return the Swizzle named `name`; None if `name` is None or `"none"`."""
    if name is None or str(name).lower() == "none":
        return None
    found = SWIZZLES.get(name)
    if found is None:
        raise SharedMemoryError(f"unknown swizzle {name!r}", help=close(str(name), tuple(SWIZZLES)))
    return found
