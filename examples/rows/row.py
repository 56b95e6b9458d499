"""A row of a matrix while a kernel is traced: addresses of this thread's part, and reductions over the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from examples.overlap import take_over

from pyptx import ptx, reg, smem
from pyptx.types import b32, f32, u32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from examples.rows.plans import Plan
    from examples.rows.vectors import Vector

    from pyptx import TensorSpec
    from pyptx.reg import Reg

NUMBERS = 2  # maximum number of f32 values that each thread contributes to a reduction


@dataclass(frozen=True, slots=True)
class VectorPosition:
    """Position of a vector in a row: the `step`-th of this thread, `offset` bytes after the start of the thread's part.

    In an emitted loop `offset` is a register and `step` is always 0. `inside` is the predicate that the vector is in
    the row, or None if it always is.
    """

    step: int
    offset: int | Reg
    inside: Reg | None = None

    def behind(self, pointer: Reg) -> object:
        """Return the address of the vector at this position; `pointer` is that of the thread's part of the row."""
        return ptx.addr(pointer, self.offset) if isinstance(self.offset, int) else ptx.addr(pointer + self.offset)


class Source(Protocol):
    """Protocol of a source, which provides the elements of a row, a vector at each position."""

    def at(self, place: VectorPosition) -> Sequence[Reg]:
        """Return the elements at `place` as numbers (f32 or f32x2); the caller must not write to them."""


@dataclass(frozen=True, slots=True)
class Held:
    """Source of elements: this thread's part of a row, in registers."""

    vectors: Sequence[Sequence[Reg]]

    def at(self, place: VectorPosition) -> Sequence[Reg]:
        """Return the registers of the vector at `place`; emit nothing."""
        return self.vectors[place.step]


@dataclass(frozen=True, slots=True)
class Staged:
    """Source of elements: a row in shared memory."""

    vector: Vector
    start: Reg

    def at(self, place: VectorPosition) -> Sequence[Reg]:
        """Emit a load of the vector at `place` from shared memory."""
        return self.vector.load(place.behind(self.start), space="shared")


@dataclass(frozen=True, slots=True)
class Columns:
    """Source of elements: an array as long as a row, in global memory, the same for all rows."""

    vector: Vector
    pointer: Reg

    def at(self, place: VectorPosition) -> Sequence[Reg]:
        """Emit a load of the array's elements at `place`; elements past the end of the row are 0."""
        return self.vector.load(place.behind(self.pointer), place.inside, nc=True)


@dataclass(frozen=True, slots=True)
class WithDescriptor:
    """Source of elements: `function` of each element of another source, computed at each access."""

    source: Source
    function: Callable[[Reg], Reg]

    def at(self, place: VectorPosition) -> Sequence[Reg]:
        """Emit `function` for each element of `source` at `place`, and return the results."""
        return [self.function(value) for value in self.source.at(place)]


class Row:
    """Part of a row that belongs to one thread, while a kernel is traced.

    `number` is the first row of the CTA (with short rows: of the thread's lanes), `rank` the CTA's rank in the cluster,
    `tid` the thread's index in the CTA.
    """

    def __init__(self, plan: Plan, count: int, exchanges: int = 1) -> None:
        """Compute this thread's row of `count` rows; allocate exchange slots for `exchanges` calls of `reduce`."""
        self.plan, self.vector = plan, plan.vector
        self.tid = reg.from_(ptx.special.tid.x(), u32)
        self.number = reg.from_((ptx.special.clusterid if plan.cluster > 1 else ptx.special.ctaid).x(), u32)
        self.lane, self._sure = self.tid, plan.last
        self.limit: int | Reg = plan.slice
        if plan.rows > 1:
            self.lane = self.tid & (plan.lanes - 1)
            self.number = self.number * plan.rows + (self.tid >> (plan.lanes.bit_length() - 1))
            if count % plan.rows:
                self.limit, self._sure = self._none_behind(count), 0
        if plan.cluster > 1:
            self.rank = reg.from_(ptx.special.cluster_ctarank(), u32)
            self.limit = plan.slice if plan.last == plan.slice else self._rest()
            self._introduce(exchanges)
        if plan.warps > 1:
            self._parts = smem.alloc(f32, (exchanges, NUMBERS, plan.warps))
        self._places = () if plan.shared else self._held_places()
        if plan.overlaps:
            take_over()  # waits for the prerequisite grid, before any global access

    # --- addresses ----------------------------------------------------------------------------------

    def _none_behind(self, count: int) -> Reg:
        """Return the number of vectors of the thread's row: 0 if it is past the last row of the matrix."""
        return ptx.selp(u32, reg.scalar(u32), self.plan.slice, 0, self.number < count)

    def _rest(self) -> Reg:
        """Return the number of vectors in this CTA's slice of the row."""
        return (self.plan.vectors - self.rank * self.plan.slice).min(self.plan.slice)

    def _held_places(self) -> tuple[VectorPosition, ...]:
        """Return the positions of this thread's vectors, with a predicate for each that may be past the row's end."""
        places = []
        for first in range(0, self.plan.slice, self.plan.lanes):
            doubtful = first + self.plan.lanes > self._sure
            inside = self.lane + first < self.limit if doubtful else None
            places.append(VectorPosition(first // self.plan.lanes, first * self.vector.bytes, inside))
        return tuple(places)

    def pointer(self, array: TensorSpec) -> Reg:
        """Return the address of this thread's part of row `number` of a matrix, or of a one-dimensional array."""
        (pointer,) = ptx.global_ptrs(array)
        if array.shape is not None and len(array.shape) > 1:
            pointer += self.number * (self.plan.columns * self.plan.dtype.bytes)
        if self.plan.cluster > 1:
            pointer += self.rank * (self.plan.slice * self.vector.bytes)
        return pointer if self.plan.shared else pointer + self.lane * self.vector.bytes

    # --- loads and stores ---------------------------------------------------------------------------

    def read(self, start: Reg, fill: float = 0.0) -> list[Sequence[Reg]]:
        """Load this thread's part of a row from shared memory; elements past the end of the row are `fill`."""
        return [self.vector.load(place.behind(start), place.inside, fill, space="shared") for place in self._places]

    def hold(self, *matrices: TensorSpec, fill: float = 0.0) -> list[Source]:
        """Load the row of each matrix. In registers, elements past the row's end are `fill`, a neutral value."""
        pointers = [self.pointer(matrix) for matrix in matrices]
        if self.plan.shared:
            return self._staged(pointers)
        rows = list[Source]()
        for pointer in pointers:
            at = [(place.behind(pointer), place.inside) for place in self._places]
            rows.append(Held([self.vector.load(*each, fill) for each in at]))
        self.meet()
        return rows

    def _staged(self, pointers: Sequence[Reg]) -> list[Source]:
        """Copy the CTA's slice of each row to shared memory, by bulk copies of thread 0, and wait for the copies."""
        full, size = smem.mbarrier(1), self.limit * self.vector.bytes
        tiles = [smem.alloc(b32, self.plan.slice * 4) for _ in pointers]
        with ptx.if_(self.tid == 0):
            ptx.mbarrier.init(full, 1)
            ptx.fence.proxy_async_shared_cta()
            ptx.mbarrier.arrive_expect_tx(full, size * len(tiles))
            for tile, pointer in zip(tiles, pointers, strict=True):
                ptx.cp.async_.bulk.load(tile, pointer, size, mbar=full)
        ptx.bar.sync(0)
        self.meet()
        ptx.mbarrier.wait(full, 0)
        return [Staged(self.vector, reg.from_(tile, u32)) for tile in tiles]

    def columns(self, vector: TensorSpec) -> Source:
        """Return a source that loads elements of `vector`, an array of row length, at each use."""
        return Columns(self.vector, self.pointer(vector))

    def mapped(self, source: Source, function: Callable[[Reg], Reg]) -> Source:
        """Return a source: `function` of each element, computed once if rows are in registers, else at each read."""
        result = WithDescriptor(source, function)
        return result if self.plan.shared else Held([result.at(place) for place in self._places])

    def each(self, *sources: Source) -> Iterator[tuple[Any, ...]]:
        """Iterate over this thread's vectors: yield the position, and each source's elements at that position.

        The loop is unrolled for registers (at most eight iterations by `Plan.of`) and emitted for shared memory.
        """
        for place in self.places():
            yield (place, *(source.at(place) for source in sources))

    def places(self) -> Iterator[VectorPosition]:
        """Iterate over the positions of this thread's vectors in the row."""
        if self.plan.shared:
            for index in ptx.range_(self.lane, self.limit, self.plan.lanes):
                yield VectorPosition(0, index * self.vector.bytes)
        yield from self._places

    def store(self, pointer: Reg, place: VectorPosition, values: Sequence[Reg]) -> None:
        """Store a vector of results at `place`."""
        self.vector.store(place.behind(pointer), values, inside=place.inside)

    # --- reductions ---------------------------------------------------------------------------------

    def sum(self, *numbers: Reg, slot: int | Reg = 0, phase: int | Reg = 0) -> None:
        """Replace each f32 register by its sum over all threads of the row."""

        def merge(width: int) -> None:
            for number in numbers:
                ptx.warp.reduce_sum(number, width=width)

        self.reduce(numbers, merge, slot, phase)

    def reduce(
        self, numbers: Sequence[Reg], merge: Callable[[int], None], slot: int | Reg = 0, phase: int | Reg = 0
    ) -> None:
        """Combine f32 registers, one or two, over all threads of the row, in place; all threads get the same bits.

        `merge(width)` combines them, in place, over every group of `width` lanes. It is called for the lanes of a warp,
        for the warps, which exchange values in shared memory, and for the CTAs of a cluster. A slot (memory and an
        mbarrier) serves one call, in a loop every second, between `meet` and `part`; `phase` is the parity of its uses.
        """
        merge(min(self.plan.lanes, 32))
        if self.plan.warps > 1:
            self._between_warps(numbers, slot)
            merge(self.plan.warps)
        if self.plan.cluster > 1:
            self._between_blocks(numbers, slot, phase)
            merge(self.plan.cluster)

    def _between_warps(self, numbers: Sequence[Reg], slot: int | Reg) -> None:
        """Exchange values in shared memory: lane i of each warp gets warp i's values, i modulo the number of warps."""
        with ptx.if_((self.tid & 31) == 0):
            for index, number in enumerate(numbers):
                self._parts.store(number, slot, index, self.tid >> 5)
        ptx.bar.sync(0)
        for index, number in enumerate(numbers):
            ptx.ld(f32, number, self._parts.address(slot, index, self.tid & (self.plan.warps - 1)), space="shared")

    def _introduce(self, exchanges: int) -> None:
        """Initialize the mbarriers that count bytes from other CTAs; `meet` waits until all CTAs have initialized."""
        self._arrived = smem.mbarrier(exchanges)
        self._shares = smem.alloc(f32, (exchanges, NUMBERS, self.plan.cluster))
        with ptx.if_(self.tid == 0):
            for barrier in self._arrived:
                ptx.mbarrier.init(barrier, 1)
            ptx.fence.mbarrier_init()
        ptx.cluster.arrive(sem="relaxed")  # relaxed suffices, because fence.mbarrier_init has release semantics

    def meet(self) -> None:
        """Wait until all CTAs of the cluster can receive: before the first `reduce`, and once after each `part`."""
        if self.plan.cluster > 1:
            ptx.cluster.wait()

    def part(self) -> None:
        """Arrive at the cluster barrier: this thread has read its exchange slots, which other CTAs may overwrite."""
        if self.plan.cluster > 1:
            ptx.cluster.arrive()

    def _between_blocks(self, numbers: Sequence[Reg], slot: int | Reg, phase: int | Reg) -> None:
        """Exchange values by DSMEM stores: lane i of each warp gets the values of CTA i modulo the cluster size.

        Thread i sends to CTA i. A CTA exits after it has received all values, so no store targets an exited CTA.
        """
        blocks, barrier = self.plan.cluster, self._arrived[slot]
        with ptx.if_(self.tid == 0):
            ptx.mbarrier.arrive_expect_tx(barrier, blocks * len(numbers) * f32.bytes)
        with ptx.if_(self.tid < blocks):
            counter = ptx.cluster.map_shared_u32(barrier, self.tid)
            for index, number in enumerate(numbers):
                there = ptx.cluster.map_shared_u32(self._shares.address(slot, index, self.rank), self.tid)
                ptx.st_async(f32, ptx.addr(there), number, mbar=counter)
        ptx.mbarrier.wait(barrier, phase, sem="acquire", scope="cluster")
        for index, number in enumerate(numbers):
            ptx.ld(f32, number, self._shares.address(slot, index, self.tid & (blocks - 1)), space="shared")
