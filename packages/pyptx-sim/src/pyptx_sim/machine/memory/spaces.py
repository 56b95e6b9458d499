"""State spaces: valid addresses, and their offsets in the space's arena."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.windows import FIRST_OFFSET, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.extension.space import Space
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.buffers import Buffers
    from pyptx_sim.operation import Mask
    from pyptx_sim.program.program import Program
    from pyptx_sim.program.scopes import Placement

_ALIGNMENT = 128  # alignment of the memory of a CTA in the arena, in bytes
_OFFSET_MASK = (1 << RANK_SHIFT) - 1


class SpaceMemory(Protocol):
    """Memory of a state space in a wave. Addresses are relative to the start of the space."""

    space: str
    arena: Arena
    observed: bool
    """Whether other threads may access the same bytes, so that observers are notified of accesses."""

    def holds(self, low: int, high: int) -> bool:
        """Return True if all bytes of `[low, high)` are surely valid; False is inconclusive (a quick check)."""
        ...

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether any of the `size` bytes at it is invalid."""
        ...

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the arena offsets of addresses `[rows|1, 32|1]`, whose rows are the warps of `lanes`."""
        ...

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:
        """Return the arena offsets of `addresses`; address i is of lane `lanes[i]` of warp `warps[i]`."""
        ...

    def describe(self, address: int) -> str:
        """Return a symbolic address (`x+4`) for `address`, or its distance from valid memory."""
        ...

    def describe_offset(self, offset: int) -> str:
        """Return a symbolic address (`x+4`) for an arena offset."""
        ...


class FlatMemory:
    """Global, constant or parameter memory: an address refers to the same bytes in every lane."""

    def __init__(self, space: str, arena: Arena, buffers: Buffers) -> None:
        """Use `arena`, whose offsets are the addresses; the allocations of `buffers` are valid."""
        self.space = space
        self.arena = arena
        self.observed = space == "global"
        self.buffers = buffers

    def holds(self, low: int, high: int) -> bool:
        """Return whether one buffer contains all of `[low, high)`."""
        return self.buffers.hold(low, high)

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether any of the `size` bytes at it is outside all buffers."""
        return self.buffers.outside(addresses, size)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:  # noqa: ARG002 - the same bytes for every lane
        """Return the addresses, which equal the offsets in the arena."""
        return addresses

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - as above
        """Return the addresses, which equal the offsets in the arena."""
        return addresses

    def describe(self, address: int) -> str:
        """Return the position of `address` in its buffer, or its distance from the nearest buffer."""
        return self.buffers.describe(address)

    def describe_offset(self, offset: int) -> str:
        """Return the symbolic address that `describe` returns, since offsets equal addresses."""
        return self.buffers.describe(offset)


class SharedMemory:
    """Shared memory of all CTAs of a wave, `stride` bytes apart.

    The top byte of an address is a CTA rank in the cluster. Manual: "Shared State Space".
    """

    space = "shared"
    observed = True

    def __init__(
        self,
        arena: Arena,
        program: Program,
        end: int,
        stride: int,
        cta: IntArray,
        cluster_size: int,
        allocations: Sequence[SharedVariable] = (),
    ) -> None:
        """Describe the layout of `arena`: `stride` bytes per CTA; `cta` is the index of each warp's CTA in the wave.

        Addresses in a CTA are valid from `start` to `end` (exclusive). `allocations`: the user's allocations in dynamic
        shared memory, for messages.
        """
        self._allocations = allocations
        self.arena = arena
        self.start, self.end = SHARED_BASE, end
        self.stride = stride
        self._placements: tuple[Placement, ...] = program.shared.placements
        self._dynamic = program.shared.dynamic
        self._cluster_size = cluster_size
        self._extents: dict[int, Buffer | None] = {}
        self._first = (cta - cta % cluster_size)[:, None]

    def allocated(self, offset: int) -> Buffer | None:
        """Return the user's allocation that contains an offset in dynamic shared memory; None if there is none."""
        if offset not in self._extents:
            found = (each for each in self._allocations if each.offset <= offset < each.offset + each.size)
            each = next(found, None)
            start = self._dynamic + (0 if each is None else each.offset)
            self._extents[offset] = None if each is None else Buffer(start, start + each.size, each.name)
        return self._extents[offset]

    def unnamed(self, addresses: IntArray) -> Mask:
        """Return which addresses, without CTA ranks, are past all static variables.

        If a variable or an allocation is in dynamic shared memory: which are past the end of shared memory.
        """
        named = self._allocations or any(not each.size for each in self._placements)
        last = max((each.offset + each.size for each in self._placements), default=0)
        return np.asarray(addresses >= (self.end if named else last))

    def open_reserved(self) -> None:
        """Make the shared memory reserved for system software accessible; it contains zeros until it is written.

        Manual: "%reserved_smem_offset_begin". Only programs that read this register know its address,
        for example those with cooperative groups.
        """
        if self.start:
            self.start = 0
            ctas = np.arange(0, len(self.arena.data), self.stride, dtype=np.int64)[:, None]
            self.arena.mark(ctas + np.arange(0, SHARED_BASE, 8, dtype=np.int64), 8)

    def holds(self, low: int, high: int) -> bool:
        """Return whether `[low, high)` is in the shared memory of one CTA of the cluster."""
        rank = low >> RANK_SHIFT
        base = rank << RANK_SHIFT
        return 0 <= rank < self._cluster_size and low - base >= self.start and high - base <= self.end

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether any of the `size` bytes at it is outside the cluster's shared memory."""
        rank, offset = addresses >> RANK_SHIFT, addresses & _OFFSET_MASK
        return (rank < 0) | (rank >= self._cluster_size) | (offset < self.start) | (offset + size > self.end)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets of `addresses` in the arena, which contains the memory of all CTAs."""
        return self._flat(addresses, lanes.select(self._first))

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - per CTA
        """Return the offsets of `addresses` in the arena, which contains the memory of all CTAs."""
        return self._flat(addresses, self._first[warps, 0])

    def _flat(self, addresses: IntArray, first: IntArray) -> IntArray:
        if self._cluster_size == 1:
            return addresses + first * self.stride
        offsets: IntArray = (first + (addresses >> RANK_SHIFT)) * self.stride + (addresses & _OFFSET_MASK)
        return offsets

    def describe(self, address: int) -> str:
        """Return the variable at an address (`x+4`), or why the address is invalid."""
        offset, rank = address & _OFFSET_MASK, address >> RANK_SHIFT
        if address >= SHARED_WINDOW:
            return f"{address:#x}, a generic address? convert the address with cvta.to.shared"
        if rank >= self._cluster_size:
            return f"{address:#x}, in CTA {rank} of a cluster of {counted(self._cluster_size, 'CTA')}"
        if address < 0 or offset < self.start:
            return f"{address:#x}, before the first byte of shared memory ({SHARED_BASE:#x})"
        if offset < SHARED_BASE:
            return f"reserved shared memory +{offset}"
        if offset >= self.end:
            past, size = counted(offset - self.end, "byte"), counted(self.end - SHARED_BASE, "byte")
            return f"{past} past the end of shared memory ({size})"
        for place in self._placements:
            start = self._dynamic if place.offset < 0 else place.offset
            end = start + place.size if place.size else self.end
            if start <= offset < end:
                return _inside(place.name, offset - start, self._allocations if place.offset < 0 else ())
        return f"shared memory +{offset - SHARED_BASE}"

    def describe_offset(self, offset: int) -> str:
        """Return the variable (`x+4`) at an arena offset, in the shared memory of any CTA."""
        return self.describe(offset % self.stride)


def _inside(symbol: str, offset: int, allocations: Sequence[SharedVariable]) -> str:
    """Return the user's allocation at `offset` bytes from a symbol, or else `symbol+offset`."""
    for each in allocations:
        if each.offset <= offset < each.offset + each.size:
            return f"{each.name}+{offset - each.offset}"
    return f"{symbol}+{offset}"


class BlockMemory:
    """Memory of an extension's state space, of which each CTA of a wave has its own; contiguous in one arena."""

    observed = True

    def __init__(self, space: Space, cta: IntArray, ctas: int, *, track: bool) -> None:
        """Allocate the memory of `ctas` CTAs; `cta` is the index of each warp's CTA in the wave."""
        self.space = space.name
        self.size = space.size
        self.stride = -(-space.size // _ALIGNMENT) * _ALIGNMENT
        self.arena = Arena(ctas * self.stride, track=track)
        self._first: IntArray = (cta * self.stride)[:, None]
        self._described = space.describe

    def holds(self, low: int, high: int) -> bool:
        """Return whether `[low, high)` is in a CTA's memory."""
        return low >= 0 and high <= self.size

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether any of the `size` bytes at it is outside a CTA's memory."""
        return (addresses < 0) | (addresses + size > self.size)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets of `addresses` in the arena, which contains the memory of all CTAs."""
        return addresses + lanes.select(self._first)

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - per CTA
        """Return the offsets of `addresses` in the arena, which contains the memory of all CTAs."""
        offsets: IntArray = addresses + self._first[warps, 0]
        return offsets

    def describe(self, address: int) -> str:
        """Return a symbolic address, or the distance past the end of the CTA's memory."""
        if address >= self.size:
            past = counted(address - self.size, "byte")
            return f"{past} past the end of {self.space} memory ({counted(self.size, 'byte')})"
        return f"{self.space} memory +{address}" if self._described is None else self._described(address)

    def describe_offset(self, offset: int) -> str:
        """Return a symbolic address, relative to the CTA's memory, for an arena offset."""
        return self.describe(offset % self.stride)


class LocalMemory:
    """Stacks of all threads of a wave, `stride` bytes apart. Manual: "Local State Space"."""

    space = "local"
    observed = False

    def __init__(self, arena: Arena, stride: int, height: int) -> None:
        """Divide `arena` into stacks of `stride` bytes for the 32 threads of each of `height` warps."""
        self.arena = arena
        self.stride = stride
        self._first = (np.arange(height * 32, dtype=np.int64) * stride).reshape(height, 32)

    def holds(self, low: int, high: int) -> bool:
        """Return whether `[low, high)` is in a thread's stack."""
        return low >= FIRST_OFFSET and high <= self.stride

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether any of the `size` bytes at it is outside a thread's stack."""
        return (addresses < FIRST_OFFSET) | (addresses + size > self.stride)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets of `addresses` in the arena, which contains the stacks of all threads."""
        return addresses + lanes.select(self._first)

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:
        """Return the offsets of `addresses` in the arena, which contains the stacks of all threads."""
        return addresses + self._first[warps, lanes]

    def describe(self, address: int) -> str:
        """Return the distance of an address from the start, or past the end, of the thread's local memory."""
        if address >= self.stride:
            past = counted(address - self.stride, "byte")
            return f"{past} past the end of the thread's local memory ({counted(self.stride, 'byte')})"
        return f"local memory {address - FIRST_OFFSET:+}"

    def describe_offset(self, offset: int) -> str:
        """Return the distance of an offset from the start of its thread's local memory."""
        return self.describe(offset % self.stride)
