"""End of a wave: complete outstanding asynchronous operations; report operations that no thread waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.wave import Wave


def finish(wave: Wave) -> None:
    """Complete all asynchronous operations; report async-groups that exited threads never waited for."""
    wave.engine.complete_all()
    if wave.machine.observers.active:
        wave.machine.observers.wave_ended()
    if not wave.machine.checked:
        return
    for end in wave.endings:
        end()
    for kind, groups in wave.groups.items():
        open_ = groups.unseen(reads=kind.reads) & wave.geometry.threads & ~wave.live
        for pc in np.unique(groups.issued_at[open_]).tolist():
            here = open_ & (groups.issued_at == pc)
            warp, lane = (int(part[0]) for part in np.nonzero(here))
            wave.machine.log.report(
                kind.unfinished,
                f"{wave.geometry.thread_name(warp, lane)} exits with {kind.operations} outstanding",
                int(pc),
                count=int(np.count_nonzero(here)),
                severity=kind.severity,
            )
    _report_unseen(wave)


def _report_unseen(wave: Wave) -> None:
    """Report copies with complete-tx on an mbarrier phase whose completion no thread has waited for."""
    for offset, known in wave.mbarriers.objects():
        if known.completed is None or known.completed[0] <= known.seen:
            continue
        phase, pc = known.completed
        name = wave.mbarriers.name(offset)
        message = f"no thread waits for phase {phase} of {name}, which tracks this copy"
        wave.machine.log.report("unfinished-copy", message, pc)
