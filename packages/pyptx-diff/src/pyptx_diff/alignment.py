"""Alignment of two sequences of numbers, in near-linear time on any input.

Uses the shortest edit script (Myers 1986) if it is short. Otherwise entries that occur once on both sides split the
sequences (patience diff), and the gaps are aligned separately. Gaps that exceed the step budget are matched greedily,
so that hostile input costs quality, not time. An alignment is a proposal: callers compare the paired entries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

Pairs: TypeAlias = "list[tuple[int, int]]"
_Row: TypeAlias = "list[tuple[int, int]]"

# Maximum steps of the search for a shortest edit script of two sequences of statements: `_STEPS_AN_ENTRY` for each
# statement of both sequences, plus `_STEPS`.
_STEPS_AN_ENTRY: Final = 4
_STEPS: Final = 20_000
_DEEPEST: Final = 8  # maximum recursion depth of the alignment, which splits two sequences into parts
_WIDTHS: Final = (1, 8)  # lengths of the subsequences, unique in both sequences, at which an alignment splits them
_LOOKAHEAD: Final = 64  # number of next elements of the second sequence that the greedy alignment compares


def align(left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Return pairs of a position in `left` and the position of the matched equal entry in `right`, ascending."""
    pairs: Pairs = []
    pieces = [(0, len(left), 0, len(right), 0)]
    while pieces:
        low, high, other_low, other_high, depth = pieces.pop()
        while low < high and other_low < other_high and left[low] == right[other_low]:
            pairs.append((low, other_low))
            low, other_low = low + 1, other_low + 1
        while low < high and other_low < other_high and left[high - 1] == right[other_high - 1]:
            high, other_high = high - 1, other_high - 1
            pairs.append((high, other_high))
        if low == high or other_low == other_high:
            continue
        mine, others = left[low:high], right[other_low:other_high]
        found, splits = _matched(mine, others, depth)
        pairs += [(low + i, other_low + k) for i, k in found]
        pieces += [(low + i, low + i_end, other_low + k, other_low + k_end, depth + 1) for i, i_end, k, k_end in splits]
    pairs.sort()
    return pairs


def gaps(pairs: Pairs, left: int, right: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges between matched pairs, `low, high, other_low, other_high`, of sequences of these lengths."""
    at, other = 0, 0
    for i, k in (*pairs, (left, right)):
        if i > at or k > other:
            yield at, i, other, k
        at, other = i + 1, k + 1


def _matched(left: Sequence[int], right: Sequence[int], depth: int) -> tuple[Pairs, list[tuple[int, int, int, int]]]:
    """Return matched pairs of entries, and the gaps between the pairs that should be aligned separately."""
    found = _shortest(left, right, _STEPS + _STEPS_AN_ENTRY * (len(left) + len(right)))
    if found is not None:
        return found, []
    if depth < _DEEPEST:
        for anchors in filter(None, (_anchors(left, right, width) for width in _WIDTHS)):
            return anchors, list(gaps(anchors, len(left), len(right)))
    return _greedy(left, right), []


def _shortest(left: Sequence[int], right: Sequence[int], steps: int) -> Pairs | None:
    """Return the matched pairs of a shortest edit script; None if the search takes more than `steps`."""
    furthest = {1: 0}
    rows: list[_Row] = []
    for distance in range(len(left) + len(right) + 1):
        row: _Row = []
        rows.append(row)
        for diagonal in range(-distance, distance + 1, 2):
            down = _goes_down(furthest, diagonal, distance)
            start = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            end = _run(left, right, start, start - diagonal)
            furthest[diagonal] = end
            row.append((start, end))
            steps -= 1 + end - start
            if end >= len(left) and end - diagonal >= len(right):
                return _traced(rows, diagonal)
        if steps < 0:
            return None
    return None


def _goes_down(furthest: dict[int, int], diagonal: int, distance: int) -> bool:
    """Return whether the furthest path to a diagonal ends with an insertion, not with a deletion (Myers 1986)."""
    if diagonal in (-distance, distance):
        return diagonal == -distance
    return furthest[diagonal - 1] < furthest[diagonal + 1]


def _run(left: Sequence[int], right: Sequence[int], at: int, other: int) -> int:
    """Return the position in `left` after a run of equal entries, from `at` in `left` and from `other` in `right`."""
    end = min(len(left), len(right) + at - other)
    shift = other - at
    while at < end and left[at] == right[at + shift]:
        at += 1
    return at


def _traced(rows: list[_Row], diagonal: int) -> Pairs:
    """Trace an edit script back from its end, and return its matched pairs."""
    pairs: Pairs = []
    for distance in range(len(rows) - 1, -1, -1):
        start, end = rows[distance][(diagonal + distance) // 2]
        pairs += [(at, at - diagonal) for at in range(end - 1, start - 1, -1)]
        if distance:
            before = rows[distance - 1]
            furthest = {2 * place - distance + 1: reached for place, (_, reached) in enumerate(before)}
            diagonal += 1 if _goes_down(furthest, diagonal, distance) else -1
    pairs.reverse()
    return pairs


def _anchors(left: Sequence[int], right: Sequence[int], width: int) -> Pairs:
    """Return position pairs of equal windows (`width` consecutive entries) of two sequences, ascending in both.

    Only windows that occur exactly once in each sequence are paired.
    """
    mine, others = _once(_windows(left, width)), _once(_windows(right, width))
    both = [(at, others[window]) for window, at in mine.items() if window in others]
    anchors: Pairs = []
    for i, k in _ascending(both):
        if not anchors or (i > anchors[-1][0] and k > anchors[-1][1]):
            anchors.append((i, k))
    return anchors


def _windows(entries: Sequence[int], width: int) -> list[Hashable]:
    if width == 1:
        return list(entries)
    return [tuple(entries[at : at + width]) for at in range(len(entries) - width + 1)]


def _once(windows: list[Hashable]) -> dict[Hashable, int]:
    counts = Counter(windows)
    return {window: at for at, window in enumerate(windows) if counts[window] == 1}


def _ascending(pairs: Pairs) -> Pairs:
    """Return the longest subsequence of pairs with ascending second elements; the first elements already ascend."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for place, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        last[length : length + 1] = [place]
    series: Pairs = []
    place = last[-1] if last else -1
    while place >= 0:
        series.append(pairs[place])
        place = before[place]
    series.reverse()
    return series


def _greedy(left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Match each entry of `left` with the next equal entry of `right` within `_LOOKAHEAD` entries."""
    pairs: Pairs = []
    at = 0
    for i, entry in enumerate(left):
        try:
            k = right.index(entry, at, at + _LOOKAHEAD)
        except ValueError:
            continue
        pairs.append((i, k))
        at = k + 1
    return pairs
