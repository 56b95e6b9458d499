"""Checks of instructions that lanes of a warp execute together, and results that are undefined if lanes are missing.

An instruction with a membermask waits until all lanes of it that have not exited execute it with the same membermask.
Its behavior is undefined for a lane that its own membermask does not name. Manual: "vote.sync", "match.sync",
"redux.sync", "elect.sync", "shfl.sync". All 32 lanes have to execute an `.aligned` instruction. Manual: "mma".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.synchronization.barriers import compile_gate
from pyptx_sim.machine.undefined import Origin
from pyptx_sim.numerics.membermasks import LANE_BITS, alike, ballot
from pyptx_sim.program.flow import converges, is_gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

__all__ = ["checking_lanes", "leaving_undefined"]

_RULE = "warp-divergence"


def checking_lanes(operands: Operands, step: Action) -> Action:
    """Return a step that reports lanes outside their own membermask; of an `.aligned` instruction, missing lanes."""
    if not operands.checked:
        return step
    aligned, outside = bool(operands.word("aligned")), _outside(operands)

    def run(wave: Wave, lanes: Lanes) -> None:
        found = _absent(lanes) if aligned else outside(wave, lanes)
        if found is not None and found.any():
            _report(wave, lanes, found, operands.pc, aligned=aligned)
        step(wave, lanes)

    return run


def _report(wave: Wave, lanes: Lanes, found: Mask, pc: int, *, aligned: bool) -> None:
    """Report the lanes of the first warp that has any."""
    row = int(found.any(axis=1).argmax())
    warp, which = int(lanes.row_numbers()[row]), np.flatnonzero(found[row]).tolist()
    name, count = wave.geometry.warp_name(warp), int(np.count_nonzero(found))
    message = f"lanes {which} of {name} execute this, and its mask does not name them"
    hint = "name all lanes that come here in the mask: -1 for a whole warp"
    if aligned:
        message, count = f"{name} executes an instruction for whole warps without its lanes {which}", len(which)
        hint = "let all 32 lanes execute it together, none guarded off or exited, in a block of whole warps"
    wave.machine.log.report(_RULE, message, pc, hint=hint, count=count, cause=(wave.forced.get(warp, pc), _RULE))


def leaving_undefined(operands: Operands, step: Action) -> Action:
    """Return a step whose results are undefined in lanes that execute it without all lanes that have to.

    That is reported by then, and a use of such a result counts as another one of the same cause.
    """
    results = operands.results() if operands.checked and is_gate(operands.opcode) else ()
    if not results:
        return step
    outside, deserted = _outside(operands), _deserted(operands)
    what = f"{'.'.join(operands.opcode)}, which not all lanes that have to execute together"
    hint = "let all lanes that the mask names execute this instruction together"

    def run(wave: Wave, lanes: Lanes) -> None:
        strangers, alone = outside(wave, lanes), deserted(wave, lanes)
        step(wave, lanes)
        if strangers is None and alone is None:
            return
        where = np.logical_or.reduce([each for each in (strangers, alone) if each is not None])
        if where.any():
            warp = int(lanes.row_numbers()[where.any(axis=1).argmax()])
            origin = Origin(_RULE, what, wave.forced.get(warp, operands.pc), hint)
            for each in results:
                each.spoil(wave, lanes, where, origin)

    return run


def _absent(lanes: Lanes) -> Mask | None:
    """Return the lanes that are missing in warps of which some lanes are active, `[rows, 32]`; None if none is."""
    return None if lanes.mask is None else ~lanes.mask & lanes.mask.any(axis=1, keepdims=True)


def _outside(operands: Operands) -> Callable[[Wave, Lanes], Mask | None]:
    """Return what finds the active lanes outside their own membermask, bool `[rows, 32]`; None if there are none.

    An undefined membermask is not checked: results are undefined for that reason.
    """
    if converges(operands.opcode) != "lanes":
        return lambda _wave, _lanes: None
    gate = compile_gate(operands.unchecked())
    membermask = operands.carried(operands.operands[-1], "u32")

    def find(wave: Wave, lanes: Lanes) -> Mask | None:
        left_out: Array = ~gate.masks(wave, lanes)
        if not left_out.any():
            return None
        unknown = membermask.read(wave, lanes) if membermask is not None and wave.undefined else None
        strangers = lanes.full_mask & (left_out & LANE_BITS != 0)
        return strangers if unknown is None else strangers & (unknown == 0)

    return find


def _deserted(operands: Operands) -> Callable[[Wave, Lanes], Mask | None]:
    """Return what finds the active lanes that execute the instruction without all others that have to, `[rows, 32]`.

    In a warp that has gone on without some lanes, those that have exited since are missing, too.
    """
    gate, aligned = compile_gate(operands.unchecked()), bool(operands.word("aligned"))

    def find(wave: Wave, lanes: Lanes) -> Mask | None:
        named, mask = gate.masks(wave, lanes), lanes.full_mask
        if lanes.mask is None and named.size == 1:
            return None
        missing: Array = named & ~alike(named, mask)
        if not aligned and missing.any():
            warps = lanes.row_numbers()
            forced = np.isin(warps, list(wave.forced))[:, None]
            missing = missing & ballot(np.where(forced, wave.geometry.threads[warps], wave.live[warps]))
        return mask & (missing != 0)

    return find
