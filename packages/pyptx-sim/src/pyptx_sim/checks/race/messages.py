"""What threads tell each other through memory: a fence freezes what a thread knows, a strong write leaves that there.

A release takes a fence and a strong access of one thread: the fence freezes what the thread knows, the access leaves
it at the location, and a strong access of another thread there picks it up, if the fence's scope holds both. (Manual:
"Memory Consistency Model", "Release and Acquire Patterns", "Scope". The fence on the acquiring side is not asked for:
nvcc's own idioms leave it out.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.clocks import LANES
from pyptx_sim.machine.lanes import by_warp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import Known, WarpClocks
    from pyptx_sim.observer import Masks, Offsets

# An atomic on more locations than this in one step leaves and picks up its knowledge at one shared place: a histogram
# must not cost a clock per bin. It can hide a race between warps that both fence and use atomics, never invent one.
LOCATIONS_PER_STEP = 64

Place: TypeAlias = "tuple[int | None, int, int]"
"""Where a thread leaves what it released: a location (None where they are crowded), the scope, and the group in it."""

_SCOPES: Final = {"cta": 0, "cluster": 1}
WIDEST: Final = 2  # gpu and sys: all warps of a launch


def level_of(opcode: tuple[str, ...]) -> int:
    """Return how wide the scope of an opcode is, from 0 for a block to `WIDEST`; that is it where none is named."""
    return next((_SCOPES[word] for word in opcode if word in _SCOPES), WIDEST)


class _Frozen:
    """What fences of one scope have frozen: `known` by each warp, and `at` what time of its own by each lane."""

    def __init__(self, warps: int, columns: int) -> None:
        self.known: Known = np.zeros((warps, columns), np.int32)
        self.at: NDArray[np.int32] = np.zeros((warps, LANES), np.int32)

    def copy(self) -> _Frozen:
        other = _Frozen(0, 0)
        other.known, other.at = self.known.copy(), self.at.copy()
        return other


class Messages:
    """What the warps of a wave, of which `cta` make a block and `cluster` a cluster, have left in memory."""

    def __init__(self, clocks: WarpClocks, cta: int, cluster: int) -> None:
        """Begin with nothing left anywhere."""
        self._clocks = clocks
        self._sizes = (cta, cluster, max(len(clocks.now), 1))
        self._frozen: dict[int, _Frozen] = {}  # by scope; the narrow ones only once a fence has named them
        self._left: dict[Place, Known] = {}
        self._earlier: set[int | None] = set()
        self._occupied: set[int | None] = set()  # the locations of both

    def next_wave(self) -> None:
        """Start over with new warps; what earlier ones left in memory stays there for whoever picks it up."""
        self._earlier |= {location for location, scope, _ in self._left if scope == WIDEST}
        self._occupied = set(self._earlier)
        self._left.clear()
        self._frozen.clear()

    def within(self, levels: Offsets, warps: Offsets, others: Offsets) -> NDArray[np.bool_]:
        """Tell for each entry whether a scope holds both warps; a negative one of `others` is of an earlier wave."""
        sizes = np.array(self._sizes)[levels]
        held: NDArray[np.bool_] = (levels >= WIDEST) | ((others >= 0) & (warps // sizes == others // sizes))
        return held

    def fence(self, warps: Offsets, masks: Masks, scope: str) -> None:
        """Freeze what lanes of `warps` know and have done, for their next strong access to leave to the scope."""
        clocks, level = self._clocks, _SCOPES.get(scope, WIDEST)
        if WIDEST not in self._frozen:
            self._frozen[WIDEST] = _Frozen(len(clocks.now), clocks.known.shape[1])
        if level not in self._frozen:
            self._frozen[level] = self._frozen[WIDEST].copy()
        known = clocks.known_by(warps, masks)
        for narrower, frozen in self._frozen.items():
            if narrower > level:
                continue
            frozen.known = _widened(frozen.known, known.shape[1])
            frozen.known[warps] = np.maximum(frozen.known[warps], known)
            frozen.at[warps] = np.where(masks, clocks.now[warps][:, None], frozen.at[warps])
        clocks.now[warps] += 1

    def exchange(self, warps: Offsets, lanes: Offsets, locations: Offsets, *, leaves: bool) -> None:
        """Let strong accesses of lanes take what lies at `locations`, and, if they write, leave what they froze."""
        if not self._frozen and not self._earlier:
            return
        for location in self._stops(locations, leaves=leaves):
            here = slice(None) if location is None else locations == location
            visitors, masks = by_warp(warps[here], lanes[here])
            for scope in tuple(self._frozen):
                groups = visitors // self._sizes[scope]
                for group in np.unique(groups).tolist():
                    there = groups == group
                    self._exchange_in((location, scope, group), visitors[there], masks[there], leaves=leaves)
            if location in self._earlier or None in self._earlier:
                self._clocks.knows_earlier_waves[visitors] = True

    def _stops(self, locations: Offsets, *, leaves: bool) -> list[int | None]:
        """Return where to stop by: at all locations, many at the shared place; only to take, where anything lies."""
        if leaves:
            found = np.unique(locations)
            return [None] if len(found) > LOCATIONS_PER_STEP else found.tolist()
        shared = self._occupied & {None}
        places = np.fromiter((each for each in self._occupied if each is not None), np.int64)
        return [*shared, *np.intersect1d(locations, places).tolist()]

    def _exchange_in(self, place: Place, visitors: Offsets, masks: Masks, *, leaves: bool) -> None:
        """Let lanes of one group take what was left for it, and leave what they froze for it, one warp by one."""
        came = _joined(self._left.get(place), self._left.get((None, *place[1:])))
        if not leaves:
            if came is not None:
                self._clocks.learn(visitors, masks, came)
            return
        for warp, mask in zip(visitors.tolist(), masks, strict=True):
            if came is not None:
                self._clocks.learn(np.array([warp]), mask[None], came)
            came = _joined(came, self._released(self._frozen[place[1]], warp, mask))
        if came is not None:
            self._left[place] = came
            self._occupied.add(place[0])

    def _released(self, frozen: _Frozen, warp: int, mask: NDArray[np.bool_]) -> Known | None:
        """Return what lanes have frozen; None if that is nothing."""
        at = frozen.at[warp][mask]
        if not at.any():
            return None
        own, lanes = self._clocks.own, np.flatnonzero(mask)
        whole = bool(self._clocks.whole(np.array([warp]), mask[None])[0])
        together = max(int(at.min()) if whole else 0, int(frozen.known[warp, warp]))
        later = at > together
        columns = [own.of_lane(warp, lane) for lane in lanes[later].tolist()]
        released = np.zeros(self._clocks.known.shape[1], np.int32)
        released[: frozen.known.shape[1]] = frozen.known[warp]
        released[warp] = together
        released[columns] = at[later]
        return released


def _joined(one: Known | None, other: Known | None) -> Known | None:
    """Return what either tells; the later one may have more columns."""
    if one is None or other is None:
        return one if other is None else other
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    joined: Known = longer.copy()
    np.maximum(joined[: len(shorter)], shorter, out=joined[: len(shorter)])
    return joined


def _widened(known: Known, columns: int) -> Known:
    """Return clocks with as many columns, the new ones zeros."""
    if known.shape[1] >= columns:
        return known
    return np.concatenate([known, np.zeros((len(known), columns - known.shape[1]), np.int32)], axis=1)
