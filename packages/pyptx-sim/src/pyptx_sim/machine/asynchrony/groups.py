"""Groups of asynchronous operations, which each thread counts for itself. Manual: "Async-group mechanism"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.extension import GroupKind
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Mask


COPY: Final = GroupKind(name="copy", operations="copies (cp.async)", unfinished="unfinished-copy")
BULK: Final = GroupKind(
    name="bulk",
    operations="bulk copies that read its block's shared memory",
    unfinished="unfinished-copy",
    tells="lanes",
    reads=True,
)


class Groups:
    """The groups of one kind of every thread of a wave, `[warps, 32]`.

    A thread's operations go to its group number `open`; all groups below `done` are waited for, and all below `read`
    are waited for as far as their sources go. All operations belong to groups below `issued`; the last one stands at pc
    `issued_at`. Of threads that are `told`, an mbarrier hears when all of them are over.
    """

    __slots__ = ("done", "issued", "issued_at", "open", "read", "told")

    def __init__(self, height: int) -> None:
        """Begin with empty groups."""
        self.open: IntArray = np.zeros((height, WARP), np.int64)
        self.done: IntArray = np.zeros((height, WARP), np.int64)
        self.read: IntArray = np.zeros((height, WARP), np.int64)

        self.issued: IntArray = np.zeros((height, WARP), np.int64)
        self.issued_at: IntArray = np.zeros((height, WARP), np.int64)
        self.told: Mask = np.zeros((height, WARP), np.bool_)

    def note(self, warps: IntArray, lanes: IntArray, pc: int) -> None:
        """Note an operation of each of some threads."""
        self.issued[warps, lanes] = self.open[warps, lanes] + 1
        self.issued_at[warps, lanes] = pc
        self.told[warps, lanes] = False

    def tell(self, warps: IntArray, lanes: IntArray) -> None:
        """Note that an mbarrier hears when all operations so far of some threads are over."""
        self.told[warps, lanes] = True

    def commit(self, warps: IntArray, masks: Mask) -> None:
        """Close the current group of each thread in `masks`, a row for each of `warps`."""
        self.open[warps] += masks

    def wait(self, warps: IntArray, masks: Mask, latest: int, *, reads: bool) -> None:
        """Wait for all groups of the threads but the `latest` ones."""
        known = self.read if reads else self.done
        known[warps] = np.where(masks, np.maximum(known[warps], self.open[warps] - latest), known[warps])
        if not reads:
            np.maximum(self.read, self.done, out=self.read)
