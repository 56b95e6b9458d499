"""Rows of a matrix: which threads process a row, where it is kept between two passes, how values are reduced over it.

Norms and softmax read a row twice or more, but can fetch it once. A `Plan` specifies where it is kept:

- up to 1024 elements, in the registers of a few lanes. A thread block (CTA) has several rows and needs no shared
  memory;
- up to 16384, in the registers of a CTA of 128 to 512 threads, 32 values per thread;
- up to 112 KiB, in shared memory, filled by one bulk copy. Two CTAs fit an SM: one copies while the other computes;
- beyond, in a cluster of 2, 4 or 8 CTAs, one slice each, in registers if it fits and else in shared memory.

A CTA has one row, or several short ones. Persistent CTAs, which load their next row by a bulk copy during the current
one, were 5% slower on an H100: they read each row from shared memory once more, and the first loads of new CTAs already
overlap the computation of others.

Memory is saturated if enough bytes are in flight: 4.3 TB/s times 0.7 us of latency are 3 MB, or 23 KB for each of 132
SMs (Little's law). Here 64 KB and more are in flight, 32 KB if rows are below 512 bytes. A thread starts all
its loads, up to eight of 16 bytes, before it uses the first. With 32 values it has about 56 registers, so that an SM
holds 1100 threads. Adjacent threads access adjacent vectors.

Weights, which all rows share, are read by `ld.global.nc`, which ptxas may move across the stores of results. Rows are
not, because a caller may pass `out=X`. `L1::no_allocate` for data that is read once does not help: on an H200, it adds
5% to the time of a large norm, and 10% to that of SwiGLU.

Blackwell has 32-byte accesses and arithmetic on f32x2. A `Target` has these properties, and a plan is for one target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from examples.overlap import ATTRIBUTES
from examples.rows.vectors import BYTES, Vector

from pyptx.types import PtxType, bf16, f32, f32x2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HELD = 32  # maximum number of row elements per thread
FEWEST, MOST = 128, 512  # minimum and maximum number of threads per CTA
COMFORTABLE, AVAILABLE = 112 << 10, 224 << 10  # bytes of shared memory for rows per CTA, with two CTAs per SM, or one
CLUSTERS = (2, 4, 8)  # portable cluster sizes, in CTAs


@dataclass(frozen=True, slots=True)
class Target:
    """Target properties: bytes of the widest global memory access, and the arithmetic type `number`.

    `number` is f32, or f32x2 if one instruction adds or multiplies two f32.
    """

    arch: str
    widest: int
    number: PtxType

    def vector(self, dtype: PtxType, size: int) -> Vector:
        """Return the widest vector of `dtype` that divides `size` bytes, a multiple of 16."""
        return Vector(dtype, BYTES if size % self.widest else self.widest, self.number)


HOPPER = Target("sm_90a", BYTES, f32)
BLACKWELL = Target("sm_100a", 2 * BYTES, f32x2)


class Launch(TypedDict):
    """Arguments of `kernel` that a `Plan` provides."""

    grid: Callable[[int], int]
    block: int
    cluster: int
    arch: str
    raw_directives: Sequence[tuple[str, Sequence[object]]]
    launch: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """Distribution of rows of `columns` elements over `lanes` threads in each of `cluster` CTAs.

    A CTA has `rows` rows, more than one only if lanes of one warp share a row. If `shared`, rows are kept in shared
    memory, not in registers. If `overlaps`, the kernel starts before its prerequisite grid completes.

    Rows are whole vectors of 16 bytes, so each starts at a multiple of 16. Vectors are as wide as `target` allows if
    all rows start at multiples of that; in shared memory they have 16 bytes, since 32 would be two accesses with bank
    conflicts. Raise ValueError for inconsistent values.
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
            raise ValueError(f"{self.rows} rows over {self.lanes} lanes: use a power of two, 32 at most if rows > 1")
        if self.last < 1:
            raise ValueError(f"{self.vectors} vectors leave none to the last of {self.cluster} blocks")
        if self.shared and self.slice * BYTES > AVAILABLE:
            raise ValueError(f"{self.columns} {self.dtype} do not fit the shared memory of {self.cluster} blocks")

    @classmethod
    def of(cls, columns: int, dtype: PtxType = f32, target: Target = HOPPER) -> Plan:
        """Choose a `Plan` for a row length (see the module docstring); raise ValueError if no plan fits it."""
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
        """Return a `Plan` of 128-thread CTAs, one per f32 row: up to 64 values per thread, else in shared memory."""
        return cls(columns, shared=columns > 2 * HELD * FEWEST, target=target)

    @property
    def vector(self) -> Vector:
        """`Vector` with which a thread accesses a row."""
        if self.shared:
            return Vector(self.dtype, BYTES, self.target.number)
        return self.target.vector(self.dtype, self.columns * self.dtype.bytes)

    @property
    def per_vector(self) -> int:
        """Number of elements per vector."""
        return self.vector.elements

    @property
    def vectors(self) -> int:
        """Number of vectors per row."""
        return self.columns // self.per_vector

    @property
    def slice(self) -> int:
        """Number of vectors of a row per CTA; the last CTA of a cluster has `last`."""
        return -(-self.vectors // self.cluster)

    @property
    def last(self) -> int:
        """Number of vectors of a row in the last CTA of a cluster."""
        return self.vectors - (self.cluster - 1) * self.slice

    @property
    def warps(self) -> int:
        """Number of warps per row; 1 if a warp has several rows."""
        return max(self.lanes // 32, 1)

    @property
    def launch(self) -> Launch:
        """Arguments of `kernel`: the grid for B rows, the CTA and the cluster."""
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
        """Cluster directives for ptxas; without them ptxas also emits code for a launch without a cluster."""
        return [("reqnctapercluster", (self.cluster,)), ("explicitcluster", ())] if self.cluster > 1 else []


def power_of_two(least: float, low: int, high: int) -> int:
    """Return the smallest of `low`, `2 * low`, …, `high` that is at least `least`, or `high`."""
    while low < least and low < high:
        low *= 2
    return low
