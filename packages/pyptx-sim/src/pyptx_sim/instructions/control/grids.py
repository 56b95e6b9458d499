"""Dependencies between grids. Manual: "griddepcontrol"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.scheduling.code import Group, Terminator
    from pyptx_sim.machine.wave import Wave


def compile_wait(operands: Operands, following: int) -> Terminator:
    """Compile `griddepcontrol.wait`: wait until the prerequisite grid is complete."""
    del operands

    def wait(wave: Wave, group: Group) -> int | None:
        if not wave.machine.grids.wait(wave, group.ids):
            return following
        wave.splits.block[group.ids] = following
        return None

    return wait


def compile_release(operands: Operands, following: int) -> Terminator:
    """Compile `griddepcontrol.launch_dependents`: dependent grids may start once all CTAs have executed it."""
    del operands

    def release(wave: Wave, group: Group) -> None:
        warps, masks = group.lanes.by_warp()
        wave.machine.grids.release(warps)
        wave.machine.observers.dependents_released(warps, masks)
        wave.splits.block[group.ids] = following

    return release
