"""Choice of a wheel's modules to rebuild and transpile: limited in number and size, spread over all sizes."""

from __future__ import annotations

import pytest

from .wheels import WheelModule
from .work import LARGEST, MOST, chosen


def of_sizes(*sizes: int) -> list[WheelModule]:
    return [WheelModule("file", b" " * size, f"{at:064}") for at, size in enumerate(sizes)]


@pytest.mark.parametrize("count", [0, 1, MOST - 1, MOST, MOST + 1, 2 * MOST - 1, 5 * MOST + 3])
def test_as_many_as_there_are_are_chosen_or_the_most(count: int) -> None:
    picked = chosen(of_sizes(*range(1, count + 1)))
    assert len(picked) == len({one.digest for one in picked}) == min(count, MOST)


def test_those_chosen_are_spread_over_all_sizes() -> None:
    sizes = [len(one.text) for one in chosen(of_sizes(*range(10 * MOST, 0, -1)))]
    assert sizes == list(range(1, 10 * MOST, 10))


def test_none_is_too_large() -> None:
    assert [len(one.text) for one in chosen(of_sizes(LARGEST + 1, 5, LARGEST))] == [5, LARGEST]
