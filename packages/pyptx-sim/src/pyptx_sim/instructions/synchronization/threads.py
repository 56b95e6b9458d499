"""Threads that execute an instruction, as flat arrays with one address per thread.

This form is used by instructions that usually only a few threads execute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.machine.memory.access import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.access import Access
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads that execute an instruction: thread i is lane `columns[i]` of warp `warps[i]`.

    `positions[i]` is the warp's row in `[rows, 32]` arrays; `offsets[i]` is the arena offset of the thread's address.
    """

    positions: IntArray
    columns: IntArray
    warps: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        """Return the number of threads."""
        return len(self.offsets)

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """Warp and lane of each thread."""
        return list(zip(self.warps.tolist(), self.columns.tolist(), strict=True))

    def read(self, reader: Reader, wave: Wave, lanes: Lanes) -> IntArray:
        """Return the values of an integer operand, one per thread."""
        return pick(reader(wave, lanes), self.positions, self.columns).astype(np.int64)

    def spread(self, values: Array, height: int) -> Array:
        """Return the threads' values in lane order, with zeros for other lanes."""
        full = np.zeros((height, WARP), values.dtype)
        full[self.positions, self.columns] = values
        return full

    def chosen(self, which: Mask | IntArray) -> Threads:
        """Return the threads that a mask or an array of indices selects."""
        return Threads(self.positions[which], self.columns[which], self.warps[which], self.offsets[which])


def threads_at(wave: Wave, lanes: Lanes, memory: SpaceMemory, addresses: IntArray, access: Access) -> Threads | None:
    """Return the threads for which an `access` at their address is valid; None if there are none.

    Invalid accesses are reported or raise MemoryFault.
    """
    places = access.places(wave, lanes, memory, addresses)
    if places is None:
        return None
    if places.positions is not None and places.columns is not None:
        return Threads(places.positions, places.columns, lanes.warps(places.positions), places.offsets)
    positions, columns = lanes.active
    return Threads(positions, columns, lanes.warps(positions), pick(places.offsets, positions, columns))


def in_shared(wave: Wave, lanes: Lanes, find: Target, access: Access, what: str) -> Iterator[tuple[Lanes, Threads]]:
    """Yield the threads with valid addresses in shared memory; `what` names the expected object, for a message."""
    for memory, part, addresses in find(wave, lanes):
        if memory.space != "shared":
            message, help = not_shared(what, memory.space, memory.describe(int(addresses.flat[0])))
            fault(wave, "out-of-bounds", message, help, part.count)
            continue
        threads = threads_at(wave, part, memory, addresses, access)
        if threads is not None:
            yield part, threads


def not_shared(what: str, space: str, where: str) -> tuple[str, str]:
    """Return the message and the help for an object that is at `where` in another space than shared memory."""
    return f"{what} is in {space} memory: {where}", "pass an address in shared memory"


def wrong_space(space: str, where: str, needed: str) -> tuple[str, str]:
    """Return the message and the help for an operand that is at `where` in another space than the one needed."""
    return f"expected an address in {needed} memory, got {space} memory: {where}", "check the order of the operands"


def by_offset(threads: Threads) -> Iterator[tuple[int, IntArray]]:
    """Yield each distinct offset, in ascending order, with the indices of the threads at that offset."""
    offsets = threads.offsets
    if len(offsets) == 1 or (offsets == offsets[0]).all():
        yield int(offsets[0]), np.arange(len(offsets))
        return
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = _starts(ordered[1:] != ordered[:-1])
    for offset, start, end in zip(ordered[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), None], strict=True):
        yield offset, order[start:end]


def users_by_offset(threads: Threads) -> dict[int, tuple[IntArray, Mask]]:
    """Return, per distinct offset, the warps (ascending) that have threads with that offset, and their lane masks."""
    order = np.lexsort((threads.warps, threads.offsets))
    offsets, warps = threads.offsets[order], threads.warps[order]
    elsewhere = offsets[1:] != offsets[:-1]
    changes = elsewhere | (warps[1:] != warps[:-1])
    masks = np.zeros((1 + np.count_nonzero(changes), WARP), np.bool_)
    masks[np.concatenate([[0], np.cumsum(changes)]), threads.columns[order]] = True
    warps = warps[_starts(changes)]
    starts = _starts(elsewhere[changes])
    ends = [*starts[1:].tolist(), None]
    places = offsets[_starts(elsewhere)].tolist()
    return {
        place: (warps[start:end], masks[start:end])
        for place, start, end in zip(places, starts.tolist(), ends, strict=True)
    }


def _starts(changes: Mask) -> IntArray:
    """Return the first index of each run of equal entries; `changes[i]`: entry i + 1 differs from entry i."""
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def locate(wave: Wave, lanes: Lanes, find: Target, access: Access, space: str) -> IntArray:
    """Return the arena offset of every lane's address in `space`, `[height, 32]`; -1 for an invalid address."""
    spots = np.full((lanes.height, WARP), -1, np.int64)
    for memory, part, addresses in find(wave, lanes):
        if memory.space != space:
            message, help = wrong_space(memory.space, memory.describe(int(addresses.flat[0])), space)
            fault(wave, "out-of-bounds", message, help, part.count)
            continue
        threads = threads_at(wave, part, memory, addresses, access)
        if threads is not None:
            spots[threads.positions, threads.columns] = threads.offsets
    return spots
