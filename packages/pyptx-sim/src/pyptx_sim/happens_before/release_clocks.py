"""Release and acquire patterns through memory, and `fence.sc`.

A strong write attaches a release clock to its location: the vector clocks of its thread at its fences and at its
releases of the location. A strong read that is morally strong with the write reads the release clock; a
read-modify-write passes it on. The reading thread acquires it at its next fence, or with an acquire of the location. A
release clock has a vector clock per scope and CTA of its fences and releases: two fences or operations synchronize only
if the scope of each includes the other thread. Manual: "Memory Consistency Model", "Release and Acquire Patterns",
"Memory synchronization", "Fence-SC Order", "Morally strong operations".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES
from pyptx_sim.happens_before.snapshots import Snapshots, known_alike
from pyptx_sim.machine.lanes import by_warp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.happens_before.columns import Clock
    from pyptx_sim.observer import Masks, Offsets, Order, Space

_SCOPES: Final = {"cta": 0, "cluster": 1}
WIDEST: Final = 2  # number of the widest scope level: .gpu and .sys, which include all warps of a launch

Message: TypeAlias = "Mapping[tuple[int, int], Clock]"
"""Release clock: vector clocks by scope level and by the CTA slot of the releasing thread."""
_EARLIER: Final = -1  # key component in place of the CTA slot: release clock from earlier waves of CTAs
_MANY: Final = -2  # key component in place of the CTA slot: release clock joined from more than `_BLOCKS` CTAs
# If an instruction accesses more than `CROWD` locations, the lanes of a warp release and acquire together: clocks per
# lane would take too long. A release clock distinguishes at most `_BLOCKS` CTAs. Both can hide a race but never invent
# one.
CROWD: Final = 64
_BLOCKS: Final = 8


def level_of(scope: str) -> int:
    """Return the level of a scope: 0 for `cta`, 1 for `cluster`, `WIDEST` for `gpu` and `sys`."""
    return _SCOPES.get(scope, WIDEST)


@dataclass(frozen=True, slots=True)
class ReleaseClock:
    """Release clock of one memory location, with the size, scope level and CTA slot of the write that attached it."""

    size: int
    level: int
    block: int
    message: Message


class ReleaseClocks:
    """Release clocks of memory locations; `cta` is the number of warps per CTA, and `cluster` per cluster."""

    def __init__(self, clocks: WarpClocks, cta: int, cluster: int) -> None:
        """Start without release clocks."""
        self._clocks = clocks
        self._cta = cta
        self._blocks = (1, max(cluster // cta, 1))  # number of CTAs in the scopes `cta` and `cluster`
        # vector clocks of threads at their fences, by scope level and warp
        self._fenced: dict[int, dict[int, Snapshots]] = {}
        # vector clocks of threads at their releases: by warp, lane, state space and offset, then by scope level
        self._released: dict[tuple[int, int, Space, int], dict[int, Clock]] = {}
        self._left: dict[Space, dict[int, ReleaseClock]] = {}
        # Release clocks that lanes have read and not acquired, by warp and lane, then by location. Location -1 is for
        # instructions with more than `CROWD` locations.
        self._taken: dict[tuple[int, int], dict[tuple[Space, int], Message]] = {}
        self._in_order: Message = {}  # joined vector clocks of all earlier fence.sc

    def next_wave(self) -> None:
        """Start the next wave of CTAs; release clocks in memory stay, without their `cta` and `cluster` scope parts."""
        # Many locations share one release clock (`Message`): each clock and its replacement, by `id` of the clock.
        again: dict[int, tuple[Message, Message]] = {}
        for left in self._left.values():
            for location, kept in tuple(left.items()):
                message: Message = {}
                if kept.level >= WIDEST:
                    if id(kept.message) not in again:
                        again[id(kept.message)] = kept.message, self._kept(kept.message)
                    message = again[id(kept.message)][1]
                if message:
                    left[location] = ReleaseClock(kept.size, WIDEST, _EARLIER, message)
                else:
                    del left[location]
        self._in_order = self._kept(self._in_order)
        self._fenced.clear()
        self._released.clear()
        self._taken.clear()

    def _kept(self, message: Message) -> Message:
        """Return the part of a release clock that later waves of CTAs can acquire: that of the widest scope."""
        kept: Message = {}
        for (level, _), known in message.items():
            if level >= WIDEST:
                kept = _joined(kept, {(WIDEST, _EARLIER): self._clocks.kept(known)})
        return kept

    def within(self, levels: Offsets, warps: Offsets, others: Offsets) -> NDArray[np.bool_]:
        """Return, per entry, whether scope level `levels[i]` includes both warps; negative `others`: earlier waves."""
        sizes = self._cta * np.array((*self._blocks, 1))[levels]
        held: NDArray[np.bool_] = (levels >= WIDEST) | ((others >= 0) & (warps // sizes == others // sizes))
        return held

    def _holds(self, level: int, block: int, other: int) -> bool:
        """Return whether a scope of a thread in CTA `block` includes the threads of CTA `other`."""
        if level >= WIDEST or block in {other, _MANY}:
            return True
        return block >= 0 and block // self._blocks[level] == other // self._blocks[level]

    # --- fences ---------------------------------------------------------------------------------

    def fence(self, warps: Offsets, masks: Masks, scope: str, *, in_order: bool) -> None:
        """Execute a fence: lanes of `warps` acquire the release clocks that they have read, and record their clocks.

        `in_order`: the fence is `fence.sc`. The `fence.sc` of several warps are ordered one after another.
        """
        if in_order and len(warps) > 1:
            for number in range(len(warps)):
                self.fence(warps[[number]], masks[[number]], scope, in_order=True)
            return
        level = level_of(scope)
        for warp, mask in zip(warps.tolist(), masks, strict=True):
            for lane in np.flatnonzero(mask).tolist() if self._taken else ():
                self._learn_all(warp, lane, level)
            if in_order:
                self._learn(warp, mask, level, self._in_order)
        fenced = self._fenced.setdefault(level, {})
        for warp, mask, known in known_alike(self._clocks, warps, masks):
            fenced.setdefault(warp, Snapshots()).take(mask, known, int(self._clocks.now[warp]))
        if in_order:
            for warp, mask in zip(warps.tolist(), masks, strict=True):
                kept = fenced[warp].told(self._clocks, warp, mask)
                self._in_order = _joined(self._in_order, {(level, warp // self._cta): kept})
        self._clocks.now[warps] += 1

    # --- accesses -------------------------------------------------------------------------------

    def exchange(self, order: Order, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> None:
        """Read the release clocks at `offsets` by strong accesses of lanes, and attach release clocks of their threads.

        If several lanes of an instruction update one location, they do so in lane order, and each reads the previous
        lane's value.
        """
        left = self._left.setdefault(space, {})
        leaves = order.writes and (bool(self._fenced) or order.releases)
        if not left and not leaves:
            return
        level, updates = level_of(order.scope), leaves and order.reads and order.hears
        places = np.unique(offsets)
        if not leaves:
            places = np.intersect1d(places, np.fromiter(left, np.int64, len(left)))
        if len(places) > CROWD:
            self._visit_crowd(order, level, space, offsets, size, warps, lanes)
            return
        for location in places.tolist():
            here = offsets == location
            visitors, masks = by_warp(warps[here], lanes[here])
            for warp, mask in zip(visitors.tolist(), masks, strict=True):
                for some in _each(mask) if updates else (mask,):
                    self._visit(order, level, (space, location), size, warp, some)

    def _visit_crowd(
        self, order: Order, level: int, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets
    ) -> None:
        """Perform strong accesses to more than `CROWD` locations: all lanes of a warp share one release clock."""
        left = self._left[space]
        for warp in np.unique(warps).tolist():
            here = warps == warp
            mask, block = np.zeros(LANES, np.bool_), warp // self._cta
            mask[lanes[here]] = True
            found = {at: left[at] for at in offsets[here].tolist() if at in left}
            heard = {at: each.message for at, each in found.items() if self._hears(each, size, level, block)}
            if order.reads and order.hears and heard:
                self._take_together(order, level, space, warp, mask, heard.values())
            if not order.writes:
                continue
            own = self._releasing_together(order, level, warp, mask)
            if own and order.reads and order.hears and len(np.unique(offsets[here])) < np.count_nonzero(here):
                self._take_together(order, level, space, warp, mask, [own])
            for at in offsets[here].tolist():
                message = _joined(heard[at], own) if order.reads and at in heard else own
                if message:
                    left[at] = ReleaseClock(size, level, block, message)
                else:
                    left.pop(at, None)

    def _take_together(
        self,
        order: Order,
        level: int,
        space: Space,
        warp: int,
        mask: NDArray[np.bool_],
        messages: Iterable[Message],
    ) -> None:
        """Acquire the joint release clock of many locations in lanes of a warp, or keep it for their next fence."""
        whole: Message = {}
        for message in {id(each): each for each in messages}.values():
            whole = _joined(whole, message)
        if order.acquires:
            self._learn(warp, mask, level, whole)
            return
        for lane in np.flatnonzero(mask).tolist():
            taken = self._taken.setdefault((warp, lane), {})
            taken[space, -1] = _joined(taken.get((space, -1), {}), whole)

    def _releasing_together(self, order: Order, level: int, warp: int, mask: NDArray[np.bool_]) -> Message:
        """Return the release clock of strong writes by lanes of a warp to more than `CROWD` locations.

        It contains the accesses of the whole warp up to the release.
        """
        clocks, block = self._clocks, warp // self._cta
        message: Message = {}
        if order.releases:
            now = clocks.known_by(np.array([warp]), mask[None])[0]
            now[warp] = clocks.now[warp]
            clocks.now[warp] += 1
            message = {(level, block): now}
        for wide, fenced in self._fenced.items():
            snapshots = fenced.get(warp)
            at = snapshots.at[mask] if snapshots is not None else np.zeros(0, np.int32)
            if snapshots is not None and at.any():
                known = snapshots.known(mask, clocks.known.shape[1])
                known[warp] = max(int(known[warp]), int(at[at > 0].min()))
                message = _joined(message, {(wide, block): known})
        return message

    def _hears(self, found: ReleaseClock, size: int, level: int, block: int) -> bool:
        """Return whether an access is morally strong with the write that attached the release clock `found`."""
        return found.size == size and self._holds(min(found.level, level), found.block, block)

    def _visit(
        self, order: Order, level: int, place: tuple[Space, int], size: int, warp: int, mask: NDArray[np.bool_]
    ) -> None:
        """Perform a strong read, write or update of one location by lanes `mask` of a warp."""
        left, block = self._left[place[0]], warp // self._cta
        found = left.get(place[1])
        heard = found is not None and self._hears(found, size, level, block)
        if order.reads and heard and found is not None and order.hears:
            for lane in np.flatnonzero(mask).tolist():
                taken = self._taken.setdefault((warp, lane), {})
                taken[place] = _joined(taken.get(place, {}), found.message)
        if order.acquires and self._taken:
            for lane in np.flatnonzero(mask).tolist():
                message = self._taken.get((warp, lane), {}).get(place)
                if message is not None:
                    self._learn(warp, _one(lane), level, message)
        if not order.writes:
            return
        message = self._releasing(order, level, place, warp, mask)
        if order.reads and heard and found is not None:
            message = _joined(found.message, message)
        if message:
            left[place[1]] = ReleaseClock(size, level, block, message)
        elif found is not None:
            del left[place[1]]

    def overwritten(self, space: Space, offsets: Offsets) -> None:
        """Remove the release clocks at `offsets`, which weak writes overwrite."""
        left = self._left.get(space)
        if left:
            for location in np.intersect1d(offsets, np.fromiter(left, np.int64, len(left))).tolist():
                del left[location]

    def left_at(self, space: Space, offset: int) -> ReleaseClock | None:
        """Return the release clock at an offset; None if its last write has attached none."""
        return self._left.get(space, {}).get(offset)

    def swap(self, space: Space, offset: int, left: ReleaseClock | None) -> ReleaseClock | None:
        """Replace the release clock at an offset by `left` (None: by no clock), and return the replaced one."""
        known = self._left.setdefault(space, {})
        before = known.pop(offset, None)
        if left is not None:
            known[offset] = left
        return before

    def _releasing(
        self, order: Order, level: int, place: tuple[Space, int], warp: int, mask: NDArray[np.bool_]
    ) -> Message:
        """Return the release clock that a strong write by lanes `mask` of a warp attaches."""
        clocks, block = self._clocks, warp // self._cta
        message: Message = {}
        if order.releases:
            now = clocks.told(np.array([warp]), mask[None])
            for lane in np.flatnonzero(mask).tolist():
                self._released.setdefault((warp, lane, *place), {})[level] = now
        for lane in np.flatnonzero(mask).tolist() if self._released else ():
            for wide, known in self._released.get((warp, lane, *place), {}).items():
                message = _joined(message, {(wide, block): known})
        for wide, known in self.fenced(warp, mask):
            message = _joined(message, {(wide, block): known})
        return message

    def fenced(self, warp: int, mask: NDArray[np.bool_]) -> Iterator[tuple[int, Clock]]:
        """Yield, per scope level, the release clock of the last fences of lanes `mask` of a warp."""
        for wide, fenced in self._fenced.items():
            if warp in fenced and fenced[warp].at[mask].any():
                yield wide, fenced[warp].told(self._clocks, warp, mask)

    # --- acquire --------------------------------------------------------------------------------

    def _learn_all(self, warp: int, lane: int, level: int) -> None:
        """Acquire the release clocks that a lane has read; keep those whose scope does not include the lane."""
        taken = self._taken.get((warp, lane))
        if not taken:
            return
        for place, message in tuple(taken.items()):
            if self._learn(warp, _one(lane), level, message):
                del taken[place]

    def _learn(self, warp: int, mask: NDArray[np.bool_], level: int, message: Message) -> bool:
        """Acquire the vector clocks in `message` whose scopes include both threads; return whether no clock remains."""
        whole, block = True, warp // self._cta
        for (wide, other), known in message.items():
            if not self._holds(min(wide, level), other, block):
                whole = False
            else:
                self._clocks.learn(np.array([warp]), mask[None], known)
        return whole


def _each(mask: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Yield a mask with a single lane for each lane of `mask`."""
    yield from map(_one, np.flatnonzero(mask).tolist())


def _one(lane: int) -> NDArray[np.bool_]:
    mask = np.zeros(LANES, np.bool_)
    mask[lane] = True
    return mask


def _joined(one: Message, other: Message) -> Message:
    """Return the elementwise maximum of two release clocks; over `_BLOCKS` keys are joined to one per scope level."""
    if not one or not other or one is other:
        return one or other
    joined = dict(one)
    for (level, block), known in other.items():
        key = (level, _MANY) if (level, _MANY) in joined else (level, block)
        joined[key] = _later(joined[key], known) if key in joined else known
    if len(joined) <= _BLOCKS:
        return joined
    together: dict[tuple[int, int], Clock] = {}
    for (level, _), known in joined.items():
        key = level, _MANY
        together[key] = _later(together[key], known) if key in together else known
    return together


def _later(one: Clock, other: Clock) -> Clock:
    """Return the elementwise maximum of two vector clocks; one may have more columns than the other."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    if (longer[: len(shorter)] >= shorter).all():
        return longer
    joined: Clock = longer.copy()
    np.maximum(joined[: len(shorter)], shorter, out=joined[: len(shorter)])
    return joined
