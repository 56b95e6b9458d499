"""`inactive-lane`: `shfl` reads a register of a lane that is inactive or not in the membermask.

Manual: "shfl.sync": the result is undefined if the source lane is inactive or not in membermask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.undefined import Origin
from pyptx_sim.numerics.membermasks import LANE_BITS, ballot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.instructions.compiling.bound import BoundInstruction
    from pyptx_sim.instructions.compiling.carrying import Carried
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Operation

_ALL = np.uint32(0xFFFFFFFF)
_HELP = "read only lanes that execute the instruction and are in its membermask: __shfl_sync, cg::tiled_partition"


def reading_lanes(
    operands: BoundInstruction, operation: Operation, step: Action, readers: Sequence[Reader], result: Carried | None
) -> Action:
    """Wrap the compiled `shfl` in `step`: its result is undefined in each lane whose source lane does not participate.

    `readers` read the source operands; the last one reads the membermask, if the instruction has one.
    """
    lanes_of, opcode, pc = operation.source_lanes, ".".join(operands.opcode), operands.pc
    synchronizes = "sync" in operands.opcode
    if lanes_of is None or result is None:
        return step

    def run(wave: Wave, lanes: Lanes) -> None:
        named = readers[-1](wave, lanes) if synchronizes else _ALL
        participating = ballot(lanes.full_mask) & named
        if (participating == _ALL).all():
            step(wave, lanes)
            return
        shape = (lanes.height, WARP)
        sources = np.broadcast_to(lanes_of(*(np.broadcast_to(read(wave, lanes), shape) for read in readers)), shape)
        # an active lane may read its own register even if the membermask does not include the lane
        members = participating | (ballot(lanes.full_mask) & LANE_BITS)
        absent = lanes.full_mask & (members & LANE_BITS[sources] == 0)
        step(wave, lanes)
        if absent.any():
            row, lane = (int(part[0]) for part in np.nonzero(absent))
            warp, source = int(lanes.row_numbers()[row]), int(sources[row, lane])
            is_named = bool(np.broadcast_to(named, shape)[row, lane] >> source & 1)
            why = _why(wave, warp, source, named=is_named)
            what = f"{opcode} of lane {source}"
            label = f"read by lane {lane} of {wave.geometry.warp_name(warp)}"
            origin = Origin(
                "inactive-lane",
                what,
                pc,
                _HELP,
                label=label,
                fault="use of undefined result",
                notes=(f"lane {source} {why}",),
            )
            result.spoil(wave, lanes, absent, origin)

    return run


def _why(wave: Wave, warp: int, lane: int, *, named: bool) -> str:
    """Return, for a message, why a lane does not participate in a `shfl`, such as "is not in the membermask"."""
    if not wave.geometry.threads[warp, lane]:
        return "was never launched"
    if not named:
        return "is not in the membermask"
    return "does not execute the instruction" if wave.live[warp, lane] else "exited without executing the instruction"
