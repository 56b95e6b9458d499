"""Pair elements of two sequences by equal keys."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Paired = TypeVar("Paired")


def pair_by_key(
    left: list[Paired],
    right: list[Paired],
    left_key: Callable[[Paired], Hashable],
    right_key: Callable[[Paired], Hashable],
) -> tuple[list[tuple[Paired, Paired]], list[Paired], list[Paired]]:
    """Pair elements with equal keys in order; return the pairs and the unpaired elements of both sides.

    Elements with the key None are not paired.
    """
    waiting: dict[Hashable, deque[int]] = {}
    for place, one in enumerate(left):
        waiting.setdefault(left_key(one), deque()).append(place)
    pairs: list[tuple[Paired, Paired]] = []
    alone: list[Paired] = []
    taken: set[int] = set()
    for other in right:
        key = right_key(other)
        if key is None or not waiting.get(key):
            alone.append(other)
            continue
        place = waiting[key].popleft()
        taken.add(place)
        pairs.append((left[place], other))
    return pairs, [one for place, one in enumerate(left) if place not in taken], alone
