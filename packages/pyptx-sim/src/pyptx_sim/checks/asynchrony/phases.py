"""What arrivals leave at phases of mbarriers, and at the barriers of clusters, for those who wait there.

An arrival releases, and a wait acquires, to the scope that each names: the block where none is named. Where one of the
two scopes does not hold the other thread, a wait still knows that accesses before the arrival are over (manual:
"mbarrier.test_wait / mbarrier.try_wait", what comes behind a wait is not visible to what came before the arrivals), and
that asynchronous work is done which the arriving thread had waited for; but not that it sees what was written.
What `.relaxed` arrivals leave, and `.relaxed` waits take, is for `relaxed` to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.checks.race.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.clocks import WarpClocks
    from pyptx_sim.checks.race.columns import Clock
    from pyptx_sim.observer import Masks, Offsets, Signal

# Who has arrived: warps of the mbarrier's own block; of others with a scope that holds the cluster, or only the block.
# Of what is no mbarrier, those that have released to their block alone are by the number of the block.
_NEAR: Final = -1
_FAR: Final = -2
_APART: Final = -3
_TOLD: Final = -4  # whoever waits takes all of it in, whoever has arrived

_AT_ONCE: Final = 64  # phases at which what is told is put together at a time

Sides: TypeAlias = "Mapping[int, Clock]"
"""What has been left at a phase, by who has left it."""


class Phases:
    """The phases of a wave's barriers; -1 and below are no mbarriers, and belong to no block."""

    def __init__(self, clocks: WarpClocks, warps_per_cta: int, stride: int) -> None:
        """Begin with nobody arrived; `stride` is that of the blocks' shared memory."""
        self._clocks = clocks
        self._warps_per_cta = warps_per_cta
        self._stride = max(stride, 1)
        self._left: dict[tuple[int, int], dict[int, Clock]] = {}
        self._over: Columns | None = None

    def next_wave(self) -> None:
        """Forget the warps before."""
        self._left.clear()

    @property
    def over(self) -> Columns | None:
        """The columns of what one knows to be over, whether or not one sees what it wrote; None if nobody asks."""
        return self._over

    def at(self, place: int, phase: int, side: int = _NEAR) -> Clock:
        """Return what has been left at a phase, to be added to."""
        if (place, phase) not in self._left:  # who sees a phase complete sees all earlier ones so
            before = self._left.get((place, phase - 1), {})
            self._left[place, phase] = {side: known.copy() for side, known in before.items()}
            self._left.pop((place, phase - 2), None)  # nobody can ask for it any more
        sides = self._left[place, phase]
        known, columns = sides.get(side), self._clocks.known.shape[1]
        if known is None or len(known) < columns:
            fresh = np.zeros(columns, np.int32)
            fresh[: 0 if known is None else len(known)] = 0 if known is None else known
            sides[side] = known = fresh
        return known

    def signal(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Leave what lanes know and have done at a phase."""
        near = self._near(place, warps)
        if near.all():
            self._add(place, phase, _NEAR, self._clocks.told(warps, masks))
            return
        for side, there in ((_NEAR, near), (_FAR if scope == "cluster" else _APART, ~near)):
            if there.any():
                self._add(place, phase, side, self._clocks.told(warps[there], masks[there]))

    def signal_together(self, signals: Sequence[Signal], scope: str) -> None:
        """Leave what lanes know and have done at phases of mbarriers, different threads at each."""
        far = _FAR if scope == "cluster" else _APART
        for first in range(0, len(signals), _AT_ONCE):
            some = signals[first : first + _AT_ONCE]
            which = np.repeat(np.arange(len(some)), [len(each.warps) for each in some])
            warps, masks = (np.concatenate([getattr(each, name) for each in some]) for name in ("warps", "masks"))
            homes = np.array([each.place for each in some]) // self._stride
            sides = 2 * which + (warps // self._warps_per_cta != homes[which])  # near, then far, of one after the other
            order = np.argsort(sides, kind="stable")
            found, told = self._clocks.told_by_each(warps[order], masks[order], sides[order])
            for side, each in zip(found.tolist(), told, strict=True):
                at = some[side // 2]
                self._add(at.place, at.phase, far if side & 1 else _NEAR, each)

    def _add(self, place: int, phase: int, side: int, told: Clock) -> None:
        left = self.at(place, phase, side)  # telling may have made columns
        np.maximum(left[: len(told)], told, out=left[: len(told)])

    def leave(self, place: int, phase: int, warp: int, told: Clock, *, reaches: bool) -> None:
        """Leave at a phase what a warp tells, to the cluster, or, if not so far `reaches`, to its block."""
        near = bool(self._near(place, np.array([warp]))[0])
        side = _FAR if reaches else _APART
        if near:
            side = _NEAR if reaches or place >= 0 else warp // self._warps_per_cta
        self._add(place, phase, side, told)

    def tell(self, place: int, phase: int, told: Clock) -> None:
        """Leave at a phase what all who wait there take in."""
        self._add(place, phase, _TOLD, told)

    def signal_some(self, place: int, phase: int, warps: Offsets, masks: Masks, columns: Columns) -> None:
        """Leave at a phase only what the lanes know in some columns."""
        chosen = columns.all(self._clocks.own)
        known, left = self._clocks.known_by(warps, masks), self.at(place, phase)
        left[chosen] = np.maximum(left[chosen], known[:, chosen].max(axis=0))

    def _near(self, place: int, warps: Offsets) -> NDArray[np.bool_]:
        if place < 0:
            return np.ones(len(warps), np.bool_)
        near: NDArray[np.bool_] = warps // self._warps_per_cta == place // self._stride
        return near

    def acquire(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Let lanes know what was left at a phase, as far as the scopes of both sides reach."""
        self.learn(self.left(place, phase), warps, masks, reaches=scope == "cluster")

    def left(self, place: int, phase: int) -> Sides:
        """Return what has been left at a phase; of one that is complete, that stays as it is."""
        return self._left.get((place, phase), {})

    def learn(self, sides: Sides, warps: Offsets, masks: Masks, *, reaches: bool) -> None:
        """Let lanes know what was left, from the whole cluster, or, if not so far `reaches`, from their block."""
        for side, told in sorted(sides.items(), reverse=True):
            if side in {_NEAR, _TOLD} or (side == _FAR and reaches):
                self._clocks.learn(warps, masks, told)
                continue
            own = warps // self._warps_per_cta == side
            if own.any():
                self._clocks.learn(warps[own], masks[own], told)
            if not own.all():
                self._clocks.learn(warps[~own], masks[~own], self._ended(told))

    def _ended(self, told: Clock) -> Clock:
        """Return what one knows of others whose writes one may not see: that it is over."""
        clocks = self._clocks
        if self._over is None:
            self._over = Columns(clocks)
        over, own = self._over.all(clocks.own), clocks.own.all(clocks.own)
        whole = np.zeros(clocks.known.shape[1], np.int32)
        whole[: len(told)] = told
        ended = np.zeros_like(whole)
        ended[over] = np.maximum(whole[own], whole[over])
        agents = clocks.of_agents
        ended[agents] = whole[agents]
        return ended
