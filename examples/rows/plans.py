"""Rows of a matrix: who works on one, where it waits between two passes, how numbers are combined over it.

The norms and softmax read a row twice or more and may fetch it once. A `Plan` says where it is meanwhile:

- up to 1024 elements, in the registers of a few lanes; a block has several rows, and they need no shared memory;
- up to 16384, in the registers of a block of 128 to 512 threads, 32 values to each;
- up to 112 KiB, in shared memory, where one bulk copy brings it: two blocks still fit an SM, one copies while the other
  computes;
- beyond, in a cluster of 2, 4 or 8 blocks, a slice to each, in registers if it fits and in shared memory if not.

A block has one row, or several short ones. Blocks that stay, and fetch their next row by a bulk copy while they work on
one, were 5% slower on an H100: each row is read from shared memory once more, and the first bytes of a new block come
while others still compute.

Memory is busy if enough bytes are on their way: 4.3 TB/s times 0.7 us of latency are 3 MB, or 23 KB for each of 132 SMs
(Little's law). Here they are 64 KB and more, and 32 KB where rows are shorter than 512 bytes: a thread starts all its
loads, up to eight of 16 bytes, before it uses the first, and with 32 values it has some 56 registers, so that an SM
holds 1100 threads. Neighbours take neighbouring vectors.

Weights, which all rows share, are read by `ld.global.nc`, which ptxas may move across the stores of results; rows are
not, as a caller may pass `out=X`. `L1::no_allocate` for what is read once is no help: on an H200, it costs 5% of the
time of a large norm, and 10% of SwiGLU's.

Blackwell has accesses of 32 bytes, and arithmetic on two f32 at a time: `Target` says so, and a plan is made for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from examples.overlap import ATTRIBUTES
from examples.rows.vectors import BYTES, Vector

from pyptx.types import PtxType, bf16, f32, f32x2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HELD = 32  # values of a row that a thread holds
FEWEST, MOST = 128, 512  # threads of a block
COMFORTABLE, AVAILABLE = 112 << 10, 224 << 10  # bytes of shared memory for rows: of two blocks to an SM, and of one
CLUSTERS = (2, 4, 8)  # larger ones are not portable


@dataclass(frozen=True, slots=True)
class Target:
    """What a device can: the bytes of its widest access to global memory, and what it computes with.

    `number` is f32, or f32x2 where one instruction adds or multiplies two of them.
    """

    arch: str
    widest: int
    number: PtxType

    def vector(self, dtype: PtxType, size: int) -> Vector:
        """Return the widest vectors of `dtype` of which `size` bytes are made, a multiple of 16."""
        return Vector(dtype, BYTES if size % self.widest else self.widest, self.number)


HOPPER = Target("sm_90a", BYTES, f32)
BLACKWELL = Target("sm_100a", 2 * BYTES, f32x2)


class Launch(TypedDict):
    """What `kernel` takes of a plan."""

    grid: Callable[[int], int]
    block: int
    cluster: int
    arch: str
    raw_directives: Sequence[tuple[str, Sequence[object]]]
    launch: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows of `columns` elements are shared out: over `lanes` threads in each of `cluster` blocks.

    A block works on `rows` rows, more than one only if lanes of one warp share a row. `shared` says that rows wait in
    shared memory instead of registers. What `overlaps` begins before the launch in front of it has ended.

    Rows are whole vectors of 16 bytes, so that each begins at a multiple of 16. Vectors are as wide as `target` allows
    if all rows begin at multiples of that, and never wait in shared memory, where 32 bytes would be two accesses, whose
    lanes meet in banks. Raise ValueError for numbers that don't go together.
    """

    columns: int
    dtype: PtxType = f32
    lanes: int = FEWEST
    rows: int = 1
    cluster: int = 1
    shared: bool = False
    target: Target = HOPPER
    overlaps: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in {f32, bf16} or self.columns * self.dtype.bytes % BYTES:
            raise ValueError(f"rows of {self.columns} {self.dtype}: a multiple of 4 f32 or of 8 bf16 is needed")
        if self.lanes not in {2**n for n in range(1, 10)} or (self.rows > 1 and (self.lanes > 32 or self.cluster > 1)):
            raise ValueError(f"{self.rows} rows over {self.lanes} lanes: a power of two, of one warp for several rows")
        if self.last < 1:
            raise ValueError(f"{self.vectors} vectors leave none to the last of {self.cluster} blocks")
        if self.shared and self.slice * BYTES > AVAILABLE:
            raise ValueError(f"{self.columns} {self.dtype} do not fit the shared memory of {self.cluster} blocks")

    @classmethod
    def of(cls, columns: int, dtype: PtxType = f32, target: Target = HOPPER) -> Plan:
        """Choose for the length of a row; see the top of this file. Raise ValueError for one that fits nowhere."""
        if columns <= HELD * 32:
            vectors = columns / target.vector(dtype, columns * dtype.bytes).elements
            lanes = power_of_two(vectors, 2, 32)
            return cls(columns, dtype, lanes, FEWEST // lanes, target=target)
        if HELD * MOST < columns <= COMFORTABLE // dtype.bytes:
            return cls(columns, dtype, MOST, shared=True, target=target)
        for cluster in (1, *CLUSTERS):
            if columns <= cluster * HELD * MOST:
                lanes = power_of_two(columns / cluster / HELD, FEWEST, MOST)
                return cls(columns, dtype, lanes, cluster=cluster, target=target)
        return cls(columns, dtype, MOST, cluster=CLUSTERS[-1], shared=True, target=target)

    @classmethod
    def block(cls, columns: int, target: Target = HOPPER) -> Plan:
        """Give each f32 row a block of 128 threads, up to 64 values to each, longer rows to shared memory."""
        return cls(columns, shared=columns > 2 * HELD * FEWEST, target=target)

    @property
    def vector(self) -> Vector:
        """How a thread accesses a row."""
        if self.shared:
            return Vector(self.dtype, BYTES, self.target.number)
        return self.target.vector(self.dtype, self.columns * self.dtype.bytes)

    @property
    def per_vector(self) -> int:
        """The elements of a vector."""
        return self.vector.elements

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
            "arch": self.target.arch,
            "raw_directives": self.directives,
            "launch": ATTRIBUTES if self.overlaps else {},
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
