"""What reads may still return: the writes of a location in coherence order, and which of them a thread knows.

A weak memory needs no buffers of stores: clocks say what is allowed. A read may return any write that is not older, in
coherence order, than the newest one that its thread knows, by causality or by having observed it; a store may be placed
anywhere behind the newest write that its thread knows, but not between an update and the write that this has read. What
the axioms forbid then cannot be seen. Memory holds the newest writes. Manual: "Memory Consistency Model", "Axioms".

Of a location the last writes are kept; of an instruction that goes to a crowd of locations, none: there the newest is
read. So it is of a location once it has been read so often, since its newest write, that returned an older one: a
thread that polls will see what it waits for.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.checks.race.release_clocks import CROWD
from pyptx_sim.checks.race.tables import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.release_clocks import ReleaseClock, ReleaseClocks
    from pyptx_sim.observer import Masks, Offsets, RunView, Space, Stores

    Knows = Callable[[Space, int, Offsets, Offsets, NDArray[np.int32]], bool]

# How likely a read of a location of which there is more than one write looks back, and a store is placed further back.
_LOOKS_BACK: Final = 0.5
_COMES_LATE: Final = 0.3
_KEPT: Final = 8  # writes of a location
_LOCATIONS: Final = 1024  # of a memory; the oldest ones are forgotten
_WIDEST: Final = 32  # bytes of a location
_PATIENCE: Final = 8  # stale reads of a location between two writes of it
_NOBODYS: Final = np.zeros((0, COLUMNS), np.int32)


@dataclass(slots=True)
class _PastWrite:
    """A write of a location: the shadow's `entries` of the lanes whose it is, none of what was there at first.

    Of the newest one, memory has the `value`, and the messages have what it has `left`.
    """

    entries: NDArray[np.int32]
    updates: bool = False
    value: bytes = b""
    left: ReleaseClock | None = None


@dataclass(slots=True)
class _Location:
    """The writes of `size` bytes, in coherence order, and how often older ones have been read since the newest."""

    size: int
    writes: list[_PastWrite]
    stale: int = 0


class OlderWrites:
    """The writes that reads of a seeded run may still return.

    An instruction's accesses are told of in this order: `look` or `place`, which choose; `keep` for writes; `swapped`
    around the exchange of messages; `written` for writes; `done`.
    """

    def __init__(self, view: RunView, messages: ReleaseClocks, knows: Knows, seed: int) -> None:
        """Begin without any; `knows` tells whether any of some lanes knows a write of a location."""
        self._view, self._messages, self._knows = view, messages, knows
        self._random = np.random.default_rng((seed, 1))
        self._spaces: dict[Space, dict[int, _Location]] = {}
        self._sizes: set[int] = set()
        self._read: dict[int, _PastWrite] = {}  # what the next reads return that is not the newest
        self._behind: dict[int, int] = {}  # and where the next writes come that do not come last
        self._left: dict[int, ReleaseClock | None] = {}  # with what these leave

    def next_wave(self) -> None:
        """Forget memories of blocks."""
        self._spaces = {space: known for space, known in self._spaces.items() if space == "global"}

    # --- the machine asks -----------------------------------------------------------------------

    def look(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Mapping[int, bytes]:
        """Choose what the next reads return: at some of the offsets, the bytes that lay there before."""
        for offset, location, here in self._choices(space, offsets, size, _LOOKS_BACK):
            first = self._newest_known(space, offset, location, warps[here], lanes[here])
            chosen = int(self._random.integers(first, len(location.writes)))
            if chosen < len(location.writes) - 1 and location.stale < _PATIENCE:
                location.stale += 1
                self._read[offset] = location.writes[chosen]
        return {offset: write.value for offset, write in self._read.items()}

    def place(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Masks | None:
        """Choose where the next stores come: return which are older than what memory holds, if any are."""
        for offset, location, here in self._choices(space, offsets, size, _COMES_LATE):
            if np.count_nonzero(here) > 1:
                continue
            writes = location.writes
            first = self._newest_known(space, offset, location, warps[here], lanes[here]) + 1
            places = [at for at in range(first, len(writes)) if not writes[at].updates]
            at = int(self._random.choice([*places, len(writes)]))
            if at < len(writes):
                self._behind[offset] = at
        return np.isin(offsets, np.fromiter(self._behind, np.int64)) if self._behind else None

    def happens(self, likely: float) -> bool:
        """Draw whether something happens that is so likely."""
        return bool(self._random.random() < likely)

    def _choices(
        self, space: Space, offsets: Offsets, size: int, likely: float
    ) -> Iterator[tuple[int, _Location, NDArray[np.bool_]]]:
        """Yield some locations among the offsets of which there is more than one write, and who goes there."""
        known = self._spaces.get(space)
        if not known or len(offsets) > CROWD:
            return
        for offset in np.unique(offsets).tolist():
            location = known.get(offset)
            if location is None or location.size != size or len(location.writes) == 1:
                continue
            if self._random.random() < likely:
                yield offset, location, offsets == offset

    def _newest_known(self, space: Space, offset: int, location: _Location, warps: Offsets, lanes: Offsets) -> int:
        """Return the newest of a location's writes that any of some lanes knows; all know the first."""
        for at in range(len(location.writes) - 1, 0, -1):
            if self._knows(space, offset, warps, lanes, location.writes[at].entries):
                return at
        return 0

    # --- the checker tells ----------------------------------------------------------------------

    def keep(self, space: Space, offsets: Offsets, size: int) -> None:
        """Keep what the next writes replace: the bytes, and the messages that lie with them."""
        if len(offsets) > CROWD or size > _WIDEST:
            self.forget(space, offsets, size)
            return
        known = self._spaces.setdefault(space, {})
        self._sizes.add(size)
        for offset in np.unique(offsets).tolist():
            for other in self._sizes - {size}:
                _forget(known, range(offset // other * other, offset + size, other), other)
            if offset not in known:
                known[offset] = _Location(size, [_PastWrite(_NOBODYS)])
                if len(known) > _LOCATIONS:
                    del known[next(iter(known))]
            newest = known[offset].writes[-1]
            newest.value = self._view.bytes_at(space, offset, size)
            newest.left = self._messages.left_at(space, offset)

    def forget(self, space: Space, offsets: Offsets, size: int) -> None:
        """Forget what lies between the first and the last of some places that are written in another way."""
        known = self._spaces.get(space)
        if known and len(offsets):
            first, last = int(offsets.min()) - _WIDEST, int(offsets.max()) + size
            for offset in [each for each in known if first < each < last]:
                del known[offset]

    @contextmanager
    def swapped(self, space: Space) -> Iterator[None]:
        """Let what older writes have left stand for what the newest ones have, and keep apart what older ones leave."""
        kept = {offset: self._messages.swap(space, offset, write.left) for offset, write in self._read.items()} | {
            offset: self._messages.swap(space, offset, None) for offset in self._behind
        }
        yield
        for offset, left in kept.items():
            self._left[offset] = self._messages.swap(space, offset, left)

    def written(
        self, space: Space, offsets: Offsets, entries: NDArray[np.int32], stores: Stores | None, *, updates: bool
    ) -> None:
        """Enter writes, of which `entries` are the shadow's."""
        known = self._spaces.get(space, {})
        for offset in np.unique(offsets).tolist() if len(offsets) <= CROWD else ():
            location = known.get(offset)
            if location is None:
                continue
            here = np.flatnonzero(offsets == offset)
            write = _PastWrite(entries[here], updates)
            if offset in self._behind and stores is not None:
                write.value, write.left = stores.bytes_of(here)[0].tobytes(), self._left.get(offset)
            location.writes.insert(self._behind.get(offset, len(location.writes)), write)
            location.stale = 0
            if len(location.writes) > _KEPT:
                del location.writes[0]

    def last(self, offsets: Offsets) -> Offsets:
        """Return those of the offsets whose next writes come last."""
        return offsets[~np.isin(offsets, np.fromiter(self._behind, np.int64))] if self._behind else offsets

    def source(self, space: Space, offset: int) -> NDArray[np.int32] | None:
        """Return whose write the next reads at an offset return, as entries of the shadow; None if nobody knows."""
        chosen = self._read.get(offset)
        if chosen is None:
            location = self._spaces.get(space, {}).get(offset)
            chosen = None if location is None else location.writes[-1]
        return None if chosen is None else chosen.entries

    def done(self) -> None:
        """Forget what was chosen."""
        self._read.clear()
        self._behind.clear()
        self._left.clear()


def _forget(known: dict[int, _Location], offsets: Iterable[int], size: int) -> None:
    """Forget locations of a size at some offsets."""
    for offset in offsets:
        location = known.get(offset)
        if location is not None and location.size == size:
            del known[offset]
