"""Asynchronous work: what threads have issued and what has not completed yet.

An item of work belongs to the thread that issued it and to what tells of its completion: a group of the thread, or an
mbarrier. Data moves when an item completes, not when it is issued. When that is, a schedule decides:

- in order (the default): before the scheduler next chooses a block, in the order of issue;
- random (any seed but 0): some of the items at each choice;
- late: only when something waits for it, or nothing else can go on.

Manual: "Asynchronous Operations", "Completion Mechanisms for Asynchronous Copy Operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pyptx_sim.extension import AsyncItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

    from pyptx_sim.extension import GroupKind
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

Timing: TypeAlias = Literal["ordered", "random", "late"]

# In random order, an item completes at a choice of the scheduler with this probability, a whole one or a part of it.
_LANDS = 0.3
_WHOLE = 0.7


class Item(Protocol):
    """Some asynchronous operations that one instruction has issued, for one thread or for many."""

    pc: int
    item_id: int
    group: GroupKind | None
    """Whose groups it belongs to; None if an mbarrier tells of its completion."""

    def __len__(self) -> int:
        """Return how many operations have not completed."""
        ...

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return which operations belong to groups that their threads have waited for."""
        ...

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that hear of it."""
        ...

    def read(self) -> None:
        """Read the sources now, if that has not happened."""
        ...

    def complete(self, which: Mask | None) -> None:
        """Move data and signal for some operations, or for all; what has completed leaves the item."""
        ...


def _goes_on(item: Item, following: Item | None) -> bool:
    """Tell whether the item behind another one takes it over."""
    return isinstance(item, AsyncItem) and isinstance(following, AsyncItem) and item.goes_on_in(following)


class Engine:
    """The asynchronous work of one wave."""

    __slots__ = ("_hear", "_issued", "_items", "_random", "_timing", "_wave", "busy")

    def __init__(self, timing: Timing, random: np.random.Generator | None) -> None:
        """Begin with nothing to do."""
        self._timing = timing
        self._random = random
        self._items: list[Item] = []
        self._hear: list[Callable[[], None]] = []
        self.busy = False
        self._issued = 0
        self._wave: Wave

    def attach(self, wave: Wave) -> None:
        """Serve `wave`."""
        self._wave = wave

    @property
    def in_order(self) -> bool:
        """Whether operations complete in the order of issue at the next scheduling step."""
        return self._timing == "ordered"

    def when_completed(self, hear: Callable[[], None]) -> None:
        """Call `hear` each time that some work has completed, before anything else runs."""
        self._hear.append(hear)

    def issue(self, item: Item) -> int:
        """Take on an item; return the item_id that names it."""
        self._items.append(item)
        self.busy = True
        self._issued += 1
        item.item_id = self._issued
        return self._issued

    def turn(self) -> None:
        """Let complete what the schedule lets complete now."""
        if self._timing == "late":
            return
        if self._random is None:
            self.complete_all()
            return
        random = self._random
        for item in [item for item in self._items if random.random() < _LANDS]:
            whole = random.random() < _WHOLE
            self._complete(item, None if whole else random.random(len(item)) < random.random())
        self._clean()

    def complete_all(self) -> bool:
        """Let everything complete, in the order of issue; tell whether there was anything."""
        if not self._items:
            return False
        for item, following in zip(self._items, [*self._items[1:], None], strict=True):
            if not _goes_on(item, following):
                self._complete(item, None)
        self._clean()
        return True

    def finish_groups(self, kind: GroupKind, groups: Groups, *, reads: bool) -> None:
        """Let complete what belongs to groups that threads have waited for; `reads`: let only their sources be read."""
        touched = False
        for item in self._items:
            if item.group != kind:
                continue
            due = item.due(groups, reads=reads)
            if not due.any():
                continue
            touched = True
            if reads:
                item.read()
            else:
                self._complete(item, None if due.all() else due)
        if touched:
            self._clean()

    def complete_before(self, item_id: int, completes: Callable[[Item], Mask | None]) -> None:
        """Let complete those operations of items before that with `item_id` that `completes` picks (None: none)."""
        for earlier in self._items:
            if earlier.item_id >= item_id:
                break
            which = completes(earlier)
            if which is not None and which.any():
                self._complete(earlier, which)

    def take_before(self, item_id: int, which: Callable[[AsyncItem], Mask | None]) -> list[AsyncItem]:
        """Take from items before that with `item_id` what `which` picks, for whoever completes it in their place."""
        taken: list[AsyncItem] = []
        for earlier in self._items:
            if earlier.item_id >= item_id:
                break
            if not len(earlier) or not isinstance(earlier, AsyncItem):
                continue
            mask = which(earlier)
            if mask is not None and mask.any():
                taken.append(self._take(earlier, mask))
        return taken

    def _take(self, item: AsyncItem, which: Mask) -> AsyncItem:
        """Move operations of an item to one of their own, which completes elsewhere."""
        taken = item.part(which)
        item.keep(~which)
        return taken

    def complete_some(self, completes: Callable[[Item], Mask | None]) -> None:
        """Let complete, in the order of issue, those operations that `completes` picks."""
        self.complete_before(self._issued + 1, completes)
        self._clean()

    def complete_awaited(self, barriers: set[int]) -> bool:
        """Let complete the items that any of `barriers` hears of; tell whether there is one."""
        awaited = [item for item in self._items if not barriers.isdisjoint(item.signals())]
        for item in awaited:
            self._complete(item, None)
        if awaited:
            self._clean()
        return bool(awaited)

    def _complete(self, item: Item, which: Mask | None) -> None:
        if not len(item):
            return
        item.complete(which)
        self._wave.version += 1

    def _clean(self) -> None:
        for hear in self._hear:
            hear()
        self._items = [item for item in self._items if len(item)]
        self.busy = bool(self._items)
