"""Asynchronous operations that threads have issued, and that complete later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.machine.asynchrony.engine import Item
    from pyptx_sim.machine.asynchrony.groups import Groups
    from pyptx_sim.machine.wave import Wave

__all__ = ["MBARRIER_BYTES", "AsyncItem"]

MBARRIER_BYTES: Final = 8
"""The bytes of an mbarrier object, and what its address is a multiple of."""


@dataclass(slots=True, kw_only=True)
class AsyncItem:
    """What one instruction has issued: an operation for each of some threads, number i by `lanes[i]` of `warps[i]`.

    `group` and `numbers` say of which kind their groups are, and which; None, and no matter, where an mbarrier hears of
    them. Subclasses add arrays, or tuples of arrays, with an entry for each operation, and `move`. `Turn.issue` hands
    an item to the engine, which gives it a `item_id`, by which observers hear of it.
    """

    wave: Wave
    pc: int
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]
    group: GroupKind | None
    numbers: NDArray[np.int64]
    item_id: int = 0

    def __len__(self) -> int:
        """Return how many operations have not completed."""
        return len(self.warps)

    def due(self, groups: Groups, *, reads: bool) -> NDArray[np.bool_]:
        """Return which operations belong to groups that their threads have waited for."""
        waited = groups.read if reads else groups.done
        due: NDArray[np.bool_] = self.numbers < waited[self.warps, self.lanes]
        return due

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that hear of it, by their places in shared memory."""
        return ()

    def read(self) -> None:
        """Read the sources now: somebody has waited for that, of a kind of groups that `reads`."""

    def move(self) -> None:
        """Do all of it: this item holds the operations that complete, and no others."""
        raise NotImplementedError

    def complete(self, which: NDArray[np.bool_] | None) -> None:
        """Let some of the operations complete, or all."""
        if which is None:
            self.move()
            self.keep(slice(0))
            return
        if which.any():
            self.part(which).move()
        self.keep(~which)

    def complete_earlier(self, which: Callable[[Item], NDArray[np.bool_] | None]) -> None:
        """Let complete first what `which` picks of each item that was issued before (None: nothing), for `move`."""
        self.wave.engine.complete_before(self.item_id, which)

    def take_earlier(self, which: Callable[[AsyncItem], NDArray[np.bool_] | None]) -> list[AsyncItem]:
        """Take over what `which` picks of each item that was issued before, for a `move` that does it, too.

        What comes back holds these operations alone, in the order of issue; nobody else completes them any more.
        """
        return self.wave.engine.take_before(self.item_id, which)

    def goes_on_in(self, following: AsyncItem) -> bool:  # noqa: ARG002 - what subclasses ask for
        """Tell whether `following`, issued next, takes this over when it moves: both are performed in one go then."""
        return False

    def count_bytes(self, barrier: int, count: int) -> None:
        """Count bytes at an mbarrier as arrived, for `move`: perform its complete-tx operation."""
        self.wave.mbarriers.complete(barrier, count, self.pc, self.item_id)

    def cancel_launch(self) -> tuple[int, int, int] | None:
        """Cancel the launch of a cluster of the grid that has not begun, for `move`; return where its first block is.

        None where there is none, or a schedule refuses. The instruction's step says `cancels_launches`.
        """
        return self.wave.machine.cancel_launch()

    def issued_by(self, warps: NDArray[np.int64], lanes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which operations these threads have issued."""
        issued: NDArray[np.bool_] = np.isin(self.warps * 32 + self.lanes, warps * 32 + lanes)
        return issued

    def part(self, which: NDArray[np.bool_]) -> AsyncItem:
        """Return an item of some of the operations."""
        part = type(self)(**{name: getattr(self, name) for name in self.__dataclass_fields__})
        part.keep(which)
        return part

    def keep(self, which: NDArray[np.bool_] | slice) -> None:
        """Forget all operations but some."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                setattr(self, name, value[which])
            elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
                setattr(self, name, tuple(each[which] for each in value))
