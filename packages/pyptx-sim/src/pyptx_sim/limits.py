"""Launch limits of the entry and its target; a GPU rejects such launches before they start."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.manager import manager
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.geometry import (
    MOST_BLOCKS,
    MOST_WARPS,
    MULTIPROCESSORS,
    SHARED_UNIT,
    Configuration,
    extent_of,
    volume,
)
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.launch import Launch
    from pyptx_sim.machine.geometry import Extent
    from pyptx_sim.program.program import Program


_ONE = (1, 1, 1)

Count: TypeAlias = "int | Sequence[int]"


def configuration_of(program: Program, launch: Launch) -> Configuration:
    """Return grid, block and cluster of a launch; LaunchError if the entry or its target does not allow them.

    Without `block` or `cluster`, the entry's `.reqntid` or `.reqnctapercluster` is used. Manual: ".reqntid",
    ".reqnctapercluster".
    """
    grid, block = extent_of(launch.grid, "grid"), extent_of(_block(program, launch), "block")
    cluster = extent_of(launch.cluster, "cluster")
    required = extent_of(program.required_cluster, "cluster") if program.required_cluster else cluster
    cluster = required if cluster == _ONE else cluster
    if program.counts_clusters:
        grid = (grid[0] * cluster[0], grid[1] * cluster[1], grid[2] * cluster[2])
    options = (launch.shared_bytes, launch.cooperative, launch.resident_blocks)
    configuration = Configuration(grid, block, cluster, *options)
    _check_cluster(program, configuration, required)
    _check_block(program, configuration)
    _check_shared(program, configuration)
    if launch.cooperative:
        _check_resident(program, configuration)
    return configuration


def _block(program: Program, launch: Launch) -> Count:
    block = program.required_block if launch.block is None else launch.block
    if block is None:
        raise LaunchError(
            f"{program.entry.name} has no CTA size: no .reqntid, and no block=",
            help="pass block=… (--block)",
        )
    return block


def _check_cluster(program: Program, launch: Configuration, required: Extent) -> None:
    if launch.cluster != required:
        raise LaunchError(
            f"{program.entry.name} requires clusters of {required} CTAs (.reqnctapercluster), got {launch.cluster}",
            help=f"pass cluster={required}, or omit cluster=",
        )
    target = manager().target(program.target)
    if launch.cluster_size > target.cluster_optin:
        raise LaunchError(
            f"cluster of {launch.cluster_size} CTAs, {target.name} supports {target.cluster_optin}",
            help="launch smaller clusters, or compile for a target with larger ones (sm_90 and later)",
        )
    largest = program.largest_cluster
    if largest is not None and launch.cluster_size > _product(largest):
        raise LaunchError(
            f"{program.entry.name} allows at most {counted(_product(largest), 'CTA')} per cluster (.maxclusterrank), "
            f"got {launch.cluster_size}",
            help="launch smaller clusters",
        )


def check_seed(seed: object) -> None:
    """Raise LaunchError for a seed that NumPy's generators would reject."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise LaunchError(f"seed must be a non-negative int (0: the fixed schedule), got {seed!r}")


def _check_block(program: Program, launch: Configuration) -> None:
    required, largest = program.required_block, program.largest_block
    if required is not None and (*required, 1, 1)[:3] != launch.block:
        raise LaunchError(
            f"{program.entry.name} requires CTAs of {required} threads (.reqntid), got {launch.block}",
            help=f"pass block={required}, or omit block=",
        )
    if largest is not None and volume(launch.block) > _product(largest):
        raise LaunchError(
            f"{program.entry.name} allows at most {counted(_product(largest), 'thread')} per CTA (.maxntid), got "
            f"{volume(launch.block)}",
            help="launch smaller CTAs",
        )


def _product(extents: tuple[int, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _check_resident(program: Program, launch: Configuration) -> None:
    """Reject a cooperative grid whose CTAs do not fit a GPU at once. CUDA C++ Programming Guide: "Grid Group"."""
    target = manager().target(program.target)
    limits = {
        "warps": MOST_WARPS // launch.warps_per_cta,
        "CTAs per SM": MOST_BLOCKS,
        "shared memory": (target.shared_optin + SHARED_BASE) // aligned(_shared_bytes(program, launch), SHARED_UNIT),
    }
    if program.registers is not None:
        limits["registers"] = target.registers_per_block // (program.registers * WARP * launch.warps_per_cta)
    scarce = min(limits, key=lambda name: limits[name])
    most = MULTIPROCESSORS * limits[scarce] // launch.cluster_size * launch.cluster_size
    if launch.ctas > most:
        raise LaunchError(
            f"cooperative grid of {launch.ctas} CTAs, but only {most} are resident: {MULTIPROCESSORS} SMs with "
            f"{counted(limits[scarce], 'CTA')} each (limited by {scarce})",
            help=f"launch at most {counted(most, 'CTA')}, and loop over the output tiles in each",
        )


def _shared_bytes(program: Program, launch: Configuration) -> int:
    """Return the bytes of shared memory per CTA, including the part that CUDA reserves."""
    return program.shared.dynamic + launch.shared_bytes if launch.shared_bytes else program.shared.end


def _check_shared(program: Program, launch: Configuration) -> None:
    target = manager().target(program.target)
    static = program.shared.end - SHARED_BASE
    if static > target.shared_static:
        raise LaunchError(
            f"{program.entry.name} declares {static} bytes of static shared memory, limit {target.shared_static} "
            f"({target.name})",
            help="use dynamic shared memory: .extern .shared, and shared_bytes= at launch",
        )
    asked = _shared_bytes(program, launch) - SHARED_BASE
    if asked > target.shared_optin:
        raise LaunchError(
            f"{program.entry.name} needs {asked} bytes of shared memory per CTA, limit {target.shared_optin} "
            f"({target.name})",
            help="use smaller tiles or fewer stages",
        )
