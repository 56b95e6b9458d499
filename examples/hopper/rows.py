"""Rows of a matrix: who works on one, where it waits between two passes, how numbers are combined over it.

The norms and softmax read a row twice or more and may fetch it once. A `Plan` says where it is meanwhile:

- up to 1024 elements, in the registers of a few lanes; a block has several rows, and they need no shared memory;
- up to 16384, in the registers of a block of 128 to 512 threads, 32 values to each;
- up to 112 KiB, in shared memory, where one bulk copy brings it: two blocks still fit an SM, one copies while the other
  computes;
- beyond, in a cluster of 2, 4 or 8 blocks, a slice to each, in registers if it fits and in shared memory if not.

Memory is busy if enough bytes are on their way: 4.3 TB/s times 0.7 us of latency are 3 MB, or 23 KB for each of 132 SMs
(Little's law). Here they are 64 KB and more, and 32 KB where rows are shorter than 512 bytes: a thread starts all its
loads, up to eight of 16 bytes, before it uses the first, and with 32 values it has some 56 registers, so that an SM
holds 1100 threads. Neighbours take neighbouring vectors.

Weights, which all rows share, are read by `ld.global.nc`, which ptxas may move across the stores of results; rows are
not, as a caller may pass `out=X`. `L1::no_allocate` for what is read once is no help: on an H200, it costs 5% of the
time of a large norm, and 10% of SwiGLU's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from pyptx import ptx, reg, smem
from pyptx.types import PtxType, b32, bf16, f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # also where an example is run by itself

from examples.hopper import vectors
from examples.hopper.vectors import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx import TensorSpec
    from pyptx.reg import Reg

HELD = 32  # values of a row that a thread holds
FEWEST, MOST = 128, 512  # threads of a block
COMFORTABLE, AVAILABLE = 112 << 10, 224 << 10  # bytes of shared memory for rows: of two blocks to an SM, and of one
CLUSTERS = (2, 4, 8)  # larger ones are not portable
NUMBERS = 2  # that are combined at a time


class Launch(TypedDict):
    """What `kernel` takes of a plan."""

    grid: Callable[[int], int]
    block: int
    cluster: int
    arch: str
    raw_directives: Sequence[tuple[str, Sequence[object]]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows of `columns` elements are shared out: over `lanes` threads in each of `cluster` blocks.

    A block works on `rows` rows, more than one only if lanes of one warp share a row. `shared` says that rows wait in
    shared memory instead of registers. Raise ValueError for numbers that don't go together: rows are whole vectors of
    16 bytes, so that each begins at a multiple of 16.
    """

    columns: int
    dtype: PtxType = f32
    lanes: int = FEWEST
    rows: int = 1
    cluster: int = 1
    shared: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in {f32, bf16} or self.columns % self.per_vector:
            raise ValueError(f"rows of {self.columns} {self.dtype}: a multiple of 4 f32 or of 8 bf16 is needed")
        if self.lanes not in {2**n for n in range(1, 10)} or (self.rows > 1 and (self.lanes > 32 or self.cluster > 1)):
            raise ValueError(f"{self.rows} rows over {self.lanes} lanes: a power of two, of one warp for several rows")
        if self.last < 1:
            raise ValueError(f"{self.vectors} vectors leave none to the last of {self.cluster} blocks")
        if self.shared and self.slice * vectors.BYTES > AVAILABLE:
            raise ValueError(f"{self.columns} {self.dtype} do not fit the shared memory of {self.cluster} blocks")

    @classmethod
    def of(cls, columns: int, dtype: PtxType = f32) -> Plan:
        """Choose for the length of a row; see the top of this file. Raise ValueError for one that fits nowhere."""
        if columns <= HELD * 32:
            lanes = power_of_two(columns * dtype.bytes / vectors.BYTES, 2, 32)
            return cls(columns, dtype, lanes, FEWEST // lanes)
        if HELD * MOST < columns <= COMFORTABLE // dtype.bytes:
            return cls(columns, dtype, MOST, shared=True)
        for cluster in (1, *CLUSTERS):
            if columns <= cluster * HELD * MOST:
                return cls(columns, dtype, power_of_two(columns / cluster / HELD, FEWEST, MOST), cluster=cluster)
        return cls(columns, dtype, MOST, cluster=CLUSTERS[-1], shared=True)

    @classmethod
    def block(cls, columns: int) -> Plan:
        """Give each f32 row a block of 128 threads, up to 64 values to each, longer rows to shared memory."""
        return cls(columns, shared=columns > 2 * HELD * FEWEST)

    @property
    def per_vector(self) -> int:
        """The elements of 16 bytes."""
        return vectors.BYTES // self.dtype.bytes

    @property
    def vectors(self) -> int:
        """The vectors of a row."""
        return self.columns // self.per_vector

    @property
    def slice(self) -> int:
        """The vectors of a row that a block has; the last of a cluster has `last`."""
        return -(-self.vectors // self.cluster)

    @property
    def last(self) -> int:
        """The vectors of the last block of a cluster."""
        return self.vectors - (self.cluster - 1) * self.slice

    @property
    def warps(self) -> int:
        """The warps that share a row; one, if a warp has several."""
        return max(self.lanes // 32, 1)

    @property
    def launch(self) -> Launch:
        """The grid for B rows, the block and the cluster, as `kernel` takes them."""
        return {
            "grid": lambda B: -(-B // self.rows) * self.cluster,
            "block": self.lanes * self.rows,
            "cluster": self.cluster,
            "arch": "sm_90a",
            "raw_directives": self.directives,
        }

    @property
    def directives(self) -> Sequence[tuple[str, Sequence[object]]]:
        """What tells ptxas that there is a cluster; else it also emits what a launch without one would need."""
        return [("reqnctapercluster", (self.cluster,)), ("explicitcluster", ())] if self.cluster > 1 else []


def power_of_two(least: float, low: int, high: int) -> int:
    """Return the smallest of `low`, `2 * low`, …, `high` that is at least `least`, or `high`."""
    while low < least and low < high:
        low *= 2
    return low


@dataclass(frozen=True, slots=True)
class Place:
    """A vector of the row: the `step`-th of this thread, `offset` bytes behind where its part begins.

    In a loop of the GPU the offset is a register, and there are no steps. `inside` tells whether the row goes so far;
    None if it surely does.
    """

    step: int
    offset: int | Reg
    inside: Reg | None = None

    def behind(self, pointer: Reg) -> object:
        """Return the address of the vector, for a pointer to the thread's part."""
        return ptx.addr(pointer, self.offset) if isinstance(self.offset, int) else ptx.addr(pointer + self.offset)


class Source(Protocol):
    """Whatever has a vector of the row at each place."""

    def at(self, place: Place) -> Sequence[Reg]:
        """Return f32 registers with the elements there, not to be written to."""


@dataclass(frozen=True, slots=True)
class Held:
    """A row in registers."""

    vectors: Sequence[Sequence[Reg]]

    def at(self, place: Place) -> Sequence[Reg]:
        """Return the registers; nothing is emitted."""
        return self.vectors[place.step]


@dataclass(frozen=True, slots=True)
class Staged:
    """A row in shared memory."""

    dtype: PtxType
    start: Reg

    def at(self, place: Place) -> Sequence[Reg]:
        """Load the vector."""
        return load(self.dtype, place.behind(self.start), space="shared")


@dataclass(frozen=True, slots=True)
class Columns:
    """A vector of as many elements as a row, in global memory, the same for all rows."""

    dtype: PtxType
    pointer: Reg

    def at(self, place: Place) -> Sequence[Reg]:
        """Load the vector; what lies beyond the row is 0."""
        return load(self.dtype, place.behind(self.pointer), place.inside, nc=True)


class Row:
    """The part of a row that is this thread's, while a kernel is traced.

    `number` is the row that the block (with short rows: the thread's lanes) begins with, `rank` the block's place in
    the cluster, `tid` the thread's in the block.
    """

    def __init__(self, plan: Plan, count: int, exchanges: int = 1) -> None:
        """Find the place among `count` rows. `reduce` can be called once for each of `exchanges`, its `slot`."""
        self.plan = plan
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

    # --- where --------------------------------------------------------------------------------------

    def _none_behind(self, count: int) -> Reg:
        """Return how many vectors the row has: none if it is behind the last."""
        return ptx.selp(u32, reg.scalar(u32), self.plan.slice, 0, self.number < count)

    def _rest(self) -> Reg:
        """Return how many vectors the block's slice has."""
        return (self.plan.vectors - self.rank * self.plan.slice).min(self.plan.slice)

    def _held_places(self) -> tuple[Place, ...]:
        """Return the vectors of this thread, each with a predicate if the row may end before it."""
        places = []
        for first in range(0, self.plan.slice, self.plan.lanes):
            doubtful = first + self.plan.lanes > self._sure
            inside = self.lane + first < self.limit if doubtful else None
            places.append(Place(first // self.plan.lanes, first * vectors.BYTES, inside))
        return tuple(places)

    def pointer(self, array: TensorSpec) -> Reg:
        """Return where this thread's part of row `number` begins in a matrix; of a vector, the same of all rows."""
        (pointer,) = ptx.global_ptrs(array)
        if array.shape is not None and len(array.shape) > 1:
            pointer += self.number * (self.plan.columns * self.plan.dtype.bytes)
        if self.plan.cluster > 1:
            pointer += self.rank * (self.plan.slice * vectors.BYTES)
        return pointer if self.plan.shared else pointer + self.lane * vectors.BYTES

    # --- what ---------------------------------------------------------------------------------------

    def hold(self, *matrices: TensorSpec, fill: float = 0.0) -> list[Source]:
        """Fetch the row of each matrix. In registers, what lies beyond it is `fill`, which must change nothing."""
        pointers = [self.pointer(matrix) for matrix in matrices]
        if self.plan.shared:
            return self._staged(pointers)
        rows = list[Source]()
        for pointer in pointers:
            at = [(place.behind(pointer), place.inside) for place in self._places]
            rows.append(Held([load(self.plan.dtype, *each, fill) for each in at]))
        self.meet()
        return rows

    def _staged(self, pointers: Sequence[Reg]) -> list[Source]:
        """Have one thread copy the rows to shared memory, and wait for them."""
        full, size = smem.mbarrier(1), self.limit * vectors.BYTES
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
        return [Staged(self.plan.dtype, reg.from_(tile, u32)) for tile in tiles]

    def columns(self, vector: TensorSpec) -> Source:
        """Return what fetches a vector, the same for all rows, when it is used."""
        return Columns(self.plan.dtype, self.pointer(vector))

    def each(self, *sources: Source) -> Iterator[tuple[Any, ...]]:
        """Walk over this thread's vectors: the place, and the elements that each source has there.

        In registers this is a loop of Python, of eight rounds at most by `Plan.of`; in shared memory one of the GPU.
        """
        for place in self.places():
            yield (place, *(source.at(place) for source in sources))

    def places(self) -> Iterator[Place]:
        """Walk over this thread's vectors."""
        if self.plan.shared:
            for index in ptx.range_(self.lane, self.limit, self.plan.lanes):
                yield Place(0, index * vectors.BYTES)
        yield from self._places

    def store(self, pointer: Reg, place: Place, values: Sequence[Reg]) -> None:
        """Store a vector of results."""
        vectors.store(self.plan.dtype, place.behind(pointer), values, inside=place.inside)

    # --- together -----------------------------------------------------------------------------------

    def sum(self, *numbers: Reg, slot: int | Reg = 0, phase: int | Reg = 0) -> None:
        """Replace each number by its sum over the row."""

        def merge(width: int) -> None:
            for number in numbers:
                ptx.warp.reduce_sum(number, width=width)

        self.reduce(numbers, merge, slot, phase)

    def reduce(
        self, numbers: Sequence[Reg], merge: Callable[[int], None], slot: int | Reg = 0, phase: int | Reg = 0
    ) -> None:
        """Combine f32 registers, one or two, over all threads of the row; all get the same bits.

        `merge(width)` combines them, in place, over every group of `width` lanes. It is called for the lanes of a warp,
        for the warps, whose numbers change places through shared memory, and for the blocks of a cluster. A slot is
        for one call, or in a loop for every second one, between `meet` and `part`: then `phase` is its uses' parity.
        """
        merge(min(self.plan.lanes, 32))
        if self.plan.warps > 1:
            self._between_warps(numbers, slot)
            merge(self.plan.warps)
        if self.plan.cluster > 1:
            self._between_blocks(numbers, slot, phase)
            merge(self.plan.cluster)

    def _between_warps(self, numbers: Sequence[Reg], slot: int | Reg) -> None:
        """Give lane i of each warp the numbers of warp i, modulo the number of warps."""
        with ptx.if_((self.tid & 31) == 0):
            for index, number in enumerate(numbers):
                self._parts.store(number, slot, index, self.tid >> 5)
        ptx.bar.sync(0)
        for index, number in enumerate(numbers):
            ptx.ld(f32, number, self._parts.address(slot, index, self.tid & (self.plan.warps - 1)), space="shared")

    def _introduce(self, exchanges: int) -> None:
        """Make the barriers that count what other blocks send; `meet` waits until all blocks have done so."""
        self._arrived = smem.mbarrier(exchanges)
        self._shares = smem.alloc(f32, (exchanges, NUMBERS, self.plan.cluster))
        with ptx.if_(self.tid == 0):
            for barrier in self._arrived:
                ptx.mbarrier.init(barrier, 1)
            ptx.fence.mbarrier_init()
        ptx.cluster.arrive(sem="relaxed")  # the fence has told all that they must know

    def meet(self) -> None:
        """Wait until every block of the cluster can be sent to: before the first `reduce`, and once after `part`."""
        if self.plan.cluster > 1:
            ptx.cluster.wait()

    def part(self) -> None:
        """Let all blocks of the cluster use the slots again that this thread has read."""
        if self.plan.cluster > 1:
            ptx.cluster.arrive()

    def _between_blocks(self, numbers: Sequence[Reg], slot: int | Reg, phase: int | Reg) -> None:
        """Give lane i of each warp the numbers of block i, modulo the size of the cluster.

        Thread i sends to block i, and no block ends before it has got what all others send: none is left too early.
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
