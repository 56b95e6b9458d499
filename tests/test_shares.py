"""Shares of test cases: a share runs by default, all cases on request; every case is in some share."""

from __future__ import annotations

import pytest
from tools import shares


@pytest.mark.parametrize("count", [0, 1, 5, 12])
@pytest.mark.parametrize("step", [1, 3, 7])
def test_the_turns_of_a_share_take_each_case_once(monkeypatch: pytest.MonkeyPatch, count: int, step: int) -> None:
    monkeypatch.setattr(shares, "FULL", False)
    taken = [shares.share(range(count), step, turn) for turn in range(step)]
    assert taken[0] == list(range(count))[::step]
    assert sorted(case for turn in taken for case in turn) == list(range(count))
    assert shares.share(range(count), step, step + 1) == shares.share(range(count), step, 1)


@pytest.mark.parametrize("count", [0, 1, 5, 12])
def test_at_most_so_many_are_spread_over_the_cases(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(shares, "FULL", False)
    for turn in range(count):
        taken = shares.at_most(range(count), 4, turn)
        assert len(set(taken)) == len(taken) == min(count, 4)
        assert taken[0] == turn
    assert shares.at_most(range(12), 4) == [0, 3, 6, 9]


def test_everything_is_taken_in_order_whatever_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "FULL", True)
    assert shares.share(range(12), 5, 3) == list(range(12))
    assert shares.at_most(range(12), 5) == list(range(12))
    assert shares.full(300, default=24) == 300
