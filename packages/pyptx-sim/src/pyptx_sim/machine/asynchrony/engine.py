"""Asynchronous operations: issued, outstanding, completed.

An item (operations of one instruction) belongs to the issuing threads and to its completion mechanism: async-groups of
the threads, or an mbarrier. Data moves when an item completes, not when it is issued. The schedule determines the time
of completion:

- ordered (default): before the scheduler chooses the next basic block, in the order of issue;
- random (any seed but 0): some of the items at each scheduling step;
- late (`delay_async`): only when a thread waits for the item, or no warp can continue.

Manual: "Asynchronous Operations", "Completion Mechanisms for Asynchronous Copy Operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pyptx_sim.extension.item import AsyncIssue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

Timing: TypeAlias = Literal["ordered", "random", "late"]

# Random schedule: probability that operations of an item (operations of one instruction) complete at a scheduling step
# (_LANDS), and that then all operations of the item complete (_WHOLE).
_LANDS = 0.3
_WHOLE = 0.7


class Item(Protocol):
    """Asynchronous operations issued by one instruction, for one thread or for many."""

    pc: int
    item_id: int
    group: GroupKind | None
    """Kind of the async-groups of the operations; None if the operations signal mbarriers on completion."""

    def __len__(self) -> int:
        """Return the number of the item's outstanding operations."""
        ...

    def due(self, groups: Groups, *, reads: bool) -> Mask:
        """Return which operations belong to async-groups that their threads have waited for.

        With `reads`, a wait for the source reads of the group suffices.
        """
        ...

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that the operations signal, as offsets in the shared arena."""
        ...

    def read(self) -> None:
        """Read the operations' source bytes now, unless they have been read."""
        ...

    def complete(self, which: Mask | None) -> None:
        """Move the data of operations `which` (None: all), signal their mbarriers, and remove them from the item."""
        ...


def _goes_on(item: Item, following: Item | None) -> bool:
    """Return whether item `following` includes the operations of `item`, so that both complete together."""
    return isinstance(item, AsyncIssue) and isinstance(following, AsyncIssue) and item.goes_on_in(following)


class Engine:
    """Outstanding asynchronous operations of one wave."""

    __slots__ = ("_hear", "_issued", "_items", "_random", "_timing", "_wave", "busy")

    def __init__(self, timing: Timing, random: np.random.Generator | None) -> None:
        """Start without outstanding operations."""
        self._timing = timing
        self._random = random
        self._items: list[Item] = []
        self._hear: list[Callable[[], None]] = []
        self.busy = False
        self._issued = 0
        self._wave: Wave

    def attach(self, wave: Wave) -> None:
        """Set the wave whose asynchronous operations this engine completes."""
        self._wave = wave

    @property
    def in_order(self) -> bool:
        """Whether operations complete in the order of issue at the next scheduling step."""
        return self._timing == "ordered"

    def when_completed(self, hear: Callable[[], None]) -> None:
        """Call `hear` each time asynchronous operations have completed, before any further instruction executes."""
        self._hear.append(hear)

    def issue(self, item: Item) -> int:
        """Add `item`, operations that are issued now, to the outstanding ones; assign and return its `item_id`."""
        self._items.append(item)
        self.busy = True
        self._issued += 1
        item.item_id = self._issued
        return self._issued

    def turn(self) -> None:
        """Complete the operations that the schedule selects at this scheduling step."""
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
        """Complete all operations in the order of issue; return whether there were any."""
        if not self._items:
            return False
        for item, following in zip(self._items, [*self._items[1:], None], strict=True):
            if not _goes_on(item, following):
                self._complete(item, None)
        self._clean()
        return True

    def finish_groups(self, kind: GroupKind, groups: Groups, *, reads: bool) -> None:
        """Complete operations of async-groups that threads have waited for; with `reads`, only read their sources."""
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
        """Complete, in items issued before `item_id`, the operations in the mask that `completes` returns."""
        for earlier in self._items:
            if earlier.item_id >= item_id:
                break
            which = completes(earlier)
            if which is not None and which.any():
                self._complete(earlier, which)

    def take_before(self, item_id: int, which: Callable[[AsyncIssue], Mask | None]) -> list[AsyncIssue]:
        """Remove and return the operations that `which` selects from items issued before `item_id`.

        The caller must complete them.
        """
        taken: list[AsyncIssue] = []
        for earlier in self._items:
            if earlier.item_id >= item_id:
                break
            if not len(earlier) or not isinstance(earlier, AsyncIssue):
                continue
            mask = which(earlier)
            if mask is not None and mask.any():
                taken.append(self._take(earlier, mask))
        return taken

    def _take(self, item: AsyncIssue, which: Mask) -> AsyncIssue:
        """Move the operations `which` of an item into a separate item, which the caller must complete."""
        taken = item.part(which)
        item.keep(~which)
        return taken

    def complete_some(self, completes: Callable[[Item], Mask | None]) -> None:
        """Complete, in the order of issue, the outstanding operations that `completes` selects in each item."""
        self.complete_before(self._issued + 1, completes)
        self._clean()

    def complete_awaited(self, barriers: set[int]) -> bool:
        """Complete the items that signal any of `barriers`; return whether any item does."""
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
