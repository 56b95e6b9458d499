"""Older writes that a read may return: the writes of a location in coherence order, and which writes a thread knows.

Weak memory is simulated without store buffers, by vector clocks. A read may return any write that is not older, in
coherence order, than the newest write that happens before the read or was observed by its thread. A store may be
inserted in coherence order after the newest write that its thread knows in this sense, but not between a
read-modify-write and the write that it has read. This excludes the outcomes that the axioms forbid. Memory has the
newest writes. Manual: "Memory Consistency Model", "Axioms".

Only the last writes of a location are kept. Reads return the newest write if the instruction accesses more than `CROWD`
locations, or if `_PATIENCE` reads of the location have returned an older write since the newest one. So a thread that
polls reads the new value after a while.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import COLUMNS
from pyptx_sim.happens_before.release_clocks import CROWD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.release_clocks import ReleaseClock, ReleaseClocks
    from pyptx_sim.observer import Masks, Offsets, RunView, Space, Stores

    Knows = Callable[[Space, int, Offsets, Offsets, NDArray[np.int32]], bool]

# Probabilities that a read may return an older write, and that a store may be inserted before the newest write.
_LOOKS_BACK: Final = 0.5
_COMES_LATE: Final = 0.3
_KEPT: Final = 8  # number of last writes that are kept per memory location
_LOCATIONS: Final = 1024  # maximum number of recorded memory locations per state space; the oldest is dropped
_WIDEST: Final = 32  # maximum size in bytes of an access to a recorded memory location
_PATIENCE: Final = 8  # maximum number of reads of a location that return an older write, per newest write
_NOBODYS: Final = np.zeros((0, COLUMNS), np.int32)


@dataclass(slots=True)
class _PastWrite:
    """Write of a location, with the shadow entries of the writing lanes (none: the initial value).

    `value` and `left`, the release clock, are set for older writes only. Those of the newest write are in memory and in
    `ReleaseClocks`.
    """

    entries: NDArray[np.int32]
    updates: bool = False
    value: bytes = b""
    left: ReleaseClock | None = None


@dataclass(slots=True)
class _Location:
    """Writes of `size` bytes in coherence order; `stale` is the number of reads of older writes since the newest."""

    size: int
    writes: list[_PastWrite]
    stale: int = 0


class OlderWrites:
    """Older writes that reads of a run with a nonzero seed may return.

    The calls for the accesses of an instruction are, in this order: `look` or `place`, which choose writes; `keep` for
    writes; `swapped` around `ReleaseClocks.exchange`; `written` for writes; `done`.
    """

    def __init__(self, view: RunView, messages: ReleaseClocks, knows: Knows, seed: int) -> None:
        """Start without writes; `knows` returns whether one of some lanes is ordered after a write or observed it."""
        self._view, self._messages, self._knows = view, messages, knows
        self._random = np.random.default_rng((seed, 1))
        self._spaces: dict[Space, dict[int, _Location]] = {}
        self._sizes: set[int] = set()
        self._read: dict[int, _PastWrite] = {}  # older write that the next read of a location returns, by offset
        # Index, in the coherence order of its location, of the executing store if it will not be the newest write; by
        # offset.
        self._behind: dict[int, int] = {}
        self._left: dict[int, ReleaseClock | None] = {}  # release clocks of the stores in `_behind`, by offset

    def next_wave(self) -> None:
        """Forget writes to the shared memory of exited CTAs."""
        self._spaces = {space: known for space, known in self._spaces.items() if space == "global"}

    # --- choices, called by the simulator -------------------------------------------------------

    def look(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Mapping[int, bytes]:
        """Choose the writes that the next reads return; return the values of chosen older writes, by offset."""
        for offset, location, here in self._choices(space, offsets, size, _LOOKS_BACK):
            first = self._newest_known(space, offset, location, warps[here], lanes[here])
            chosen = int(self._random.integers(first, len(location.writes)))
            if chosen < len(location.writes) - 1 and location.stale < _PATIENCE:
                location.stale += 1
                self._read[offset] = location.writes[chosen]
        return {offset: write.value for offset, write in self._read.items()}

    def place(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Masks | None:
        """Choose places in coherence order for the next stores; return which stores are not the newest."""
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
        """Return True with probability `likely`."""
        return bool(self._random.random() < likely)

    def _choices(
        self, space: Space, offsets: Offsets, size: int, likely: float
    ) -> Iterator[tuple[int, _Location, NDArray[np.bool_]]]:
        """Yield, with probability `likely` each, offsets with several writes, the location, and its accesses' mask."""
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
        """Return the index of the newest write of a location that any of some lanes knows; all lanes know write 0."""
        for at in range(len(location.writes) - 1, 0, -1):
            if self._knows(space, offset, warps, lanes, location.writes[at].entries):
                return at
        return 0

    # --- writes, recorded by the race checker ---------------------------------------------------

    def keep(self, space: Space, offsets: Offsets, size: int) -> None:
        """Keep the values in memory, and their release clocks, that the next writes replace."""
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
        """Forget the recorded locations from the lowest to the highest of `offsets`, written without calling `keep`."""
        known = self._spaces.get(space)
        if known and len(offsets):
            first, last = int(offsets.min()) - _WIDEST, int(offsets.max()) + size
            for offset in [each for each in known if first < each < last]:
                del known[offset]

    @contextmanager
    def swapped(self, space: Space) -> Iterator[None]:
        """Replace the release clocks of locations by those of chosen older writes, for the `with` body.

        After the body, the clocks of the newest writes are restored. Clocks that the body attaches to older writes are
        kept for these.
        """
        kept = {offset: self._messages.swap(space, offset, write.left) for offset, write in self._read.items()} | {
            offset: self._messages.swap(space, offset, None) for offset in self._behind
        }
        yield
        for offset, left in kept.items():
            self._left[offset] = self._messages.swap(space, offset, left)

    def written(
        self, space: Space, offsets: Offsets, entries: NDArray[np.int32], stores: Stores | None, *, updates: bool
    ) -> None:
        """Record writes at `offsets`, with their shadow entries and, if known, the stored values."""
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
        """Return the offsets at which the executed store becomes the newest write in coherence order."""
        return offsets[~np.isin(offsets, np.fromiter(self._behind, np.int64))] if self._behind else offsets

    def source(self, space: Space, offset: int) -> NDArray[np.int32] | None:
        """Return the shadow entries of the write that the next read at an offset returns; None if it is unknown."""
        chosen = self._read.get(offset)
        if chosen is None:
            location = self._spaces.get(space, {}).get(offset)
            chosen = None if location is None else location.writes[-1]
        return None if chosen is None else chosen.entries

    def done(self) -> None:
        """Forget the older writes, and the places in coherence order, chosen for the executed instruction."""
        self._read.clear()
        self._behind.clear()
        self._left.clear()


def _forget(known: dict[int, _Location], offsets: Iterable[int], size: int) -> None:
    """Remove the locations of `size` bytes at `offsets` from `known`, the recorded locations."""
    for offset in offsets:
        location = known.get(offset)
        if location is not None and location.size == size:
            del known[offset]
