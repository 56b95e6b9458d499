"""Deadlock reports: blocked warps and the objects that they wait for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.debug_info import position_of
from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import Deadlock
from pyptx_sim.machine.lanes import in_ranges, lane_names
from pyptx_sim.machine.reports.wait_reports import describe_wait, describe_warpgroup, root_cause_key
from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.program.deciding import loops_only_compute

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.scheduling.code import Code
    from pyptx_sim.machine.wave import Wave

_NAMED = 12  # maximum number of kinds of waits listed in one report
_LIKE = 4  # maximum number of CTAs listed per kind of wait
_ENDLESS = "change a register of the loop's condition in the loop body, which repeats the same register values"
_OTHERWISE = {State.GATE: "waiting for other lanes of the warp"}


def describe_deadlock(wave: Wave, code: Code) -> None:
    """Report the deadlock of a wave as a finding, or raise Deadlock in a run without checks."""
    splits = wave.splits
    alive = sorted(splits.alive().tolist(), key=lambda split: root_cause_key(wave, split))
    lines = _grouped(wave, code, alive)
    ready = [split for split in alive if splits.state[split] == State.READY]
    message, spinning = _headline(wave, alive, ready), bool(ready)
    pc = _place(wave, code, alive[0])
    help = _help(wave, alive[0], spinning=spinning)
    if len(ready) == len(alive):
        around = frozenset(_place(wave, code, split) for split in alive)
        help = _ENDLESS if loops_only_compute(wave.machine.program, around) else help
    if wave.machine.checked:
        wave.undefined.report_held()
        earlier = wave.machine.log.first_error
        if earlier is not None:
            lines.append(f"error[{earlier.rule}] was found before; the deadlock may be its consequence")
        wave.machine.log.report("deadlock", message, pc, notes=tuple(lines), help=help, count=len(alive))
        return
    raise Deadlock("\n  ".join([message, *lines]), where=wave.machine.where(pc), help=help)


def _headline(wave: Wave, alive: list[int], ready: list[int]) -> str:
    polling = [split for split in ready if not _waits(wave, split)]
    warps, spinning = (len(set(wave.splits.warp[each].tolist())) for each in (alive, polling))
    if not polling:
        which = f"all {warps} remaining warps are" if warps > 1 else "the only remaining warp is"
        return f"deadlock: {which} blocked"
    spin = f"{counted(spinning, 'warp')} spin{'s' * (spinning == 1)} without any change of memory"
    return f"livelock: {spin}, the other warps are blocked" if warps > spinning else f"livelock: {spin}"


def _waits(wave: Wave, split: int) -> bool:
    """Return whether the last mbarrier wait of a split's warp was unsuccessful, so that the warp retries it."""
    return int(wave.splits.warp[split]) in wave.mbarriers.waits


def _grouped(wave: Wave, code: Code, alive: list[int]) -> list[str]:
    """Return lines for a message: one per kind of wait (place and reason), with the warps that wait in this way."""
    alike: dict[tuple[str, str], list[int]] = {}
    for split in alive:
        alike.setdefault(_describe(wave, code, split), []).append(int(wave.splits.warp[split]))
    lines = [f"{_names(wave, warps)}{where}: {why}" for (where, why), warps in alike.items()]
    more = sum(len(warps) for warps in list(alike.values())[_NAMED:])
    return [*lines[:_NAMED], f"{counted(more, 'further warp')} blocked in other ways"] if more else lines


def _names(wave: Wave, warps: list[int]) -> str:
    """Return the names of warps, grouped by CTA, for a message: `warps 0-3 of CTA (0, 0, 0)`."""
    geometry = wave.geometry
    by_cta: dict[int, list[int]] = {}
    for warp in sorted(set(warps)):
        by_cta.setdefault(int(geometry.cta[warp]), []).append(int(geometry.warp[warp]))
    named = [
        f"{'warp' if len(numbers) == 1 else 'warps'} {in_ranges(numbers)} of {geometry.cta_name(cta)}"
        for cta, numbers in list(by_cta.items())[:_LIKE]
    ]
    more = sum(len(numbers) for numbers in list(by_cta.values())[_LIKE:])
    return ", ".join(named) + (f" and {counted(more, 'warp')} of other CTAs" if more else "")


def _help(wave: Wave, split: int, *, spinning: bool) -> str:
    machine = wave.machine
    if wave.splits.state[split] == State.STALLED:
        help = wave.stall_at(int(wave.splits.key[split])).help
        if help is not None:
            return help
    later = len(machine.backlog) * machine.launch.cluster_size
    if spinning and later:
        return (
            f"launch at most {counted(machine.ctas_per_wave, 'CTA')} if CTAs wait for each other: "
            f"{counted(machine.ctas_per_wave, 'CTA')} are resident, {later} have not started"
        )
    if wave.splits.state[split] == State.READY and not _waits(wave, split):
        return "make another thread write the memory that the loop polls"
    return "make the missing threads arrive, or lower the barrier's expected arrival count"


def _place(wave: Wave, code: Code, split: int) -> int:
    if wave.splits.state[split] in {State.READY, State.MBARRIER}:
        wait = wave.mbarriers.waits.get(int(wave.splits.warp[split]))
        return wait.pc if wait is not None else code[int(wave.splits.block[split])].first
    return int(wave.splits.site[split])


def _describe(wave: Wave, code: Code, split: int) -> tuple[str, str]:
    """Return two texts: the lanes of a warp split and the instruction where it waits; the reason why it waits."""
    splits, program = wave.splits, wave.machine.program
    lanes = "" if splits.mask[split].all() else f" ({lane_names(splits.mask[split])})"
    pc = _place(wave, code, split)
    frames = wave.machine.log.origin_of(pc)
    origin = f"{position_of(frames)}, " if frames else ""
    where = f"{lanes} at {origin}PTX {program.place(pc)} ({program.spell(pc).rstrip(';')})"
    return where, reason(wave, split)


def reason(wave: Wave, split: int) -> str:
    """Return why a warp split cannot continue: the object that it waits for, and its missing arrivals."""
    reasons: dict[int, Callable[[int], str]] = {
        State.BARRIER: wave.barriers.describe,
        State.WARPGROUP: partial(describe_warpgroup, wave),
    }
    state = int(wave.splits.state[split])
    if state == State.STALLED:
        return wave.stall_at(int(wave.splits.key[split])).describe(int(wave.splits.warp[split]))
    if state in reasons:
        return reasons[state](split)
    return describe_wait(wave, split) or _OTHERWISE.get(state, "spinning")
