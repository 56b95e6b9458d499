"""Descriptions of blocked warps: the object that each waits for, and the missing arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.machine.scheduling.warp_splits import State

if TYPE_CHECKING:
    from pyptx_sim.machine.barriers.mbarrier_object import Mbarrier
    from pyptx_sim.machine.wave import Wave


def describe_wait(wave: Wave, split: int) -> str | None:
    """Return the mbarrier that a split waits for, and its missing arrivals; None if it does not wait at one."""
    mbarriers = wave.mbarriers
    wait = mbarriers.waits.get(int(wave.splits.warp[split]))
    if wait is None:
        return None
    name = mbarriers.name(wait.offset)
    known = dict(mbarriers.objects()).get(wait.offset)
    if known is None:
        return f"waits for {name}, which is not valid any more"
    arrived = max(known.expected - known.pending, 0)
    text = (
        f"waits for phase {wait.phase} (parity {wait.phase & 1}) of {name}, which is in phase {known.phase}: "
        f"{arrived} of {known.expected} arrivals"
    )
    if known.bytes:
        text += f", {known.bytes} bytes missing" if known.bytes > 0 else f", {-known.bytes} bytes too many"
    return f"{text}; {_who(wave, known)}"


def why_early(wave: Wave, warp: int) -> str:
    """Return an explanation if a warp's last wait returned at once because no phase of its mbarrier had completed."""
    fresh = wave.mbarriers.fresh.get(warp)
    if fresh is None:
        return ""
    offset, pc = fresh
    place, name = wave.machine.program.place(pc), wave.mbarriers.name(offset)
    return (
        f": the wait at PTX {place} returned at once, for {name} had ended no phase, and parity 1 stands for "
        "the one before the first"
    )


def guilt(wave: Wave, split: int) -> tuple[int, int]:
    """Return a sort key for the splits of a deadlock: likeliest root cause first.

    The order is:

    - stalls that only the waiting threads themselves could end (`Stall.alone`);
    - mbarriers with a nonzero tx-count, since no operation is outstanding any more;
    - mbarriers with some arrivals in the current phase;
    - mbarriers without any arrival so far;
    - other mbarrier waits;
    - other stalls;
    - CTA barriers and other waits.

    Mbarrier waits of one kind are sorted by duration, the longest first.
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


def _who(wave: Wave, known: Mbarrier) -> str:
    """Return which instructions have arrived, and which could have arrived but were never executed."""
    program = wave.machine.program
    came = [f"{program.place(pc)} ({times}×)" for pc, times in known.arrivals.items()]
    never = [str(program.place(pc)) for pc in program.signals if pc not in wave.mbarriers.executed]
    parts = [f"arrivals so far from {', '.join(came)}" if came else "nobody has arrived since it was initialised"]
    if never:
        parts.append(f"never executed: {', '.join(never)}")
    return "; ".join(parts)


def describe_warpgroup(wave: Wave, split: int) -> str:
    """Return the warps of its warpgroup that a split waits for."""
    splits, geometry = wave.splits, wave.geometry
    warp = int(splits.warp[split])
    group = int(geometry.warpgroups.of[warp])
    if group < 0:
        return "waits for its warpgroup, which has fewer than four warps: give the block a multiple of 128 threads"
    here = (splits.state == State.WARPGROUP) & (splits.block == splits.block[split])
    missing = sorted(set(geometry.warpgroups.warps[group].tolist()) - set(splits.warp[here].tolist()))
    alive = set(splits.warp[splits.alive()].tolist())
    named = (f"warp {int(geometry.warp[each])}" + ("" if each in alive else ", which has exited") for each in missing)
    return f"waits for the others of its warpgroup: {'; '.join(named)}"
