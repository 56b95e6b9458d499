"""Addresses that are formed from one variable of a module, and are those of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.machine.lanes import pick
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.provenance import BOUNDED, Variable
from pyptx_sim.program.windows import RANK_SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.program.program import Program
    from pyptx_sim.program.scopes import Placement

    Target = Callable[[Wave, Lanes], Iterator[tuple[Memory, Lanes, IntArray]]]

_OWN = (1 << RANK_SHIFT) - 1  # of a shared address, what is below the rank of its block in the cluster


def staying(variable: Variable, program: Program, find: Target) -> Target:
    """Return a target that reports addresses formed from a variable which are outside of it, in the same memory."""

    def stay(wave: Wave, lanes: Lanes) -> Iterator[tuple[Memory, Lanes, IntArray]]:
        extent = _extent(variable, program, wave.machine.allocations)
        for memory, some, addresses in find(wave, lanes):
            if extent is not None and memory.space == variable.placement.space:
                offsets = addresses & _OWN if wave.rank_base.size > 1 else addresses
                if int(offsets.min()) < extent.start or int(offsets.max()) >= extent.end:
                    _report(wave, some, memory, addresses, (offsets < extent.start) | (offsets >= extent.end), extent)
            yield memory, some, addresses

    return stay


def variable_left(placement: Placement | None, offset: int, delta: int) -> Variable | None:
    """Return the variable that a constant address is formed from, if the address is not in it."""
    if placement is None or placement.space not in BOUNDED or not placement.size:
        return None
    return None if 0 <= offset + delta - placement.offset < placement.size else Variable(placement)


def _extent(variable: Variable, program: Program, allocations: Sequence[SharedVariable]) -> Buffer | None:
    """Return the bytes of a variable; of dynamic shared memory, those of the allocation that the address is in first.

    None if nothing says which allocations there are.
    """
    place = variable.placement
    if place.size:
        return Buffer(place.offset, place.offset + place.size, place.name)
    for each in allocations:
        if each.offset <= variable.offset < each.offset + each.size:
            start = program.shared.dynamic + each.offset
            return Buffer(start, start + each.size, each.name)
    return None


def _report(wave: Wave, lanes: Lanes, memory: Memory, addresses: IntArray, left: Mask, extent: Buffer) -> None:
    """Report addresses that have left their variable; those outside of all memory are `out-of-bounds` anyway."""
    some = lanes.narrowed(left & ~memory.outside(addresses, 1))
    if some is None:
        return
    positions, columns = some.active
    address = int(pick(addresses, positions, columns)[0])
    thread = wave.geometry.thread_name(int(some.warps(positions[:1])[0]), int(columns[0]))
    size = extent.end - extent.start
    message = f"{thread} accesses {memory.describe(address)} by an address formed from {extent.name} ({size} bytes)"
    wave.machine.log.report("other-variable", message, wave.pc, count=some.count)
