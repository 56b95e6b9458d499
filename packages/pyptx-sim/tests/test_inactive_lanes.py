"""Shuffles from lanes that do not participate give undefined bits, a finding where a result depends on them."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute

SCHEDULES = [(0, False), (0, True), (1, False), (2, False), (3, True)]
PREPARE = "add.u32 %r2, %r0, 100; setp.ge.u32 %p1, %r0, 16; mov.u32 %r8, 20; mov.u32 %r9, 31; mov.u32 %r10, 0xffff;\n"
STORE = "st.global.u32 [%rd1], %r3;"

# Cases: code before a shuffle, the shuffle, threads per CTA, and why the source lane does not participate.
WRONG = {
    "outside the membermask": ("@%p1 bra end;", "idx.b32 %r3, %r2, 20, 31, 0xffff", 32, "is not in the membermask"),
    "in registers": ("@%p1 bra end;", "idx.b32 %r3, %r2, %r8, %r9, %r10", 32, "is not in the membermask"),
    "exited": ("@%p1 exit;", "idx.b32 %r3, %r2, 20, 31, -1", 32, "exited without executing the instruction"),
    "never launched, down": ("", "down.b32 %r3, %r2, 16, 31, -1", 16, "was never launched"),
    "never launched, bfly": ("", "bfly.b32 %r3, %r2, 16, 31, -1", 16, "was never launched"),
    "never launched, in a partial last warp": ("", "idx.b32 %r3, %r2, 20, 31, -1", 48, "was never launched"),
}
RIGHT = {
    "own tile": ("@%p1 bra end;", "idx.b32 %r3, %r2, 5, 0x100f, 0xffff", 32),
    "source out of range: the lane's own value": ("", "down.b32 %r3, %r2, 8, 0x100f, 0xffff", 16),
    "source above the clamp: the lane's own value": ("", "down.b32 %r3, %r2, 16, 15, 0xffff", 16),
    "upward": ("@%p1 exit;", "up.b32 %r3, %r2, 3, 0, 0xffff", 32),
}


def findings(before: str, shuffle: str, block: int, after: str = STORE) -> list[tuple[set[str], str]]:
    found = []
    for seed, delay_async in SCHEDULES:
        body = f"{PREPARE}{before} shfl.sync.{shuffle}; {after}\nend:"
        result = execute(body, np.zeros(64, np.uint32), block=block, seed=seed, delay_async=delay_async)
        found.append(({each.rule for each in result.findings}, " ".join(map(str, result.findings))))
    return found


@pytest.mark.parametrize("case", WRONG)
def test_a_result_that_depends_on_an_absent_lane_is_found_under_every_schedule(case: str) -> None:
    *kernel, why = WRONG[case]
    for rules, message in findings(*kernel):
        assert rules == {"inactive-lane"}
        assert why in message


@pytest.mark.parametrize("case", RIGHT)
def test_a_shuffle_among_lanes_that_take_part_is_clean(case: str) -> None:
    assert {frozenset(rules) for rules, _ in findings(*RIGHT[case])} == {frozenset()}


@pytest.mark.parametrize("case", ["exited", "never launched, down"])
def test_a_value_of_an_absent_lane_that_is_selected_away_is_clean(case: str) -> None:
    before, shuffle, block, _ = WRONG[case]
    away = f"setp.lt.u32 %p2, %r0, 99; selp.u32 %r3, %r2, %r3, %p2; {STORE}"
    assert {frozenset(rules) for rules, _ in findings(before, shuffle, block, away)} == {frozenset()}


def test_a_lane_whose_predicate_is_false_does_not_take_part() -> None:
    body = f"{PREPARE} mov.u32 %r3, 0; @!%p1 shfl.sync.down.b32 %r3, %r2, 1, 31, -1; {STORE}"
    for seed, delay_async in SCHEDULES:
        result = execute(body, np.zeros(32, np.uint32), seed=seed, delay_async=delay_async)
        assert [(each.rule, each.count) for each in result.findings] == [("inactive-lane", 1)]
        assert "read by lane 15 of warp 0" in result.findings[0].other_label
        assert result.findings[0].notes == ("lane 16 exited without executing the instruction",)


def test_the_lanes_that_survive_a_reduction_of_a_partial_warp_do_not_know_their_sum() -> None:
    """A common bug: `if (i >= n) return;` before a warp reduction with the full membermask."""
    steps = "".join(
        f"shfl.sync.bfly.b32 %r4, %r3, {distance}, 31, -1; add.u32 %r3, %r3, %r4;\n" for distance in (16, 8, 4, 2, 1)
    )
    for block, before in ((20, ""), (32, "setp.ge.u32 %p2, %r0, 20; @%p2 exit;")):
        body = f"mov.u32 %r3, %r0; {before}\n{steps} setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd1], %r3;"
        for seed, delay_async in SCHEDULES:
            result = execute(body, np.zeros(1, np.uint32), block=block, seed=seed, delay_async=delay_async)
            assert [each.rule for each in result.findings] == ["inactive-lane"]
