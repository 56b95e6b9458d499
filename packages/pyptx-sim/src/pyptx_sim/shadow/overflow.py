"""Accesses to shadow granules for which a table with one last access per granule has no room."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import COLUMNS, MASK, PC, WARP
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.shadow.tables import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Number of shadow entries above which an `Overflow` keeps only each lane's last access by each instruction.
_GATHERED: Final = 1 << 22
# Number of shadow entries above which an `Overflow` does not record new accesses (256 MB).
_MOST: Final = 1 << 23
_PART: Final = 1 << 20
"""Approximate number of shadow entries that `find_in_parts` yields together."""


class Overflow:
    """Accesses to shadow granules whose table entry is another access, for example reads by threads that are unordered.

    Any number of entries per granule is kept, in lists. They are searched only when a granule is written.
    """

    def __init__(self, granules: int) -> None:
        """Start without accesses to `granules` shadow granules."""
        self._granules = granules
        # Per shadow granule: whether it has valid entries, and whether all its entries are dropped. Allocated with the
        # first entry.
        self._known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._dropped: NDArray[np.bool_] = self._known
        self._at: NDArray[np.int64] = np.zeros(0, np.int64)  # shadow granule of each entry in `_entries`, ascending
        self._entries: NDArray[np.int32] = np.zeros((0, COLUMNS), np.int32)
        # Accesses not yet sorted into `_entries`: shadow granules, shadow entries, number of parts into which each
        # granule was split.
        self._fresh: list[tuple[NDArray[np.int64], NDArray[np.int32], int]] = []
        self._count = 0
        self._thins_at = _GATHERED

    def __len__(self) -> int:
        """Return the number of recorded accesses (shadow entries)."""
        return self._count

    def add(self, at: NDArray[np.int64], entries: NDArray[np.int32]) -> None:
        """Add accesses to the shadow granules `at`, with their shadow entries."""
        if not len(at) or self._count > _MOST:
            return
        if not len(self._known):
            self._known, self._dropped = zeros(self._granules, np.bool_), zeros(self._granules, np.bool_)
        if self._dropped[at].any():
            self._purge()
        self._known[at] = True
        self._fresh.append((at, entries, 1))
        self._count += len(at)
        if self._count > self._thins_at:
            self._thin()

    def touches(self, at: NDArray[np.int64]) -> bool:
        """Return whether there are accesses to any of the granules `at`."""
        return bool(self._count and self._known[at].any())

    def find(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
        """Return accesses to the granules `at`: entry i is to shadow granule `at[which[i]]`; None if there are none."""
        parts = list(self.find_in_parts(at))
        if len(parts) > 1:
            return np.concatenate([which for which, _ in parts]), np.concatenate([entries for _, entries in parts])
        return parts[0] if parts else None

    def find_in_parts(self, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the result of `find` in parts: n lanes that read and then write a shadow granule give n² entries."""
        which = np.flatnonzero(self._known[at]) if self._count else ()
        if not len(which):
            return
        self._sort()
        first = self._at.searchsorted(at[which], "left")
        counts = self._at.searchsorted(at[which], "right") - first
        ends, bounds = counts.cumsum(), [0, len(which)]
        if ends[-1] > _PART:
            bounds = np.unique([*bounds, *ends.searchsorted(np.arange(_PART, ends[-1], _PART))]).tolist()
        for start, end in pairwise(bounds):
            some = counts[start:end]
            inside = np.arange(some.sum()) - np.repeat(some.cumsum() - some, some)
            yield np.repeat(which[start:end], some), self._entries[np.repeat(first[start:end], some) + inside]

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the shadow granule and the shadow entry of each access."""
        self._sort()
        counts = np.flatnonzero(self._known[self._at]) if len(self._at) else self._at
        return self._at[counts], self._entries[counts]

    def drop(self, at: NDArray[np.int64]) -> None:
        """Drop the accesses to the shadow granules `at`."""
        if not self._count:
            return
        gone = at[self._known[at]]
        self._known[gone] = False
        self._dropped[gone] = True

    def split(self, factor: int) -> None:
        """Split each shadow granule into `factor` granules, all with its accesses."""
        self._granules *= factor
        self._known, self._dropped = self._known.repeat(factor), self._dropped.repeat(factor)
        before = [(self._at, self._entries, 1), *self._fresh]
        self._fresh = [(at, entries, parts * factor) for at, entries, parts in before if len(at)]
        self._at, self._entries = self._at[:0], self._entries[:0]
        self._count *= factor

    def move(self, at: NDArray[np.int64], other: Overflow, factor: int) -> None:
        """Move the accesses to the shadow granules `at` to `other`, where each granule is `factor` granules."""
        found = self.find(at)
        if found is not None:
            which, entries = found
            other.add(*parts_of(at[which], entries, factor))
            self.drop(at)

    def _sort(self) -> None:
        """Merge newly added entries into the arrays sorted by shadow granule, in execution order for each granule."""
        if not self._fresh:
            return
        fresh = [(at, entries) if parts == 1 else parts_of(at, entries, parts) for at, entries, parts in self._fresh]
        at = np.concatenate([self._at, *(each for each, _ in fresh)])
        entries = np.concatenate([self._entries, *(each for _, each in fresh)])
        order = at.argsort(kind="stable")
        self._at, self._entries = at[order], entries[order]
        self._fresh.clear()

    def _purge(self) -> None:
        """Remove the entries of shadow granules that `drop` has marked."""
        self._sort()
        stays = ~self._dropped[self._at]
        self._at, self._entries = self._at[stays], self._entries[stays]
        self._dropped[:] = False
        self._count = len(self._at)

    def _thin(self) -> None:
        """Keep, per shadow granule, only the last access of each lane and instruction."""
        self._purge()
        entries = self._entries
        order = np.lexsort((entries[:, PC], entries[:, MASK], entries[:, WARP], self._at))
        at, entries = self._at[order], entries[order]
        last = np.ones(len(at), np.bool_)
        last[:-1] = (at[1:] != at[:-1]) | (entries[1:][:, [WARP, MASK, PC]] != entries[:-1][:, [WARP, MASK, PC]]).any(1)
        self._at, self._entries = at[last], entries[last]
        self._count = len(self._at)
        self._thins_at = max(_GATHERED, 2 * self._count)
