"""Races between asynchronous operations of one instruction that write the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.rules.reports import race_message
from pyptx_sim.shadow.entries import rises

if TYPE_CHECKING:
    from pyptx_sim.observer import AsyncAccess, AsyncOperations, RunView
    from pyptx_sim.rules.async_races import Report


def check_overlap(view: RunView, work: AsyncOperations, report: Report) -> None:
    """Report operations of `work` that write the same bytes, unless both copy the same source bytes."""
    if len(work.warps) < 2:
        return
    sources = [touch for touch in work.touches if not touch.writes]
    for touch in work.touches:
        if touch.writes and not touch.atomic:
            found = _first_rivals(touch, sources)
            if found is not None:
                _report(view, work, touch, found, report)


def _first_rivals(touch: AsyncAccess, sources: list[AsyncAccess]) -> tuple[int, int] | None:
    """Return two writes of different operations to one offset, copied from different offsets; None without any."""
    offsets = touch.offsets
    if rises(offsets) or rises(np.sort(offsets)):  # all offsets are distinct; this test is faster than `argsort`
        return None
    order = offsets.argsort(kind="stable")
    one, other = order[:-1], order[1:]
    met = (offsets[one] == offsets[other]) & (touch.owners[one] != touch.owners[other])
    one, other = one[met], other[met]
    apart = np.ones(len(one), np.bool_)
    for source in sources:
        if len(source.offsets) == len(offsets):
            apart &= source.offsets[one] != source.offsets[other]
    return (int(one[apart][0]), int(other[apart][0])) if apart.any() else None


def _report(view: RunView, work: AsyncOperations, touch: AsyncAccess, pieces: tuple[int, int], report: Report) -> None:
    owners = touch.owners[list(pieces)]
    (warp, rival), (lane, other) = work.warps[owners].tolist(), work.lanes[owners].tolist()
    where = view.describe(touch.space, int(touch.offsets[pieces[0]]))
    first, second = (f"lane {lane} of {view.warp_name(warp)}", f"lane {other} of {view.warp_name(rival)}")
    rule, issued = "lane-race" if warp == rival else f"{touch.space}-race", "asynchronous write issued by"
    report(
        rule,
        race_message(where, "asynchronous write", "asynchronous write"),
        work.pc,
        work.pc,
        label=f"{issued} {first}",
        other_label=f"{issued} {second}",
    )
