"""What the entry and its target allow of a launch: a GPU refuses the rest before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.plugins.manager import manager
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.geometry import Launch, extent_of, volume
from pyptx_sim.program.windows import SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.machine.geometry import Extent
    from pyptx_sim.program.program import Program


_ONE = (1, 1, 1)

Count: TypeAlias = "int | Sequence[int]"


def launch_of(program: Program, counts: tuple[Count, Count, Count], shared_bytes: int) -> Launch:
    """Return the launch with this grid, block and cluster; LaunchError for what the entry or its target does not allow.

    A launch that names no cluster gets the one that the entry requires. Manual: ".reqnctapercluster".
    """
    names = ("grid", "block", "cluster")
    grid, block, cluster = (extent_of(count, name) for count, name in zip(counts, names, strict=True))
    required = extent_of(program.required_cluster, "cluster") if program.required_cluster else cluster
    cluster = required if cluster == _ONE else cluster
    if program.counts_clusters:
        grid = (grid[0] * cluster[0], grid[1] * cluster[1], grid[2] * cluster[2])
    launch = Launch(grid, block, cluster, shared_bytes)
    _check_cluster(program, launch, required)
    _check_block(program, launch)
    _check_shared(program, launch)
    return launch


def _check_cluster(program: Program, launch: Launch, required: Extent) -> None:
    if launch.cluster != required:
        raise LaunchError(
            f"{program.entry.name} requires clusters of {required} blocks (.reqnctapercluster), not {launch.cluster}",
            hint="launch it with the cluster that it was written for, or name none",
        )
    target = manager().target(program.target)
    if launch.cluster_size > target.cluster_optin:
        raise LaunchError(
            f"clusters of {launch.cluster_size} blocks, where {target.name} has clusters of {target.cluster_optin}",
            hint="launch smaller clusters, or compile for a device that has them: sm_90 and later",
        )
    largest = program.largest_cluster
    if largest is not None and launch.cluster_size > _product(largest):
        raise LaunchError(
            f"{program.entry.name} allows clusters of {_product(largest)} blocks (.maxclusterrank), not "
            f"{launch.cluster_size}",
            hint="launch smaller clusters",
        )


def check_seed(seed: object) -> None:
    """Raise LaunchError for a seed that NumPy's generators would refuse."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise LaunchError(f"seed={seed!r} is no seed", hint="pass an integer from 0 up; 0 is the fixed order")


def _check_block(program: Program, launch: Launch) -> None:
    required, largest = program.required_block, program.largest_block
    if required is not None and (*required, 1, 1)[:3] != launch.block:
        raise LaunchError(
            f"{program.entry.name} requires blocks of {required} threads (.reqntid), not {launch.block}",
            hint="launch it with the block that it was written for",
        )
    if largest is not None and volume(launch.block) > _product(largest):
        raise LaunchError(
            f"{program.entry.name} allows blocks of {_product(largest)} threads (.maxntid), not {volume(launch.block)}",
            hint="launch smaller blocks",
        )


def _product(extents: tuple[int, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _check_shared(program: Program, launch: Launch) -> None:
    target = manager().target(program.target)
    static = program.shared.end - SHARED_BASE
    if static > target.shared_static:
        raise LaunchError(
            f"{program.entry.name} declares {static} bytes of shared memory; {target.name} has {target.shared_static}",
            hint="make the large ones dynamic: .extern .shared, and shared_bytes at launch",
        )
    asked = program.shared.dynamic - SHARED_BASE + launch.shared_bytes if launch.shared_bytes else static
    if asked > target.shared_optin:
        raise LaunchError(
            f"a block of {program.entry.name} needs {asked} bytes of shared memory; {target.name} has "
            f"{target.shared_optin}",
            hint="use smaller tiles or fewer stages",
        )
