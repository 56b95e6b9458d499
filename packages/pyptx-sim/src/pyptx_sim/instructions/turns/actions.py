"""What the machine executes for a step that is a function of a `Turn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.instructions.turns.turn import Turn
from pyptx_sim.machine.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension import Stall
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave

__all__ = ["acting", "ending", "ending_once"]


def acting(run: Callable[[Turn], None]) -> Action:
    """Return what the machine executes for an instruction that does `run`."""
    return lambda wave, lanes: run(Turn(wave, lanes))


def ending(run: Callable[[Turn], Stall | None], following: int, *, together: bool) -> Terminator:
    """Return what ends a block with `run`, warp by warp: where that returns what it waits for, it runs again later.

    `together`: the lanes of a warp meet there, whenever it has nothing to wait for any more.
    """

    def end(wave: Wave, group: Group) -> None:
        splits = wave.splits
        splits.block[group.ids] = following
        for split in group.ids:
            lanes = Lanes(splits.warp[split][None], splits.mask[split][None], 1, whole=False)
            stall = run(Turn(wave, lanes))
            if stall is not None:
                splits.block[split] = following - 1
                wave.stall(split[None], stall)
            elif together and wave.machine.observers.active:
                wave.machine.observers.warp_sync(*lanes.by_warp(), wave.pc)

    return end


def ending_once(run: Callable[[Turn], None], following: int, *, together: bool) -> Terminator:
    """Return what ends a block with `run`, once for all lanes that have come; those that it stalls go on behind it.

    `together`: the lanes of a warp meet there.
    """

    def end(wave: Wave, group: Group) -> None:
        turn = Turn(wave, group.lanes, group.ids)
        if together and turn.observed:
            wave.machine.observers.warp_sync(*group.lanes.by_warp(), wave.pc)
        wave.splits.block[group.ids] = following
        run(turn)

    return end
