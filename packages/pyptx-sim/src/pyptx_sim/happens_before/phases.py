"""Release clocks at the phases of mbarriers and of cluster barriers, and waits that acquire them.

An arrival releases, and a wait acquires, with the scope that it names (`.cta` if none). If one of the scopes does not
include the other thread, the wait orders only completion: accesses before the arrival are complete (manual:
"mbarrier.test_wait / mbarrier.try_wait": accesses after a wait are not visible to accesses before the arrivals), and so
are asynchronous operations that the arriving thread had waited for. Writes need not be visible then. `relaxed` handles
`.relaxed` arrivals and waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.happens_before.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import Masks, Offsets, Signal

# Keys of the release clocks at a phase, by the arriving thread: `_NEAR` in the mbarrier's CTA; in another CTA, `_FAR`
# with a scope that includes the cluster, and `_APART` with scope `.cta`. At barriers other than mbarriers, releases
# with scope `.cta` have the CTA slot as key.
_NEAR: Final = -1
_FAR: Final = -2
_APART: Final = -3
_TOLD: Final = -4  # key of release clocks that every wait acquires, whatever the scopes of arrival and wait

_AT_ONCE: Final = 64  # maximum number of phases whose release clocks are computed together

Sides: TypeAlias = "Mapping[int, Clock]"
"""Release clocks at a phase, by key: `_NEAR`, `_FAR`, `_APART` or `_TOLD`, or a CTA slot."""


class Phases:
    """Release clocks at phases of mbarriers (`place`: shared memory offset) and other barriers (negative `place`)."""

    def __init__(self, clocks: WarpClocks, warps_per_cta: int, stride: int) -> None:
        """Start without arrivals; `stride` is the distance between the shared memories of two CTAs in bytes."""
        self._clocks = clocks
        self._warps_per_cta = warps_per_cta
        self._stride = max(stride, 1)
        self._left: dict[tuple[int, int], dict[int, Clock]] = {}
        self._over: Columns | None = None

    def next_wave(self) -> None:
        """Forget the phases of the last wave of CTAs."""
        self._left.clear()

    @property
    def over(self) -> Columns | None:
        """Clock columns for accesses that are complete but may be invisible; None before the first use."""
        return self._over

    def at(self, place: int, phase: int, side: int = _NEAR) -> Clock:
        """Return the release clock of a phase under the key `side` (such as `_NEAR`), for the caller to modify."""
        if (place, phase) not in self._left:  # a wait for a phase acquires all earlier phases as well
            before = self._left.get((place, phase - 1), {})
            self._left[place, phase] = {side: known.copy() for side, known in before.items()}
            self._left.pop((place, phase - 2), None)  # no thread still waits for phase `phase - 2`
        sides = self._left[place, phase]
        known, columns = sides.get(side), self._clocks.known.shape[1]
        if known is None or len(known) < columns:
            fresh = np.zeros(columns, np.int32)
            fresh[: 0 if known is None else len(known)] = 0 if known is None else known
            sides[side] = known = fresh
        return known

    def signal(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Release the clocks of arriving lanes to a phase."""
        near = self._near(place, warps)
        if near.all():
            self._add(place, phase, _NEAR, self._clocks.told(warps, masks))
            return
        for side, there in ((_NEAR, near), (_FAR if scope == "cluster" else _APART, ~near)):
            if there.any():
                self._add(place, phase, side, self._clocks.told(warps[there], masks[there]))

    def signal_together(self, signals: Sequence[Signal], scope: str) -> None:
        """Release the clocks of arriving lanes to several mbarrier phases; no thread arrives at two of them."""
        far = _FAR if scope == "cluster" else _APART
        for first in range(0, len(signals), _AT_ONCE):
            some = signals[first : first + _AT_ONCE]
            which = np.repeat(np.arange(len(some)), [len(each.warps) for each in some])
            warps, masks = (np.concatenate([getattr(each, name) for each in some]) for name in ("warps", "masks"))
            homes = np.array([each.place for each in some]) // self._stride
            # number of each release clock: 2 * phase index, plus 1 if the arriving warp is not in the mbarrier's CTA
            sides = 2 * which + (warps // self._warps_per_cta != homes[which])
            order = np.argsort(sides, kind="stable")
            found, told = self._clocks.told_by_each(warps[order], masks[order], sides[order])
            for side, each in zip(found.tolist(), told, strict=True):
                at = some[side // 2]
                self._add(at.place, at.phase, far if side & 1 else _NEAR, each)

    def _add(self, place: int, phase: int, side: int, told: Clock) -> None:
        left = self.at(place, phase, side)  # `at` returns a clock with all columns, so it is at least as long as `told`
        np.maximum(left[: len(told)], told, out=left[: len(told)])

    def leave(self, place: int, phase: int, warp: int, told: Clock, *, reaches: bool) -> None:
        """Release clock `told` of a warp to a phase; `reaches`: for the whole cluster, otherwise for the warp's CTA."""
        near = bool(self._near(place, np.array([warp]))[0])
        side = _FAR if reaches else _APART
        if near:
            side = _NEAR if reaches or place >= 0 else warp // self._warps_per_cta
        self._add(place, phase, side, told)

    def tell(self, place: int, phase: int, told: Clock) -> None:
        """Release clock `told` to a phase, so that every wait acquires it whatever the scopes."""
        self._add(place, phase, _TOLD, told)

    def signal_some(self, place: int, phase: int, warps: Offsets, masks: Masks, columns: Columns) -> None:
        """Release only the components `columns` of the clocks of arriving lanes to a phase."""
        chosen = columns.all(self._clocks.own)
        known, left = self._clocks.known_by(warps, masks), self.at(place, phase)
        left[chosen] = np.maximum(left[chosen], known[:, chosen].max(axis=0))

    def _near(self, place: int, warps: Offsets) -> NDArray[np.bool_]:
        if place < 0:
            return np.ones(len(warps), np.bool_)
        near: NDArray[np.bool_] = warps // self._warps_per_cta == place // self._stride
        return near

    def acquire(self, place: int, phase: int, warps: Offsets, masks: Masks, scope: str) -> None:
        """Acquire the release clocks of a phase in waiting lanes, as far as the scopes of both sides allow."""
        self.learn(self.left(place, phase), warps, masks, reaches=scope == "cluster")

    def left(self, place: int, phase: int) -> Sides:
        """Return a phase's release clocks, by key (see `Sides`). They no longer change once the phase is complete."""
        return self._left.get((place, phase), {})

    def learn(self, sides: Sides, warps: Offsets, masks: Masks, *, reaches: bool) -> None:
        """Acquire release clocks in waiting lanes; `reaches`: the wait's scope includes the cluster.

        Clocks whose scope, or that of the wait, does not include the other thread only order completion.
        """
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
        """Return a release clock's components that order only completion: columns `over`, and operation queues."""
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
