"""Positions, in the grid, of the threads of a wave (the CTAs that are resident together)."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.group import WARPGROUP
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask

Extent: TypeAlias = tuple[int, int, int]

# Manual: "Cluster of Cooperative Thread Arrays"; 16 is the non-portable maximum. A CTA has at most 1024 threads.
_MAX_CLUSTER = 16
_MAX_THREADS = 1024

# Device that the number of resident CTAs is modeled on: an H200, with its number of SMs and the limits of an SM.
# CUDA C++ Programming Guide: "Compute Capabilities", table of technical specifications.
MULTIPROCESSORS = 132
MOST_WARPS = 64
MOST_BLOCKS = 32
SHARED_UNIT = 128  # allocation granularity of shared memory, in bytes


def extent_of(value: int | Sequence[int], what: str, least: int = 1) -> Extent:
    """Return one to three counts as (x, y, z), padded with 1; raise LaunchError unless all are integers >= `least`.

    `least` is 0 only for the grid of a launch with an empty array, which does nothing.
    """
    counts = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(counts) <= 3 or not all(_is_count(count, least) for count in counts):
        raise LaunchError(f"{what} must be one to three positive integers, got {value!r}")
    padded = (*(int(count) for count in counts), 1, 1)
    return padded[0], padded[1], padded[2]


def _is_count(value: object, least: int = 1) -> bool:
    if type(value) is int:  # a check of a protocol takes 15 µs
        return value >= least
    return isinstance(value, SupportsIndex) and operator.index(value) >= least and not isinstance(value, bool)


def volume(extent: Extent) -> int:
    """Return x * y * z, the number of elements of a three-dimensional extent."""
    return extent[0] * extent[1] * extent[2]


@dataclass(frozen=True, slots=True)
class Configuration:
    """Validated grid, block and cluster of a launch, and its dynamic shared memory.

    `cooperative`: all CTAs are resident at once. `resident_blocks`: maximum number of resident CTAs, if the launch
    specifies it.
    """

    grid: Extent
    block: Extent
    cluster: Extent
    shared_bytes: int
    cooperative: bool = False
    resident_blocks: int | None = None

    def __post_init__(self) -> None:
        """Validate the launch; raise LaunchError for a configuration that no GPU can launch."""
        if volume(self.block) > _MAX_THREADS:
            raise LaunchError(
                f"block {self.block} has {volume(self.block)} threads, limit {_MAX_THREADS}",
                help="launch smaller CTAs",
            )
        if volume(self.cluster) > _MAX_CLUSTER:
            raise LaunchError(
                f"cluster {self.cluster} has {volume(self.cluster)} CTAs, limit {_MAX_CLUSTER}",
                help="launch smaller clusters",
            )
        if any(count % size for count, size in zip(self.grid, self.cluster, strict=True)):
            raise LaunchError(
                f"grid {self.grid} is not a multiple of cluster {self.cluster}",
                help="pass grid= in CTAs, not in clusters",
            )
        if self.shared_bytes < 0:
            raise LaunchError(f"shared_bytes must not be negative, got {self.shared_bytes}")
        if self.resident_blocks is not None:
            self._check_resident(self.resident_blocks)

    def _check_resident(self, blocks: int) -> None:
        if not _is_count(blocks):
            raise LaunchError(f"resident_blocks must be a positive integer or None, got {blocks!r}")
        least = self.ctas if self.cooperative else self.cluster_size
        if blocks < least:
            what = "cooperative grid" if self.cooperative else "cluster"
            raise LaunchError(
                f"{what} of {counted(least, 'CTA')}, but resident_blocks={blocks}",
                help="launch fewer CTAs, or raise resident_blocks",
            )

    @property
    def warps_per_cta(self) -> int:
        """Number of warps per CTA; the last warp may be partial."""
        return -(-volume(self.block) // WARP)

    @property
    def cluster_size(self) -> int:
        """Number of CTAs per cluster."""
        return volume(self.cluster)

    @property
    def ctas(self) -> int:
        """Number of CTAs of the grid."""
        return volume(self.grid)

    @property
    def clusters(self) -> int:
        """Number of clusters of the grid."""
        return self.ctas // self.cluster_size

    def cluster_position(self, number: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the (x, y, z) of clusters in the grid of clusters, by their numbers in launch order."""
        across = self.grid[0] // self.cluster[0]
        down = self.grid[1] // self.cluster[1]
        return number % across, number // across % down, number // (across * down)

    def first_cta(self, cluster: int) -> Extent:
        """Return the (x, y, z) in the grid of a cluster's first CTA, by the cluster's number in launch order."""
        position = self.cluster_position(np.array(cluster))
        x, y, z = (int(place) * size for place, size in zip(position, self.cluster, strict=True))
        return x, y, z


@dataclass(frozen=True, slots=True)
class WaveWarpgroups:
    """Complete warpgroups of a wave: `warps`, `[warpgroups, 4]`, and `cta`, the index of each one's CTA in the wave.

    `of`: the warpgroup of each warp, -1 for warps of an incomplete warpgroup.
    """

    warps: IntArray
    cta: IntArray
    of: IntArray

    @property
    def count(self) -> int:
        """Number of complete warpgroups."""
        return len(self.warps)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Positions of the CTAs, warps and threads of one wave, whose clusters are given by numbers in launch order."""

    launch: Configuration
    clusters: IntArray

    @property
    def ctas(self) -> int:
        """Number of CTAs of the wave."""
        return len(self.clusters) * self.launch.cluster_size

    @cached_property
    def numbers(self) -> IntArray:
        """Launch-order number, in the grid, of each CTA of the wave; launch order is cluster by cluster."""
        size = self.launch.cluster_size
        return (self.clusters[:, None] * size + np.arange(size, dtype=np.int64)).reshape(-1)

    @property
    def height(self) -> int:
        """Number of warps of the wave."""
        return self.ctas * self.launch.warps_per_cta

    @cached_property
    def cta(self) -> IntArray:
        """CTA slot of each warp: the index of its CTA in the wave, from 0."""
        return np.repeat(np.arange(self.ctas, dtype=np.int64), self.launch.warps_per_cta)

    @cached_property
    def warp(self) -> IntArray:
        """Number of each warp in its CTA."""
        return np.tile(np.arange(self.launch.warps_per_cta, dtype=np.int64), self.ctas)

    @cached_property
    def warpgroups(self) -> WaveWarpgroups:
        """Complete warpgroups of the wave."""
        whole = self.warp < self.launch.warps_per_cta // WARPGROUP * WARPGROUP
        warps = np.flatnonzero(whole).reshape(-1, WARPGROUP)
        of = np.full(self.height, -1, np.int64)
        of[warps] = np.arange(len(warps))[:, None]
        return WaveWarpgroups(warps, self.cta[warps[:, 0]], of)

    @cached_property
    def thread(self) -> IntArray:
        """Linear number of each lane's thread in its CTA, `[height, 32]`."""
        return self.warp[:, None] * WARP + np.arange(WARP, dtype=np.int64)

    @cached_property
    def threads(self) -> Mask:
        """Whether each lane has a thread, `[height, 32]`; false past the CTA's last thread in a partial warp."""
        return self.thread < volume(self.launch.block)

    @cached_property
    def cluster_position(self) -> tuple[IntArray, IntArray, IntArray]:
        """The (x, y, z) of each warp's cluster in the grid of clusters."""
        launch = self.launch
        return launch.cluster_position(self.clusters[self.cta // launch.cluster_size])

    @cached_property
    def cta_in_cluster(self) -> tuple[IntArray, IntArray, IntArray]:
        """The (x, y, z) of each warp's CTA in its cluster."""
        rank = self.rank
        x, y, _ = self.launch.cluster
        return rank % x, rank // x % y, rank // (x * y)

    @cached_property
    def rank(self) -> IntArray:
        """Rank of each warp's CTA in its cluster."""
        return self.cta % self.launch.cluster_size

    @cached_property
    def ctaid(self) -> tuple[IntArray, IntArray, IntArray]:
        """The (x, y, z) of each warp's CTA in the grid."""
        parts = zip(self.cluster_position, self.launch.cluster, self.cta_in_cluster, strict=True)
        x, y, z = (outer * size + inner for outer, size, inner in parts)
        return x, y, z

    def thread_name(self, warp: int, lane: int) -> str:
        """Return the CUDA name of a lane's thread: `thread (33, 0, 0) of CTA (1, 0, 0)`."""
        number = int(self.thread[warp, lane])
        x, y, _ = self.launch.block
        cta = self.cta_name(int(self.cta[warp]))
        return f"thread ({number % x}, {number // x % y}, {number // (x * y)}) of {cta}"

    def warp_name(self, warp: int) -> str:
        """Return the CUDA name of a warp: `warp 0, CTA (1, 0, 0)`."""
        return f"warp {int(self.warp[warp])}, {self.cta_name(int(self.cta[warp]))}"

    def cta_name(self, slot: int) -> str:
        """Return the CUDA name of the CTA with index `slot` in the wave: `CTA (1, 0, 0)`."""
        return f"CTA {tuple(int(axis[slot * self.launch.warps_per_cta]) for axis in self.ctaid)}"
