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
    """Call instruction of a frame: its pc, the basic block after the call, and `finish`, called when lanes return."""

    @property
    def pc(self) -> int:
        """Index of the call instruction in the program."""
        ...

    @property
    def return_block(self) -> int:
        """Index of the basic block after the call."""
        ...

    def finish(self, wave: Wave, lanes: Lanes, frame: Frame) -> None:
        """Copy the return values to the caller for `lanes`, and restore the caller's frame and saved registers."""
        ...


@dataclass(frozen=True, slots=True)
class Saved:
    """Value and undefined bits of a caller's register, saved during a call."""

    value: Array | None
    undefined: Undefined | None


@dataclass(slots=True)
class Frame:
    """Activation of a function, shared by all lanes that called it together.

    `parent`: number of the caller's frame. `remaining`: number of lanes that have not returned.
    """

    call: Call
    callee: str
    parent: int
    remaining: int
    saved: dict[int, Saved] = field(default_factory=dict[int, Saved])


class Frames:
    """All activations of functions in a wave, by number; number 0 is the activation of the kernel entry."""

    __slots__ = ("_frames", "_interned", "_next")

    def __init__(self) -> None:
        """Start with only the activation of the kernel entry."""
        self._frames: dict[int, Frame] = {}
        self._interned: dict[tuple[int, str, int], int] = {}
        self._next = ROOT + 1

    def push(self, call: Call, callee: str, parent: int, lanes: int, saved: dict[int, Saved]) -> int:
        """Return the number of the frame for a call by `lanes` lanes.

        Equal calls without saved registers share a frame, so that warp splits in the callee can merge.
        """
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
        """Return a frame by its number; the kernel entry's frame is not stored."""
        return self._frames[number]

    def leave(self, number: int, lanes: int) -> None:
        """Record that `lanes` lanes have left frame `number`; free it if no lane remains in it."""
        frame = self._frames[number]
        frame.remaining -= lanes
        if frame.remaining > 0:
            return
        del self._frames[number]
        self._interned.pop((frame.call.pc, frame.callee, frame.parent), None)

    def unwind(self, splits: WarpSplits, ids: IntArray) -> None:
        """Record that warp splits `ids` exit inside functions: their lanes leave all frames up to the kernel entry."""
        for split in ids[splits.frame[ids] != ROOT].tolist():
            lanes = int(np.count_nonzero(splits.mask[split]))
            number = int(splits.frame[split])
            while number != ROOT:
                parent = self._frames[number].parent
                self.leave(number, lanes)
                number = parent
