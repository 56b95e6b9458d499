"""Checks of instructions that lanes of a warp execute together, and results that are undefined if lanes are missing.

An instruction with a membermask waits until all lanes in it that have not exited execute it with the same membermask.
Its behavior is undefined for a lane that its own membermask does not include. Manual: "vote.sync", "match.sync",
"redux.sync", "elect.sync", "shfl.sync". All 32 lanes must execute an `.aligned` instruction. Manual: "mma".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.carrying import undefined_in
from pyptx_sim.instructions.synchronization.barriers import compile_gate
from pyptx_sim.machine.lanes import lane_names
from pyptx_sim.machine.undefined import Origin
from pyptx_sim.numerics.membermasks import LANE_BITS, alike, ballot
from pyptx_sim.program.flow import is_gate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_sim.instructions.compiling.carrying import Carried
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

    UndefinedFragments: TypeAlias = Callable[[Wave, Lanes], tuple[list[Array | None], Origin] | None]

__all__ = ["collective", "collective_end", "undefined_fragments"]

_RULE = "membermask-mismatch"
_WHOLE = "execute the instruction with all 32 lanes: not predicated off, not exited, CTA size a multiple of 32"


def collective(operands: Operands, step: Action, *, reports: bool = True) -> Action:
    """Wrap the compiled instruction `step`: report missing lanes and lanes outside their membermask as a finding.

    Such lanes also make the results undefined; a use of such a result counts as another finding of the same cause.
    In an unchecked run, or if the lanes of a warp do not wait for each other at the instruction, return `step` itself.
    Without `reports`, only make the results undefined.
    """
    if not operands.checked or not is_gate(operands.opcode):
        return step
    aligned, results = bool(operands.word("aligned")), operands.results() if _computes(operands) else ()
    find = _partial if aligned else _misnamed(operands)
    origin = _origin(operands)

    def run(wave: Wave, lanes: Lanes) -> None:
        found = find(wave, lanes)
        if found is None:
            step(wave, lanes)
            return
        at_fault, undefined = found
        if reports and at_fault.any():
            _report(operands, wave, lanes, at_fault, aligned=aligned)
        step(wave, lanes)
        if undefined.any():
            cause = origin(wave, lanes, undefined)
            for each in results:
                each.spoil(wave, lanes, undefined, cause)

    return run


def collective_end(operands: Operands, end: Terminator) -> Terminator:
    """Return a terminator that reports the missing lanes of an `.aligned` instruction before `end`.

    `bar` is aligned without `.aligned`. In an unchecked run, or if the lanes of a warp do not wait for each other at
    the instruction, return `end` itself. A barrier waits for non-exited threads only: exited lanes are not missing.
    Manual: "bar", "barrier.cluster".
    """
    barrier = operands.opcode[0] in {"bar", "barrier"}
    aligned = operands.word("aligned") or operands.opcode[0] == "bar"
    if not (operands.checked and aligned and is_gate(operands.opcode)):
        return end

    def run(wave: Wave, group: Group) -> int | None:
        found = _partial(wave, group.lanes)
        if found is not None:
            missing, _ = found
            if barrier:
                missing = missing & wave.live[group.lanes.row_numbers()]
            if missing.any():
                _report(operands, wave, group.lanes, missing, aligned=True)
        return end(wave, group)

    return run


def undefined_fragments(operands: Operands, carried: Sequence[Carried | None]) -> UndefinedFragments:
    """Return a function that finds undefined bits of a warp's fragments; without all lanes, all bits are undefined.

    The function returns the undefined bits of each register in `carried` and their origin, or None if there are none.
    """
    cause = _origin(operands)

    def find(wave: Wave, lanes: Lanes) -> tuple[list[Array | None], Origin] | None:
        known = undefined_in(wave, lanes, carried) if wave.undefined else None
        found = _partial(wave, lanes) if wave.machine.checked else None
        if found is None:
            return known
        missing, active = found
        own, origin = known or ([None] * len(carried), cause(wave, lanes, active))
        all_bits = (None if each is None else each.all_bits(missing | active) for each in carried)
        together = zip(all_bits, own, strict=True)
        return [bits if bits is None or other is None else bits | other for bits, other in together], origin

    return find


def _origin(operands: Operands) -> Callable[[Wave, Lanes, Mask], Origin]:
    """Return a function that describes, as an `Origin`, why results are undefined in the lanes `undefined`."""
    aligned = bool(operands.word("aligned"))
    what = f"{'.'.join(operands.opcode)}, executed without all lanes of its {'warp' if aligned else 'membermask'}"
    help = _WHOLE if aligned else "execute the instruction with all lanes named in the membermask"

    def origin(wave: Wave, lanes: Lanes, undefined: Mask) -> Origin:
        warp = int(lanes.row_numbers()[undefined.any(axis=1).argmax()])
        return Origin(_RULE, what, wave.forced.get(warp, operands.pc), help, fault="use of undefined result")

    return origin


def _computes(operands: Operands) -> bool:
    """Return whether the instruction writes its results at execution, not when an asynchronous operation completes."""
    meaning = meaning_of(operands.opcode)
    if not isinstance(meaning, InstructionSemantics):
        return True
    return meaning.effect in {"none", "access", "issue"} and meaning.async_registers is None


def _report(operands: Operands, wave: Wave, lanes: Lanes, at_fault: Mask, *, aligned: bool) -> None:
    """Report the lanes `at_fault` of the first warp that has any: lanes missing or outside their membermask."""
    row = int(at_fault.any(axis=1).argmax())
    warp, which = int(lanes.row_numbers()[row]), lane_names(at_fault[row])
    name, count = wave.geometry.warp_name(warp), int(np.count_nonzero(at_fault))
    some, pc = int(np.count_nonzero(at_fault[row])), operands.pc
    if aligned:
        message, count, help = f".aligned instruction executed without {which} of {name}", some, _WHOLE
    else:
        named = np.broadcast_to(compile_gate(operands.unchecked()).masks(wave, lanes), at_fault.shape)
        membermask = int(named[row, at_fault[row].argmax()]) & 0xFFFFFFFF
        message = f"{which} of {name} {'is' if some == 1 else 'are'} not in membermask {membermask:#010x}"
        help = "include every executing lane in the membermask (-1 for a full warp)"
    wave.machine.log.report(_RULE, message, pc, help=help, count=count, cause=(wave.forced.get(warp, pc), _RULE))


def _partial(_wave: Wave, lanes: Lanes) -> tuple[Mask, Mask] | None:
    """Return the inactive and the active lanes, `[rows, 32]` each, of partly active warps; None without such a warp."""
    mask = lanes.mask
    if mask is None:
        return None
    partial = np.asarray(mask.any(axis=1, keepdims=True) & ~mask.all(axis=1, keepdims=True))
    return (partial & ~mask, partial & mask) if partial.any() else None


def _misnamed(operands: Operands) -> Callable[[Wave, Lanes], tuple[Mask, Mask] | None]:
    """Return a function that finds active lanes outside their own membermask, and lanes with undefined results.

    Results are undefined in the lanes outside their membermask, and in lanes whose membermask names a lane that has not
    exited (`_due`) and does not participate. The function returns two bool arrays `[rows, 32]`, or None without
    such lanes. It does not check undefined membermasks: they make the results undefined anyway.
    """
    gate = compile_gate(operands.unchecked())
    membermask = operands.carried(operands.operands[-1], "u32") if gate.varies else None

    def find(wave: Wave, lanes: Lanes) -> tuple[Mask, Mask] | None:
        named, mask = gate.masks(wave, lanes), lanes.full_mask
        together = alike(named, mask)
        missing: Array = named & ~together
        if missing.any():
            missing = missing & _due(wave, lanes)
        if named.shape[1] == 1 and not (missing | (together & ~named)).any():
            return None
        strangers: Mask = mask & (named & LANE_BITS == 0)
        unknown = membermask.read(wave, lanes) if membermask is not None and wave.undefined else None
        if unknown is not None:
            strangers &= unknown == 0
        return strangers, strangers | (mask & (missing != 0))

    return find


def _due(wave: Wave, lanes: Lanes) -> Array:
    """Return, as bits, the lanes of each warp that have not exited, and therefore must participate.

    In a warp that has already continued without lanes of a membermask (`Wave.forced`), return all launched lanes.
    """
    warps = lanes.row_numbers()
    due: Mask = wave.live if lanes.rows is None else wave.live[warps]
    if wave.forced:
        due = np.where(np.isin(warps, list(wave.forced))[:, None], wave.geometry.threads[warps], due)
    return ballot(due)
