"""Programmatic dependent launch: overlapping grids. Manual: "griddepcontrol"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .streams import COPY, HEADER, RELEASE, SEEDS, WAIT, WRITE, chained, each_schedule, entry, rules

pytestmark = pytest.mark.hopper


@each_schedule
def test_what_waits_sees_all_that_the_launch_in_front_does(schedule: dict[str, Any]) -> None:
    _, y, result = chained(RELEASE + WRITE, "xor.b32 %r6, %r1, 65;\n" + WAIT + COPY, **schedule)
    assert result.findings == ()
    assert (y == np.arange(512) + 100).all()


# PTX that delays a write, so that threads of the dependent grid run before the write.
SLOW = "mov.u32 %r6, 0;\nagain: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 20; @%p1 bra again;\n"


@each_schedule
def test_a_read_without_a_wait_is_a_race_in_every_schedule(schedule: dict[str, Any]) -> None:
    _, _, result = chained(RELEASE + SLOW + WRITE, COPY, **schedule)
    (finding,) = result.findings
    assert finding.rule == "global-race"
    assert finding.count == 512 * 4
    assert "read of argument 0 'x'+0 races with the prerequisite grid, which writes it" in finding.message
    assert "griddepcontrol.wait" in str(finding.help)
    lines = (HEADER + entry("k0", RELEASE + SLOW + WRITE) + entry("k1", COPY)).splitlines()
    assert "ld.global.u32" in lines[(finding.line or 0) - 1]
    assert any(f"line {number}" in finding.message for number, line in enumerate(lines, 1) if "st.global" in line)


def test_schedules_overlap_the_launches() -> None:
    """Reads that no wait orders return old values, new values, or some of each in one schedule."""
    seen: set[int] = set()
    mixed = False
    for seed in range(1, 20):
        _, y, _ = chained(RELEASE + SLOW + WRITE, COPY, seed=seed, checks="none")
        new = y == np.arange(512) + 100
        assert (new | (y == np.arange(512))).all()
        seen |= {int(each) for each in np.unique(new)}
        mixed |= 0 < np.count_nonzero(new) < 512
    assert seen == {0, 1}
    assert mixed
    _, y, _ = chained(RELEASE + SLOW + WRITE, COPY, delay_async=True, checks="none")
    assert (y == np.arange(512)).all()


def test_without_a_release_the_launch_in_front_ends_first() -> None:
    """The dependent grid reads new values by chance: without griddepcontrol.wait the writes need not be visible."""
    _, y, result = chained(SLOW + WRITE, COPY, delay_async=True)
    assert (y == np.arange(512) + 100).all()
    assert rules(result) == ["global-race"]


@pytest.mark.parametrize(("own", "front"), [(WRITE, "ld.global.u32 %r5, [%rd3];\n"), (WRITE, WRITE)])
def test_a_write_without_a_wait_races_with_reads_and_writes(own: str, front: str) -> None:
    assert "global-race" in rules(chained(RELEASE + front, own)[2])


def test_reads_of_both_are_no_race() -> None:
    read = "ld.global.u32 %r5, [%rd3];\n"
    assert rules(chained(RELEASE + read, read)[2]) == []


def test_strong_accesses_of_both_are_no_race() -> None:
    """Both launches increment a counter atomically, without griddepcontrol.wait."""
    count = "red.relaxed.gpu.global.add.u32 [%rd2], 1;\n"
    _, y, result = chained(RELEASE + count, count, seed=3)
    assert rules(result) == []
    assert y[0] == 1024
    assert rules(chained(RELEASE + "st.global.u32 [%rd4], 1;\n", count)[2]) == ["global-race"]


@each_schedule
def test_a_barrier_brings_the_wait_of_one_thread_to_all(schedule: dict[str, Any]) -> None:
    """As in warp-specialized kernels: one thread waits, then the CTA synchronizes."""
    one = "setp.eq.u32 %p2, %r1, %r1; mov.u32 %r7, %tid.x; setp.eq.u32 %p2, %r7, 0;\n@%p2 griddepcontrol.wait;\n"
    _, y, result = chained(RELEASE + WRITE, one + "bar.sync 0;\n" + COPY, **schedule)
    assert rules(result) == []
    assert (y == np.arange(512) + 100).all()
    assert rules(chained(RELEASE + WRITE, one + COPY)[2]) == ["global-race"]


def test_blocks_of_later_waves_must_wait_too() -> None:
    """The grid has more CTAs than run together. A wait in one CTA does not order the other CTAs."""
    first = "setp.eq.u32 %p2, %r2, 0;\n@%p2 griddepcontrol.wait;\n"
    assert rules(chained(RELEASE + WRITE, first + COPY, grid=300)[2]) == ["global-race"]
    assert rules(chained(RELEASE + WRITE, WAIT + COPY, grid=300, seed=5)[2]) == []


def test_a_dependent_launch_starts_when_the_last_block_lets_it() -> None:
    """CTA 0 of grid 1 spins on a flag that grid 2 sets; grid 2 starts after all CTAs execute launch_dependents."""
    spin = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra out;\nagain: ld.acquire.gpu.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0;\n"
    spin += "@%p1 bra again;\nout:\n"
    for schedule in SEEDS:
        _, y, result = chained(RELEASE + spin, "st.release.gpu.u32 [%rd2], 1;\n", **schedule)
        assert rules(result) == []
        assert y[0] == 1
    _, _, result = chained(spin + RELEASE, "st.release.gpu.u32 [%rd2], 1;\n")
    assert rules(result) == ["deadlock"]


@each_schedule
def test_a_chain_of_dependent_launches(schedule: dict[str, Any]) -> None:
    """Grid 3 may read words that grid 1 has written, because grid 3 waits for grid 2, which has waited for grid 1."""
    first = RELEASE + SLOW + WRITE
    second = RELEASE + WAIT + "ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1000; st.global.u32 [%rd4], %r5;\n"
    third = (
        WAIT
        + "ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd4]; add.u32 %r5, %r5, %r6; st.global.u32 [%rd4], %r5;\n"
    )
    _, y, result = chained(first, second, third, **schedule)
    assert rules(result) == []
    assert (y == 2 * (np.arange(512) + 100) + 1000).all()


def test_a_launch_that_does_not_wait_lets_the_next_one_race_with_the_one_in_front() -> None:
    """Grid 1 may still write while grid 3 reads, unless all CTAs of grid 2 wait before they launch dependents."""
    early = "ld.global.u32 %r5, [%rd3];\n"
    assert rules(chained(RELEASE + WRITE, RELEASE + WAIT, early)[2]) == ["global-race"]
    assert rules(chained(RELEASE + WRITE, WAIT + RELEASE, early)[2]) == []


READ = "ld.global.u32 %r5, [%rd3];\n"
ONE_WAITS = "mov.u32 %r7, %tid.x; or.b32 %r7, %r7, %r2; setp.eq.u32 %p2, %r7, 0;\n@%p2 griddepcontrol.wait;\n"
# Launches in stream order: the first launch writes (w) words that the last launch reads; all but the last launch begin
# with launch_dependents. In each launch after the first, all threads wait (W), one thread waits (o), or no thread.
CHAINS = {
    "every launch waits": ("w", "W", "W", []),
    "one thread of the middle launch waits": ("w", "o", "W", []),
    "the middle launch does not wait": ("w", "", "W", ["global-race"]),
    "no launch waits": ("w", "", "", ["global-race"]),
    "the later of two middle launches waits": ("w", "", "W", "W", ["global-race"]),
    "the earlier of two middle launches waits": ("w", "W", "", "W", ["global-race"]),
    "two middle launches wait": ("w", "W", "o", "W", []),
    "the first of three middle launches does not wait": ("w", "", "W", "W", "W", ["global-race"]),
}
STEPS = {"w": SLOW + WRITE, "W": WAIT, "o": ONE_WAITS, "": ""}


@each_schedule
@pytest.mark.parametrize("chain", CHAINS)
def test_a_wait_is_for_the_prerequisite_grid_and_what_that_has_waited_for(chain: str, schedule: dict[str, Any]) -> None:
    *steps, expected = CHAINS[chain]
    bodies = [RELEASE + STEPS[str(step)] for step in steps[:-1]]
    _, y, result = chained(*bodies, STEPS[str(steps[-1])] + COPY, **schedule)
    assert rules(result) == expected
    if not expected:
        assert (y == np.arange(512) + 100).all()


def test_the_finding_says_that_the_wait_is_not_for_the_earlier_launch() -> None:
    (finding,) = chained(RELEASE + WRITE, RELEASE, WAIT + COPY)[2].findings
    assert "races with an earlier grid, which writes it" in finding.message
    assert finding.notes == ("griddepcontrol.wait waits for the prerequisite grid only",)
    assert "in the grids in between" in str(finding.help)
    assert finding.count == 512 * 4


def test_the_prerequisite_may_be_complete_before_the_launch_before_it() -> None:
    """Grid 3 reads, after its wait for grid 2, words that grid 1 has not written yet."""
    _, y, _ = chained(RELEASE + SLOW + WRITE, RELEASE, WAIT + COPY, delay_async=True, checks="none")
    assert (y == np.arange(512)).all()


def test_reads_and_strong_accesses_of_earlier_launches_are_no_race() -> None:
    count = "red.relaxed.gpu.global.add.u32 [%rd2], 1;\n"
    assert rules(chained(RELEASE + READ, RELEASE, WAIT + READ)[2]) == []
    assert rules(chained(RELEASE + count, RELEASE, WAIT + count)[2]) == []
    assert rules(chained(RELEASE + READ, RELEASE, WAIT + WRITE)[2]) == ["global-race"]


def test_a_launch_that_is_not_dependent_runs_after_all_earlier_ones() -> None:
    _, y, result = chained(RELEASE + SLOW + WRITE, RELEASE, COPY, plain=True, delay_async=True)
    assert rules(result) == []
    assert (y == np.arange(512) + 100).all()


def test_blocks_that_touch_no_memory_have_not_waited() -> None:
    """CTAs of grid 2 exit immediately, without a wait, so grid 3 may start while grid 1 runs."""
    assert rules(chained(RELEASE + SLOW + WRITE, "", COPY)[2]) == ["global-race"]


# --- asynchronous operations --------------------------------------------------------------------

STORE_BULK = """
mov.u32 %r5, s; mov.u32 %r6, %tid.x; setp.ne.u32 %p1, %r6, 0; mad.lo.u32 %r7, %r6, 4, %r5; st.shared.u32 [%r7], 77;
fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra out;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 256;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
out:
"""
COPY_ASYNC = """
mov.u32 %r5, s; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r6, 4, %r5;
cp.async.ca.shared.global [%r7], [%rd3], 4; cp.async.wait_all;
ld.shared.u32 %r5, [%r7]; st.global.u32 [%rd4], %r5;
"""


@each_schedule
def test_copies_know_what_the_threads_that_issue_them_know(schedule: dict[str, Any]) -> None:
    """A bulk store in the first grid, and a copy in the second one with and without a preceding wait."""
    _, y, result = chained(RELEASE + STORE_BULK, WAIT + COPY_ASYNC, grid=1, **schedule)
    assert rules(result) == []
    assert (y == 77).all()
    _, _, result = chained(RELEASE + STORE_BULK, COPY_ASYNC, grid=1, **schedule)
    assert rules(result) == ["global-race"]
