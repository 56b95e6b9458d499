"""What the entry and its target allow of a launch: a GPU refuses the rest before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.plugins.manager import manager
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.geometry import volume
from pyptx_sim.program.windows import SHARED_BASE

if TYPE_CHECKING:
    from pyptx_sim.machine.geometry import Launch
    from pyptx_sim.program.program import Program


def check_limits(program: Program, launch: Launch) -> None:
    """Raise LaunchError for a block or for shared memory that the entry or its target does not allow."""
    _check_block(program, launch)
    _check_shared(program, launch)


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
