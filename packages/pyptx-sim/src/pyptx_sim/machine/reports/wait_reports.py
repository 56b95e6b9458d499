"""Descriptions of blocked warps: the object that each waits for, and the missing arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.machine.scheduling.warp_splits import State

if TYPE_CHECKING:
    from pyptx_sim.machine.barriers.mbarrier_object import Mbarrier
    from pyptx_sim.machine.wave import Wave


def describe_wait(wave: Wave, split: int) -> str | None:
    """Describe the mbarrier that a warp split waits for, and its missing arrivals; None without such a wait."""
    mbarriers = wave.mbarriers
    wait = mbarriers.waits.get(int(wave.splits.warp[split]))
    if wait is None:
        return None
    name = mbarriers.name(wait.offset)
    known = dict(mbarriers.objects()).get(wait.offset)
    if known is None:
        return f"waiting for {name}, which has been invalidated"
    arrived = max(known.expected - known.pending, 0)
    text = (
        f"waiting for phase {wait.phase} (parity {wait.phase & 1}) of {name}, now in phase {known.phase}: "
        f"{arrived} of {counted(known.expected, 'arrival')}"
    )
    if known.bytes:
        text += f", tx-count {known.bytes}"
    return f"{text}; {_arrivals(wave, known)}"


def why_early(wave: Wave, warp: int) -> str | None:
    """Return an explanation if a warp's last wait returned at once because no phase of its mbarrier had completed."""
    fresh = wave.mbarriers.fresh.get(warp)
    if fresh is None:
        return None
    offset, pc = fresh
    return (
        f"the wait ({wave.machine.program.place(pc)}) returned immediately: no phase of {wave.mbarriers.name(offset)} "
        "had completed; parity 1 denotes the phase before the first one"
    )


def root_cause_key(wave: Wave, split: int) -> tuple[int, int]:
    """Return a sort key for the warp splits of a deadlock: likeliest root cause first.

    The order of the objects that warp splits wait for is:

    - conditions of extensions that only the waiting threads themselves could end (`Stall.alone`);
    - mbarriers with a nonzero tx-count, since no operation is outstanding any more;
    - mbarriers with some arrivals in the current phase;
    - mbarriers without any arrival so far;
    - other mbarriers;
    - other conditions of extensions;
    - CTA barriers and all other objects.

    Waits at mbarriers of one of these kinds are sorted by duration, the longest first.
    """
    mbarriers = wave.mbarriers
    if wave.splits.state[split] == State.STALLED:
        return -1 if wave.stall_at(int(wave.splits.key[split])).alone else 4, 0
    wait = mbarriers.waits.get(int(wave.splits.warp[split]))
    known = dict(mbarriers.objects()).get(wait.offset) if wait is not None else None
    if wait is None or known is None:
        return 5, 0
    signs = (known.bytes != 0, known.came > 0, not known.arrivals, True)
    return signs.index(True), wait.since


def _arrivals(wave: Wave, known: Mbarrier) -> str:
    """Describe which instructions have arrived at an mbarrier, and which mbarrier arrivals were never executed."""
    program = wave.machine.program
    came = [f"{program.opcode(pc)} ({program.place(pc)}, {times}×)" for pc, times in known.arrivals.items()]
    never = [
        f"{program.opcode(pc)} ({program.place(pc)})" for pc in program.signals if pc not in wave.mbarriers.executed
    ]
    parts = [f"arrived so far: {', '.join(came)}" if came else "no arrivals since mbarrier.init"]
    if never:
        parts.append(f"never executed: {', '.join(never)}")
    return "; ".join(parts)


def describe_warpgroup(wave: Wave, split: int) -> str:
    """Return a message that lists the warps of a warp split's warpgroup that have not reached its instruction."""
    splits, geometry = wave.splits, wave.geometry
    warp = int(splits.warp[split])
    group = int(geometry.warpgroups.of[warp])
    if group < 0:
        return "warpgroup has fewer than four warps: make the CTA size a multiple of 128 threads"
    here = (splits.state == State.WARPGROUP) & (splits.block == splits.block[split])
    missing = sorted(set(geometry.warpgroups.warps[group].tolist()) - set(splits.warp[here].tolist()))
    alive = set(splits.warp[splits.alive()].tolist())
    named = (f"warp {int(geometry.warp[each])}" + ("" if each in alive else " (exited)") for each in missing)
    return f"waiting for other warps of the warpgroup: {', '.join(named)}"
