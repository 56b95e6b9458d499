"""Atomics of several lanes on one counter: the lane that reads the last count is ordered after all other lanes.

The lanes of one instruction update the location one after another, so that each reads the update before it.
Manual: "Release and Acquire Patterns", "Causality Order".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_text import execute, rules_found

pytestmark = pytest.mark.scaled(3)

SCHEDULES: list[dict[str, Any]] = [{}, {"delay_async": True}, *({"seed": seed} for seed in range(1, 5))]
ORDERS = {
    "acq_rel": ("", "atom.acq_rel.gpu.", ""),
    "fences": ("fence.acq_rel.gpu;", "atom.relaxed.gpu.", "fence.acq_rel.gpu;"),
    "release, fence": ("", "atom.release.gpu.", "fence.acq_rel.gpu;"),
    "fence, acquire": ("fence.acq_rel.gpu;", "atom.acquire.gpu.", ""),
}
FAULTS = {
    "relaxed": ("", "atom.relaxed.gpu.", ""),
    "no release": ("", "atom.acquire.gpu.", ""),
    "no acquire": ("", "atom.release.gpu.", ""),
    "no fence before": ("", "atom.relaxed.gpu.", "fence.acq_rel.gpu;"),
    "no fence after": ("fence.acq_rel.gpu;", "atom.relaxed.gpu.", ""),
}


def last_reads(before: str, atom: str, after: str, groups: int = 1, last: str = "%r9") -> str:
    """Return PTX: each thread stores a word and counts; the last thread of a group to count sums the group's words.

    Threads of one group have the same index modulo `groups`; counters are words 512 and following. `last` is the count
    that makes a thread read, the number of the group's threads less one.
    """
    return f"""
    .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<3>;
    mov.u32 %r1, %tid.x; mov.u32 %r10, %ntid.x; div.u32 %r9, %r10, {groups}; sub.u32 %r9, %r9, 1;
    mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r1;
    {before}
    rem.u32 %r11, %r1, {groups}; mul.wide.u32 %rd4, %r11, 4; add.u64 %rd6, %rd0, %rd4;
    {atom}global.add.u32 %r2, [%rd6+2048], 1;
    {after}
    setp.ne.u32 %p1, %r2, {last}; @%p1 bra end;
    mov.u32 %r3, 0; mov.u32 %r4, %r11;
    next: mul.wide.u32 %rd7, %r4, 4; add.u64 %rd8, %rd0, %rd7; ld.global.u32 %r5, [%rd8]; add.u32 %r3, %r3, %r5;
    add.u32 %r4, %r4, {groups}; setp.lt.u32 %p2, %r4, %r10; @%p2 bra next;
    st.global.u32 [%rd6+4096], %r3;
    end:
    """


def run(body: str, block: int, **schedule: Any) -> tuple[np.ndarray[Any, Any], set[str]]:
    words = np.zeros(1536, np.uint32)
    return words, rules_found(execute(body, words, block=block, **schedule).findings)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("groups", [1, 3, 96], ids=lambda groups: f"{groups} counters")
@pytest.mark.parametrize("order", ORDERS)
def test_the_last_thread_to_arrive_may_read_what_all_have_written(
    order: str, groups: int, schedule: dict[str, Any]
) -> None:
    block = 192 if groups > 1 else 80
    words, found = run(last_reads(*ORDERS[order], groups=groups), block, **schedule)
    assert found == set()
    threads = np.arange(block)
    assert words[1024 : 1024 + groups].tolist() == [
        int(threads[threads % groups == each].sum()) for each in range(groups)
    ]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("block", [2, 32, 80])
@pytest.mark.parametrize("fault", FAULTS)
def test_without_a_release_or_an_acquire_it_is_a_data_race(fault: str, block: int, schedule: dict[str, Any]) -> None:
    assert "lane-race" in run(last_reads(*FAULTS[fault]), block, **schedule)[1]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("block", [2, 32, 80])
@pytest.mark.parametrize("order", ["acq_rel", "fences"])
def test_the_first_thread_to_arrive_is_ordered_after_no_other(order: str, block: int, schedule: dict[str, Any]) -> None:
    assert "lane-race" in run(last_reads(*ORDERS[order], last="0"), block, **schedule)[1]
