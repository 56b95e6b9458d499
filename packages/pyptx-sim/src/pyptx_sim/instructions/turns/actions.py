"""Adapters from functions of an `ExecutionContext` to compiled instructions of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.instructions.turns.turn import ExecutionContext
from pyptx_sim.machine.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension.stall import Stall
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave

__all__ = ["acting", "ending", "ending_once"]


def acting(run: Callable[[ExecutionContext], None]) -> Action:
    """Return a compiled instruction that calls `run` with an `ExecutionContext` of the executing lanes."""
    return lambda wave, lanes: run(ExecutionContext(wave, lanes))


def ending(run: Callable[[ExecutionContext], Stall | None], following: int, *, together: bool) -> Terminator:
    """Return a terminator (compiled last instruction of a block) that calls `run` for one warp at a time.

    If `run` returns a `Stall`, the warp's lanes wait, and `run` is called again later. `together`: the lanes of a warp
    synchronize at the instruction, once `run` returns None.
    """

    def end(wave: Wave, group: Group) -> None:
        splits = wave.splits
        splits.block[group.ids] = following
        for split in group.ids:
            lanes = Lanes(splits.warp[split][None], splits.mask[split][None], 1, whole=False)
            stall = run(ExecutionContext(wave, lanes))
            if stall is not None:
                splits.block[split] = following - 1
                wave.stall(split[None], stall)
            elif together and wave.machine.observers.active:
                wave.machine.observers.warp_sync(*lanes.by_warp(), wave.pc)

    return end


def ending_once(run: Callable[[ExecutionContext], None], following: int, *, together: bool) -> Terminator:
    """Return a terminator (compiled last instruction of a block) that calls `run` once for all converged lanes.

    Lanes that `run` stalls continue after the instruction.
    `together`: the lanes of a warp synchronize at the instruction.
    """

    def end(wave: Wave, group: Group) -> None:
        turn = ExecutionContext(wave, group.lanes, group.ids)
        if together and turn.observed:
            wave.machine.observers.warp_sync(*group.lanes.by_warp(), wave.pc)
        wave.splits.block[group.ids] = following
        run(turn)

    return end
