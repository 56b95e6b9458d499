"""Copies that several threads of a CTA issue by one instruction, although one of them is enough.

Without `elect.sync` or a condition on the thread index, each thread issues the whole copy. That is one fault, whose
consequences are overlapping writes, too many bytes at an mbarrier and completions without a wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_sim.observer import AsyncAccess, AsyncOperations, RunView
    from pyptx_sim.rules.async_races import Report

_FOLLOW_UPS: Final = ("read-before-wait", "early-reuse", "unfinished-copy")
ONE_THREAD: Final = (
    "issue the copy by one thread: elect.sync (cute::elect_one_sync), or a condition on the thread index"
)


def check_repetition(view: RunView, works: Sequence[AsyncOperations], report: Report) -> frozenset[int]:
    """Report equal copies that several threads of a CTA issue by one instruction.

    Return the `item_id` of each copy but the first. Copies are equal if they write the same bytes, not atomically, and
    read the same sources.
    """
    repeated: set[int] = set()
    for alike in _by_target(view, works):
        first, *others = alike
        same = [each for each in others if _are_equal(first, each) and _thread(each) != _thread(first)]
        if same:
            repeated |= {each.item_id for each in same}
            _report(view, [first, *same], report)
    return frozenset(repeated)


def _by_target(view: RunView, works: Sequence[AsyncOperations]) -> Iterator[Sequence[AsyncOperations]]:
    """Yield groups of operations of one CTA each whose first written bytes are equal."""
    found: dict[tuple[int, str, int], list[AsyncOperations]] = {}
    for work in works:
        written = _first_write(work)
        if written is not None and len(work.warps) == 1 and work.together == 1:
            key = int(work.warps[0]) // view.warps_per_cta, written.space, int(written.offsets[0])
            found.setdefault(key, []).append(work)
    return (alike for alike in found.values() if len(alike) > 1)


def _first_write(work: AsyncOperations) -> AsyncAccess | None:
    return next((each for each in work.touches if each.writes and not each.atomic and len(each.offsets)), None)


def _thread(work: AsyncOperations) -> tuple[int, int]:
    return int(work.warps[0]), int(work.lanes[0])


def _are_equal(one: AsyncOperations, other: AsyncOperations) -> bool:
    return len(one.touches) == len(other.touches) and all(
        (a.space, a.writes, a.size, a.atomic) == (b.space, b.writes, b.size, b.atomic)
        and np.array_equal(a.offsets, b.offsets)
        for a, b in zip(one.touches, other.touches, strict=True)
    )


def _report(view: RunView, works: Sequence[AsyncOperations], report: Report) -> None:
    first, written = works[0], _first_write(works[0])
    assert written is not None  # noqa: S101 - `_by_target` selects operations that write
    warps = np.unique([int(each.warps[0]) for each in works])
    alone = len(warps) == 1
    which = f"lanes of {view.warp_name(int(warps[0]))}" if alone else "threads of a CTA"
    where = view.describe(written.space, int(written.offsets[0]))
    report(
        "lane-race" if alone else f"{written.space}-race",
        f"{len(works)} {which} issue the same copy, to {where}",
        first.pc,
        None,
        count=len(works) - 1,
        help=ONE_THREAD,
        cause=("repeated copy", view.opcode(first.pc)),
        follow_ups=[(first.pc, rule) for rule in _FOLLOW_UPS],
    )
