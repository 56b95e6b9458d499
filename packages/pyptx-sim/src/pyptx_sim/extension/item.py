"""Asynchronous operations that one instruction has issued and that complete later."""

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

__all__ = ["MBARRIER_BYTES", "AsyncIssue"]

MBARRIER_BYTES: Final = 8
"""Size of an mbarrier object in bytes, which is also its alignment."""


@dataclass(slots=True, kw_only=True)
class AsyncIssue:
    """Asynchronous operations issued by one instruction; operation i by `lanes[i]` of `warps[i]`.

    `group` is the kind of the operations' async-groups, and `numbers` the index of each operation's group. If mbarriers
    track completion, `group` is None and `numbers` is unused. Subclasses add arrays, or tuples of arrays, with one
    entry per operation, and define `move`. `ExecutionContext.issue` passes an `AsyncIssue` to the engine, which assigns
    the `item_id` that observers receive.
    """

    wave: Wave
    pc: int
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]
    group: GroupKind | None
    numbers: NDArray[np.int64]
    item_id: int = 0

    def __len__(self) -> int:
        """Return the number of operations that have not completed."""
        return len(self.warps)

    def due(self, groups: Groups, *, reads: bool) -> NDArray[np.bool_]:
        """Return, per operation, whether the issuing thread has waited for the operation's group."""
        waited = groups.read if reads else groups.done
        due: NDArray[np.bool_] = self.numbers < waited[self.warps, self.lanes]
        return due

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that the operations signal, as offsets in shared memory."""
        return ()

    def read(self) -> None:
        """Read the sources of all operations: a thread waits for these reads. Called if `GroupKind.reads` is true."""

    def move(self) -> None:
        """Perform all operations of this `AsyncIssue`; the caller has removed operations that complete later."""
        raise NotImplementedError

    def complete(self, which: NDArray[np.bool_] | None) -> None:
        """Complete the operations that `which` selects, and remove them from this `AsyncIssue`; None selects all."""
        if which is None:
            self.move()
            self.keep(slice(0))
            return
        if which.any():
            self.part(which).move()
        self.keep(~which)

    def complete_earlier(self, which: Callable[[Item], NDArray[np.bool_] | None]) -> None:
        """Complete operations of earlier `AsyncIssue`s; for use in `move`.

        `which` returns the mask of these operations in each earlier `AsyncIssue`; None selects none.
        """
        self.wave.engine.complete_before(self.item_id, which)

    def take_earlier(self, which: Callable[[AsyncIssue], NDArray[np.bool_] | None]) -> list[AsyncIssue]:
        """Remove and return operations of earlier `AsyncIssue`s, as selected by `which`, for the caller's `move`.

        The caller's `move` must perform them. The returned `AsyncIssue`s are in the order of issue.
        """
        return self.wave.engine.take_before(self.item_id, which)

    def goes_on_in(self, following: AsyncIssue) -> bool:  # noqa: ARG002 - what subclasses ask for
        """Return whether `move` of `following`, the next `AsyncIssue`, also performs this `AsyncIssue`'s operations."""
        return False

    def count_bytes(self, barrier: int, count: int) -> None:
        """Perform complete-tx of `count` bytes on the mbarrier at offset `barrier`; for use in `move`."""
        self.wave.mbarriers.complete(barrier, count, self.pc, self.item_id)

    def cancel_launch(self) -> tuple[int, int, int] | None:
        """Cancel the launch of a cluster of the grid that has not started; for use in `move`.

        Return `%ctaid` (x, y, z) of the cluster's first CTA; None if no cluster is left or the schedule refuses the
        request. The `InstructionSemantics` of the instruction must set `cancels_launches`.
        """
        return self.wave.machine.cancel_launch()

    def issued_by(self, warps: NDArray[np.int64], lanes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, per operation, whether one of the threads (lane `lanes[i]` of `warps[i]`) issued the operation."""
        issued: NDArray[np.bool_] = np.isin(self.warps * 32 + self.lanes, warps * 32 + lanes)
        return issued

    def part(self, which: NDArray[np.bool_]) -> AsyncIssue:
        """Return a new `AsyncIssue` with the operations that `which` selects."""
        part = type(self)(**{name: getattr(self, name) for name in self.__dataclass_fields__})
        part.keep(which)
        return part

    def keep(self, which: NDArray[np.bool_] | slice) -> None:
        """Keep only the operations that `which` selects in this `AsyncIssue`."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                setattr(self, name, value[which])
            elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
                setattr(self, name, tuple(each[which] for each in value))
