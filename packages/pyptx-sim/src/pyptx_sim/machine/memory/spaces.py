"""The state spaces: which addresses are valid, and where they lie in the space's arena."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.program.windows import FIRST_OFFSET, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.extension import Space
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.buffers import Buffers
    from pyptx_sim.operation import Mask
    from pyptx_sim.program.program import Program
    from pyptx_sim.program.scopes import Placement

_ALIGNMENT = 128  # bytes, of what a CTA has
_OFFSET_MASK = (1 << RANK_SHIFT) - 1


class Memory(Protocol):
    """One state space as the warps of a wave see it. Addresses count from the start of the space."""

    space: str
    arena: Arena
    observed: bool
    """Whether others may reach the same bytes, so that observers hear of accesses."""

    def holds(self, low: int, high: int) -> bool:
        """Tell quickly whether `[low, high)` lies wholly in one valid region; False may still be fine."""
        ...

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return for each address whether its `size` bytes are not all valid."""
        ...

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return arena offsets of `[rows|1, 32|1]` addresses, one row for each of the step's rows."""
        ...

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:
        """Return arena offsets of one address for each of some lanes."""
        ...

    def describe(self, address: int) -> str:
        """Return where an address lies, or what it misses."""
        ...

    def describe_offset(self, offset: int) -> str:
        """Return where an offset of the arena lies."""
        ...


class FlatMemory:
    """Global, constant or parameter memory: every lane sees the same bytes at an address."""

    def __init__(self, space: str, arena: Arena, buffers: Buffers) -> None:
        """Serve `arena`, whose offsets are the addresses; valid is what `buffers` hold."""
        self.space = space
        self.arena = arena
        self.observed = space == "global"
        self.buffers = buffers

    def holds(self, low: int, high: int) -> bool:
        """Tell whether one buffer holds all of `[low, high)`."""
        return self.buffers.hold(low, high)

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return which accesses no buffer holds."""
        return self.buffers.outside(addresses, size)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:  # noqa: ARG002 - the same bytes for every lane
        """Return the addresses: they are the offsets."""
        return addresses

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - as above
        """Return the addresses: they are the offsets."""
        return addresses

    def describe(self, address: int) -> str:
        """Return the buffer that holds `address`, or the one that it misses."""
        return self.buffers.describe(address)

    def describe_offset(self, offset: int) -> str:
        """Return the same: offsets are addresses here."""
        return self.buffers.describe(offset)


class SharedMemory:
    """The shared memory of all CTAs of a wave, `stride` bytes apart.

    The top byte of an address is a rank in the cluster. Manual: "Shared State Space".
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
        """Serve CTA slots `cta` (one for each warp), each with valid addresses from `start` up to `end`.

        `allocations` are the user's in dynamic shared memory, whose names messages say.
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
        """Return the user's allocation at an offset of dynamic shared memory, None if it is unknown."""
        if offset not in self._extents:
            found = (each for each in self._allocations if each.offset <= offset < each.offset + each.size)
            each = next(found, None)
            start = self._dynamic + (0 if each is None else each.offset)
            self._extents[offset] = None if each is None else Buffer(start, start + each.size, each.name)
        return self._extents[offset]

    def unnamed(self, addresses: IntArray) -> Mask:
        """Return which addresses, without their ranks, are behind all variables, if dynamic shared memory has none."""
        named = self._allocations or any(not each.size for each in self._placements)
        last = max((each.offset + each.size for each in self._placements), default=0)
        return np.asarray(addresses >= (self.end if named else last))

    def open_reserved(self) -> None:
        """Let CTAs use what is reserved for system software: zeros, as far as nothing has written it.

        Manual: "%reserved_smem_offset_begin". Only who reads that register knows where it lies: cooperative groups do.
        """
        if self.start:
            self.start = 0
            ctas = np.arange(0, len(self.arena.data), self.stride, dtype=np.int64)[:, None]
            self.arena.mark(ctas + np.arange(0, SHARED_BASE, 8, dtype=np.int64), 8)

    def holds(self, low: int, high: int) -> bool:
        """Tell whether the addresses lie in the shared memory of one CTA of the cluster."""
        rank = low >> RANK_SHIFT
        base = rank << RANK_SHIFT
        return 0 <= rank < self._cluster_size and low - base >= self.start and high - base <= self.end

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return which accesses lie outside the shared memory of every CTA of the cluster."""
        rank, offset = addresses >> RANK_SHIFT, addresses & _OFFSET_MASK
        return (rank < 0) | (rank >= self._cluster_size) | (offset < self.start) | (offset + size > self.end)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets within the arena of all CTAs."""
        return self._flat(addresses, lanes.select(self._first))

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - per CTA
        """Return the offsets within the arena of all CTAs."""
        return self._flat(addresses, self._first[warps, 0])

    def _flat(self, addresses: IntArray, first: IntArray) -> IntArray:
        if self._cluster_size == 1:
            return addresses + first * self.stride
        offsets: IntArray = (first + (addresses >> RANK_SHIFT)) * self.stride + (addresses & _OFFSET_MASK)
        return offsets

    def describe(self, address: int) -> str:
        """Return the variable that an address lies in, or how far behind the end it is."""
        offset, rank = address & _OFFSET_MASK, address >> RANK_SHIFT
        if address >= SHARED_WINDOW:
            return f"{address:#x}: a generic address? cvta.to.shared makes it one of shared memory"
        if rank >= self._cluster_size:
            return f"{address:#x}: block {rank} of a cluster of {self._cluster_size}"
        if address < 0 or offset < self.start:
            return f"address {address:#x} is below the first byte of shared memory ({SHARED_BASE:#x})"
        if offset < SHARED_BASE:
            return f"reserved shared memory +{offset}"
        if offset >= self.end:
            return f"{offset - self.end} bytes past the end of shared memory ({self.end - SHARED_BASE} bytes)"
        for place in self._placements:
            start = self._dynamic if place.offset < 0 else place.offset
            end = start + place.size if place.size else self.end
            if start <= offset < end:
                return _inside(place.name, offset - start, self._allocations if place.offset < 0 else ())
        return f"shared memory +{offset - SHARED_BASE}"

    def describe_offset(self, offset: int) -> str:
        """Return the variable at an offset within some CTA's shared memory."""
        return self.describe(offset % self.stride)


def _inside(symbol: str, offset: int, allocations: Sequence[SharedVariable]) -> str:
    """Return the allocation of the user's at an offset behind a symbol, or that offset."""
    for each in allocations:
        if each.offset <= offset < each.offset + each.size:
            return f"{each.name}+{offset - each.offset}"
    return f"{symbol}+{offset}"


class BlockMemory:
    """A memory of an extension: that of all CTAs of a wave, one behind the other."""

    observed = True

    def __init__(self, space: Space, cta: IntArray, ctas: int, *, track: bool) -> None:
        """Lay out the memory of `ctas` CTAs; `cta` is the one of each warp."""
        self.space = space.name
        self.size = space.size
        self.stride = -(-space.size // _ALIGNMENT) * _ALIGNMENT
        self.arena = Arena(ctas * self.stride, track=track)
        self._first: IntArray = (cta * self.stride)[:, None]
        self._described = space.describe

    def holds(self, low: int, high: int) -> bool:
        """Tell whether the addresses lie in a CTA's memory."""
        return low >= 0 and high <= self.size

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return which accesses lie outside a CTA's memory."""
        return (addresses < 0) | (addresses + size > self.size)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets within the arena of all CTAs."""
        return addresses + lanes.select(self._first)

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:  # noqa: ARG002 - per CTA
        """Return the offsets within the arena of all CTAs."""
        offsets: IntArray = addresses + self._first[warps, 0]
        return offsets

    def describe(self, address: int) -> str:
        """Return where an address lies, or how far behind the end it is."""
        if address >= self.size:
            return f"{address - self.size} bytes past the end of {self.space} memory ({self.size} bytes)"
        return f"{self.space} memory +{address}" if self._described is None else self._described(address)

    def describe_offset(self, offset: int) -> str:
        """Return where an offset lies within its CTA's memory."""
        return self.describe(offset % self.stride)


class LocalMemory:
    """The stacks of all threads of a wave, `stride` bytes apart. Manual: "Local State Space"."""

    space = "local"
    observed = False

    def __init__(self, arena: Arena, stride: int, height: int) -> None:
        """Serve `height` warps of 32 threads."""
        self.arena = arena
        self.stride = stride
        self._first = (np.arange(height * 32, dtype=np.int64) * stride).reshape(height, 32)

    def holds(self, low: int, high: int) -> bool:
        """Tell whether the addresses lie in a thread's stack."""
        return low >= FIRST_OFFSET and high <= self.stride

    def outside(self, addresses: IntArray, size: int) -> Mask:
        """Return which accesses lie outside a thread's stack."""
        return (addresses < FIRST_OFFSET) | (addresses + size > self.stride)

    def flat(self, addresses: IntArray, lanes: Lanes) -> IntArray:
        """Return the offsets within the arena of all threads."""
        return addresses + lanes.select(self._first)

    def flat_at(self, addresses: IntArray, warps: IntArray, lanes: IntArray) -> IntArray:
        """Return the offsets within the arena of all threads."""
        return addresses + self._first[warps, lanes]

    def describe(self, address: int) -> str:
        """Return how far an address lies into or behind the thread's local memory."""
        if address >= self.stride:
            return f"{address - self.stride} bytes past the end of the thread's local memory ({self.stride} bytes)"
        return f"local memory +{address - FIRST_OFFSET}"

    def describe_offset(self, offset: int) -> str:
        """Return how far an offset lies into its thread's local memory."""
        return self.describe(offset % self.stride)
