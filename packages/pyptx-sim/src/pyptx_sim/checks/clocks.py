"""Who knows of whose work: vector clocks of warps, and time stamps of the lanes inside a warp.

Warp `w` stands at time `now[w]`; it knows the work of warp `v` up to `known[w, v]`. A barrier makes all its warps know
what each of them knew. A release through memory takes a fence and a strong access: the fence freezes what the warp
knows, the access leaves it at the location, and a strong access of another warp there picks it up, if the fence's scope
holds both warps. (Manual: "Memory Consistency Model", "Release and Acquire Patterns", "Scope". The fence on the
acquiring side is not asked for: nvcc's own idioms leave it out.)

Lanes of one warp are ordered by `bar.warp.sync`, by barriers, and by every other instruction with `.sync` and both
lanes in its mask; by nothing else, however converged the warp is. A full mask raises the warp's `floor`; a partial one
is kept in a table of pairs, made when the first one is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Masks, Offsets

LANES = 32

# An atomic on more locations than this in one step leaves and picks up its knowledge at one shared place: a histogram
# must not cost a clock per bin. It can hide a race between warps that both fence and use atomics, never invent one.
LOCATIONS_PER_STEP = 64


Place: TypeAlias = "tuple[int | None, int, int]"
"""Where a warp leaves what it released: a location (None where they are crowded), the scope, and the group in it."""

_SCOPES: Final = {"cta": 0, "cluster": 1}
WIDEST: Final = 2  # gpu and sys: all warps of a launch


def level_of(opcode: tuple[str, ...]) -> int:
    """Return how wide the scope of an opcode is, from 0 for a block to `WIDEST`; that is it where none is named."""
    return next((_SCOPES[word] for word in opcode if word in _SCOPES), WIDEST)


class WarpClocks:
    """The vector clocks of the warps of a wave, of which `cta` make a block and `cluster` a cluster."""

    def __init__(self, warps: int, cta: int, cluster: int) -> None:
        """Start with warps that know nothing of each other."""
        self._sizes = (cta, cluster, max(warps, 1))
        self.known: NDArray[np.int32] = np.zeros((warps, warps), np.int32)
        self.now: NDArray[np.int32] = np.ones(warps, np.int32)
        # What was frozen for each scope; the narrow ones only once a fence has named them.
        self._fenced: dict[int, NDArray[np.int32]] = {WIDEST: np.zeros((warps, warps), np.int32)}
        self._left: dict[Place, NDArray[np.int32]] = {}
        self.knows_earlier_waves: NDArray[np.bool_] = np.zeros(warps, np.bool_)
        self._earlier: set[int | None] = set()
        # What arrivals have left at each phase of each mbarrier, and which warps they were of.
        self._signals: dict[tuple[int, int], tuple[NDArray[np.int32], set[int]]] = {}
        self._columns = warps

    def columns(self, count: int) -> int:
        """Return the first of `count` fresh columns of `known`: of what else one knows, and tells others of."""
        first, self._columns = self._columns, self._columns + count
        if self._columns > self.known.shape[1]:
            more = max(self._columns, 2 * self.known.shape[1]) - self.known.shape[1]
            self.known = _widened(self.known, more)
            self._fenced = {scope: _widened(known, more) for scope, known in self._fenced.items()}
            self._left = {place: _widened(known, more) for place, known in self._left.items()}
            self._signals = {at: (_widened(known, more), who) for at, (known, who) in self._signals.items()}
        return first

    def next_wave(self) -> None:
        """Start over with new warps; what earlier ones left in memory stays there for whoever picks it up."""
        self._earlier |= {location for location, scope, _ in self._left if scope == WIDEST}
        self._left.clear()
        self._signals.clear()
        self.known[:] = 0
        self.now[:] = 1
        self._fenced = {WIDEST: np.zeros_like(self.known)}
        self.knows_earlier_waves[:] = False

    def within(self, levels: Offsets, warps: Offsets, others: Offsets) -> NDArray[np.bool_]:
        """Tell for each entry whether a scope holds both warps; a negative one of `others` is of an earlier wave."""
        sizes = np.array(self._sizes)[levels]
        held: NDArray[np.bool_] = (levels >= WIDEST) | ((others >= 0) & (warps // sizes == others // sizes))
        return held

    def orders(self, warps: Offsets, others: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell for each entry whether the work of `others` at `times` happens before what `warps` do now."""
        ordered: NDArray[np.bool_] = (self.known[warps, others] >= times) | (warps == others)
        return ordered

    def meet(self, warps: Offsets) -> None:
        """Let all of `warps` know what each of them knows and has done."""
        self.known[warps, warps] = self.now[warps]
        self.known[warps] = self.known[warps].max(axis=0)
        self.knows_earlier_waves[warps] = self.knows_earlier_waves[warps].any()
        self.now[warps] += 1

    def fence(self, warps: Offsets, scope: str) -> None:
        """Freeze what `warps` know and have done, for the next strong access to leave to the warps of `scope`."""
        self.known[warps, warps] = self.now[warps]
        level = _SCOPES.get(scope, WIDEST)
        if level not in self._fenced:
            self._fenced[level] = self._fenced[WIDEST].copy()
        for narrower, fenced in self._fenced.items():
            if narrower <= level:
                fenced[warps] = self.known[warps]
        self.now[warps] += 1

    def at_phase(self, place: int, phase: int) -> tuple[NDArray[np.int32], set[int]]:
        """Return what has been left at a phase of an mbarrier, to be added to, and the warps that have."""
        if (place, phase) not in self._signals:  # who sees a phase complete sees all earlier ones so
            before = self._signals.get((place, phase - 1))
            left = np.zeros_like(self.known[0]) if before is None else before[0].copy()
            self._signals[place, phase] = (left, set())
        return self._signals[place, phase]

    def signal(self, place: int, phase: int, warps: Offsets, columns: slice = slice(None)) -> None:
        """Leave what `warps` know and have done at a phase of an mbarrier; of what they know only `columns`."""
        left, who = self.at_phase(place, phase)
        self.known[warps, warps] = self.now[warps]
        if columns != slice(None):
            np.maximum(left[columns], self.known[warps, columns].max(axis=0), out=left[columns])
            return
        np.maximum(left, self.known[warps].max(axis=0), out=left)
        who.update(warps.tolist())
        self._signals.pop((place, phase - 2), None)  # nobody can ask for it any more
        self.now[warps] += 1

    def acquire(self, place: int, phase: int, warps: Offsets) -> Offsets:
        """Let `warps` know what was left at a phase; return those of them that have left something there too."""
        left, who = self._signals.get((place, phase), (None, frozenset[int]()))
        if left is not None:
            self.known[warps] = np.maximum(self.known[warps], left)
        return np.array([warp for warp in warps.tolist() if warp in who], np.int64)

    def exchange(self, warps: Offsets, locations: Offsets, *, leaves: bool) -> None:
        """Let strong accesses of `warps` take what lies at `locations`, and, if they write, leave what they fenced."""
        pairs = np.unique(np.stack([locations, warps]), axis=1)
        places: dict[int | None, list[int]] = {}
        crowded = len(np.unique(pairs[0])) > LOCATIONS_PER_STEP
        for place, warp in pairs.T.tolist():
            places.setdefault(None if crowded else place, []).append(warp)
        for place, visitors in places.items():
            self._exchange_at(place, np.unique(np.asarray(visitors)), leaves=leaves)

    def _exchange_at(self, location: int | None, visitors: Offsets, *, leaves: bool) -> None:
        for scope, fenced in tuple(self._fenced.items()):
            groups = visitors // self._sizes[scope]
            for group in np.unique(groups).tolist():
                self._exchange_in((location, scope, group), visitors[groups == group], fenced if leaves else None)
        if location in self._earlier or None in self._earlier:
            self.knows_earlier_waves[visitors] = True

    def _exchange_in(self, place: Place, visitors: Offsets, fenced: NDArray[np.int32] | None) -> None:
        """Let warps of one group take what was left for it, and leave what they froze for it, one behind the other."""
        left = np.zeros_like(self.known[0])
        for known in (self._left.get(place), self._left.get((None, *place[1:]))):
            if known is not None:
                left = np.maximum(left, known)
        if fenced is None:
            self.known[visitors] = np.maximum(self.known[visitors], left)
            return
        came = np.maximum.accumulate(np.concatenate([left[None], fenced[visitors]]), axis=0)
        self._left[place] = came[-1]
        self.known[visitors] = np.maximum(self.known[visitors], came[:-1])


def _widened(known: NDArray[np.int32], more: int) -> NDArray[np.int32]:
    """Return clocks with `more` columns of zeros."""
    return np.concatenate([known, np.zeros((*known.shape[:-1], more), np.int32)], axis=-1)


class LaneClocks:
    """The order of the lanes inside each warp, by the clock of the warp."""

    def __init__(self, now: NDArray[np.int32]) -> None:
        """Start with lanes that have never synchronised, on the warps whose clocks are `now`."""
        self.now = now
        self._floor: NDArray[np.int32] = np.zeros(len(now), np.int32)
        self._pairs: NDArray[np.int32] | None = None

    def next_wave(self) -> None:
        """Start over with new warps, whose clocks have been set back."""
        self._floor[:] = 0
        self._pairs = None

    def orders(self, warps: Offsets, lanes: Offsets, others: NDArray[Any], times: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell for each entry whether lane `others` at `times` of the same warp is ordered before lane `lanes` now.

        A negative lane stands for several lanes; it counts as ordered once any of them is.
        """
        ordered: NDArray[np.bool_] = (self._floor[warps] >= times) | (lanes == others)
        if self._pairs is None:
            return ordered
        met = np.where(others >= 0, self._pairs[warps, lanes, others], self._pairs[warps, lanes].max(axis=-1))
        ordered |= met >= times
        return ordered

    def meet_all(self, warps: Offsets) -> None:
        """Order everything that the lanes of `warps` did before everything that they do from here on."""
        self._floor[warps] = self.now[warps]
        self.now[warps] += 1

    def meet(self, warps: Offsets, masks: Masks) -> None:
        """Order, in each warp, the lanes of its row in `masks`."""
        full = masks.all(axis=1)
        self.meet_all(warps[full])
        if not full.all():
            self._meet_some(warps[~full], masks[~full])

    def _meet_some(self, warps: Offsets, masks: Masks) -> None:
        if self._pairs is None:
            self._pairs = np.zeros((len(self.now), LANES, LANES), np.int32)
        inside = masks[:, :, None] & masks[:, None, :]
        pairs = self._pairs[warps]
        # What any lane of the mask knew of a lane, all of them know now; of each other they know everything.
        shared = np.where(masks[:, :, None], pairs, 0).max(axis=1)[:, None, :]
        pairs = np.where(masks[:, :, None], np.maximum(pairs, shared), pairs)
        self._pairs[warps] = np.where(inside, self.now[warps][:, None, None], pairs)
        self.now[warps] += 1
