"""Deadlock reports: blocked warps and the objects that they wait for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyptx_sim.errors import Deadlock
from pyptx_sim.machine.reports.blame import describe_wait, describe_warpgroup, guilt
from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.program.deciding import loops_only_compute

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.scheduling.code import Code
    from pyptx_sim.machine.wave import Wave

_NAMED = 12  # kinds of waits named in one report
_LIKE = 4  # warps named per kind of wait
_ENDLESS = "change a register of the loop's condition in the loop: nothing there changes it, so the loop never ends"
_OTHERWISE = {State.GATE: "waits for other lanes of its warp"}


def describe_deadlock(wave: Wave, code: Code) -> None:
    """Report the deadlock of a wave as a finding, or raise Deadlock in a run without checks."""
    splits = wave.splits
    alive = sorted(splits.alive().tolist(), key=lambda split: guilt(wave, split))
    lines = _grouped(wave, code, alive)
    spinning = any(splits.state[split] == State.READY for split in alive)
    what = "repeat the same state with no change of memory" if spinning else "wait, and none can run"
    message = f"{len(alive)} warps {what}:\n  " + "\n  ".join(lines)
    pc = _place(wave, code, alive[0])
    help = _help(wave, alive[0], spinning=spinning)
    if all(splits.state[split] == State.READY for split in alive):
        around = frozenset(_place(wave, code, split) for split in alive)
        help = _ENDLESS if loops_only_compute(wave.machine.program, around) else help
    if wave.machine.checked:
        wave.undefined.report_held()
        wave.machine.log.report("deadlock", message, pc, help=help, count=len(alive))
        return
    raise Deadlock(f"deadlock: {message}", where=wave.machine.where(pc), help=help)


def _grouped(wave: Wave, code: Code, alive: list[int]) -> list[str]:
    """Return one line per kind of wait, with the warps that wait in this way."""
    alike: dict[str, list[int]] = {}
    for split in alive:
        alike.setdefault(_describe(wave, code, split), []).append(int(wave.splits.warp[split]))
    named = ((text, [wave.geometry.warp_name(warp) for warp in sorted(warps)]) for text, warps in alike.items())
    lines = [f"{_names(warps)} {text}" for text, warps in named]
    more = sum(len(warps) for warps in list(alike.values())[_NAMED:])
    return [*lines[:_NAMED], f"… and {more} more"] if more else lines


def _names(warps: list[str]) -> str:
    named = ", ".join(warps[:_LIKE])
    return f"{named} and {len(warps) - _LIKE} more" if len(warps) > _LIKE else named


def _help(wave: Wave, split: int, *, spinning: bool) -> str:
    machine = wave.machine
    if wave.splits.state[split] == State.STALLED:
        help = wave.stall_at(int(wave.splits.key[split])).help
        if help is not None:
            return help
    later = len(machine.backlog) * machine.launch.cluster_size
    if spinning and later:
        return (
            f"{later} CTAs have not started: {machine.ctas_per_wave} run at once here; "
            "a kernel whose CTAs wait for each other needs a smaller grid"
        )
    return "find who should arrive, or write what the others wait for"


def _place(wave: Wave, code: Code, split: int) -> int:
    if wave.splits.state[split] in {State.READY, State.MBARRIER}:
        wait = wave.mbarriers.waits.get(int(wave.splits.warp[split]))
        return wait.pc if wait is not None else code[int(wave.splits.block[split])].first
    return int(wave.splits.site[split])


def _describe(wave: Wave, code: Code, split: int) -> str:
    splits, program = wave.splits, wave.machine.program
    lanes = int(splits.mask[split].sum())
    pc = _place(wave, code, split)
    line = program.line(pc)
    frames = wave.machine.log.origins.get(line, ()) if line is not None else ()
    origin = f", {frames[0].file}:{frames[0].line}" if frames else ""
    return f"({lanes} lanes) at PTX {program.place(pc)}{origin}: {program.spell(pc)}: {reason(wave, split)}"


def reason(wave: Wave, split: int) -> str:
    """Return why a split cannot continue: the object that it waits for, and its missing arrivals."""
    reasons: dict[State, Callable[[int], str]] = {
        State.BARRIER: wave.barriers.describe,
        State.WARPGROUP: partial(describe_warpgroup, wave),
    }
    state = State(int(wave.splits.state[split]))
    if state == State.STALLED:
        return wave.stall_at(int(wave.splits.key[split])).describe(int(wave.splits.warp[split]))
    if state in reasons:
        return reasons[state](split)
    return describe_wait(wave, split) or _OTHERWISE.get(state, "spins")
