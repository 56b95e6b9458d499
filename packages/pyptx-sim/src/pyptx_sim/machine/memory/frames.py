"""Call frames: return addresses of warp splits, and registers that a recursive call must restore."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.warp_splits import WarpSplits
    from pyptx_sim.machine.undefined import Undefined
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array

ROOT = 0


class Call(Protocol):
    """Call instruction of a frame: its pc, the block after the call, and the action when lanes return from the call."""

    @property
    def pc(self) -> int:
        """Index of the call instruction in the program."""
        ...

    @property
    def return_block(self) -> int:
        """The block after the call."""
        ...

    def finish(self, wave: Wave, lanes: Lanes, frame: Frame) -> None:
        """Set the return values for `lanes`, and restore the caller's frame and the saved registers."""
        ...


@dataclass(frozen=True, slots=True)
class Saved:
    """Saved value of a caller's register, and its undefined bits."""

    value: Array | None
    undefined: Undefined | None


@dataclass(slots=True)
class Frame:
    """One activation, shared by all lanes that called together. `remaining`: lanes that have not returned."""

    call: Call
    callee: str
    parent: int
    remaining: int
    saved: dict[int, Saved] = field(default_factory=dict[int, Saved])


class Frames:
    """All activations of a wave, by number; 0 is the entry's."""

    __slots__ = ("_frames", "_interned", "_next")

    def __init__(self) -> None:
        """Start with the activation of the entry only."""
        self._frames: dict[int, Frame] = {}
        self._interned: dict[tuple[int, str, int], int] = {}
        self._next = ROOT + 1

    def push(self, call: Call, callee: str, parent: int, lanes: int, saved: dict[int, Saved]) -> int:
        """Return the number of a call's frame; calls without saved registers share one, to let warp splits merge."""
        key = (call.pc, callee, parent)
        known = self._interned.get(key)
        if known is not None and not saved:
            self._frames[known].remaining += lanes
            return known
        number = self._next
        self._next += 1
        self._frames[number] = Frame(call, callee, parent, lanes, saved)
        if not saved:
            self._interned[key] = number
        return number

    def __getitem__(self, number: int) -> Frame:
        """Return a frame by its number; the entry's frame is not stored."""
        return self._frames[number]

    def leave(self, number: int, lanes: int) -> None:
        """Record that lanes have left a frame; the last lane frees the frame."""
        frame = self._frames[number]
        frame.remaining -= lanes
        if frame.remaining > 0:
            return
        del self._frames[number]
        self._interned.pop((frame.call.pc, frame.callee, frame.parent), None)

    def unwind(self, splits: WarpSplits, ids: IntArray) -> None:
        """Record that warp splits `ids` exit inside their frames."""
        for split in ids[splits.frame[ids] != ROOT].tolist():
            lanes = int(np.count_nonzero(splits.mask[split]))
            number = int(splits.frame[split])
            while number != ROOT:
                parent = self._frames[number].parent
                self.leave(number, lanes)
                number = parent
