"""Rule `other-variable`: an access outside the module variable from which its address is formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.machine.lanes import pick
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.machine.memory.spaces import SharedMemory
from pyptx_sim.program.provenance import BOUNDED, Variable
from pyptx_sim.program.windows import RANK_SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.program.scopes import Placement

    Target = Callable[[Wave, Lanes], Iterator[tuple[SpaceMemory, Lanes, IntArray]]]

_OWN = (1 << RANK_SHIFT) - 1  # bits of a shared address below the CTA rank in the cluster


@dataclass(frozen=True, slots=True)
class Within:
    """Variable from which the addresses of an access are formed; `extent`: its bounds, None without a size."""

    variable: Variable
    extent: Buffer | None

    @classmethod
    def of(cls, variable: Variable) -> Within:
        """Return a `Within` for a variable, with its bounds; `extent` is None for `.extern .shared x[]`."""
        place = variable.placement
        return cls(variable, Buffer(place.offset, place.offset + place.size, place.name) if place.size else None)

    def left(self, memory: SpaceMemory, addresses: IntArray, low: int, high: int) -> bool:
        """Return whether any address is outside the variable; `low` and `high` are the lowest and highest address."""
        extent = self._extent(memory)
        if extent is None or (extent.start <= low and high < extent.end):
            return False
        own = _own(memory, addresses)
        return int(own.min()) < extent.start or int(own.max()) >= extent.end

    def report(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, addresses: IntArray) -> None:
        """Report addresses outside of the variable, except those outside of all memory (`out-of-bounds`).

        LLVM declares a dynamic shared array that only one kernel uses as a variable of one element, without `.extern`.
        In dynamic shared memory without variables, addresses may therefore be formed from any variable.
        """
        extent = self._extent(memory)
        if extent is None:
            return
        own = _own(memory, addresses)
        left: Mask = (own < extent.start) | (own >= extent.end)
        if isinstance(memory, SharedMemory):
            left &= ~memory.unnamed(own)
        some = lanes.narrowed(left & ~memory.outside(addresses, 1))
        if some is None:
            return
        positions, columns = some.active
        address = int(pick(addresses, positions, columns)[0])
        thread = wave.geometry.thread_name(int(some.warps(positions[:1])[0]), int(columns[0]))
        where, size = memory.describe(address), extent.end - extent.start
        message = f"address formed from {extent.name} ({counted(size, 'byte')}) is outside of it: {where}"
        wave.report("other-variable", message, wave.pc, label=f"access by {thread}", count=some.count)

    def _extent(self, memory: SpaceMemory) -> Buffer | None:
        """Return the bounds of the variable; in dynamic shared memory, the bounds of the user's allocation.

        None if the user's allocations are unknown, or if the addresses are in another state space than the variable.
        """
        if memory.space != self.variable.placement.space:
            return None
        if self.extent is not None:
            return self.extent
        return memory.allocated(self.variable.offset) if isinstance(memory, SharedMemory) else None


def staying(within: Within, find: Target) -> Target:
    """Wrap the `Target` in `find`: also report addresses outside of the variable from which they are formed."""

    def stay(wave: Wave, lanes: Lanes) -> Iterator[tuple[SpaceMemory, Lanes, IntArray]]:
        for memory, some, addresses in find(wave, lanes):
            used = addresses if some.mask is None or addresses.size == 1 else pick(addresses, *some.active)
            if within.left(memory, used, int(used.min()), int(used.max())):
                within.report(wave, some, memory, addresses)
            yield memory, some, addresses

    return stay


def variable_left(placement: Placement | None, offset: int, delta: int) -> Variable | None:
    """Return the variable from which a constant address is formed, if the address is outside it; else None."""
    if placement is None or placement.space not in BOUNDED or not placement.size:
        return None
    return None if 0 <= offset + delta - placement.offset < placement.size else Variable(placement)


def _own(memory: SpaceMemory, addresses: IntArray) -> IntArray:
    """Return addresses without the CTA rank in the upper bits of shared addresses."""
    return addresses & _OWN if memory.space == "shared" else addresses
