"""Livelock detection: the resident CTAs (a wave) repeat a state without a change of memory or barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.program.deciding import deciding_slots

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

# The search for a repeated machine state starts after _PATIENCE scheduler steps without a completed mbarrier phase or
# an exit, or after _DISAPPOINTMENTS times that all warps waited at mbarriers without progress. _SPACING: minimum number
# of steps between two snapshots. If warps complete named barriers, which is rarely a livelock, the search pauses for
# _PAUSE times as long as it lasted, unless memory is unchanged. After _UNCHANGED steps without a change of memory, the
# schedule is in order: under a random one, several warps hardly ever return to the same basic blocks together.
_PATIENCE = 1024
_DISAPPOINTMENTS = 3
_SPACING = 64
_PAUSE = 16
_UNCHANGED = 128


class Watch:
    """Compares a wave with a snapshot of itself (Brent's cycle search: snapshots grow rarer).

    A machine state that recurs with memory unchanged, after every ready warp split has run, recurs indefinitely. The
    state includes only the registers that control the loops in which the splits are.
    """

    __slots__ = (
        *("_barriers", "_block", "_changed", "_completed", "_next", "_progress", "_progress_step", "_registers"),
        *("_seen", "_slots", "_spacing", "_splits", "_step", "_suspect", "_version"),
    )

    def __init__(self) -> None:
        """Start without a snapshot of a wave."""
        self._registers: list[Array | None] | None = None
        self._slots: Collection[int] = ()
        self._splits: tuple[Array, ...] = ()
        self._barriers: tuple[object, ...] = ()
        self._block = -1
        self._step = 0
        self._next = 0
        self._spacing = _SPACING
        self._version = -1
        self._progress = -1
        self._progress_step = 0
        self._completed = 0
        self._suspect = 0
        self._seen = self._changed = 0  # last version of memory, and the step that first had it

    def stuck(self, wave: Wave, block: int) -> bool:
        """Return whether the wave, about to execute basic block `block`, is in the state of the snapshot again."""
        if wave.progress != self._progress:
            self._progress, self._progress_step = wave.progress, wave.steps
            self._registers = None
            self._spacing, self._next = _SPACING, 0
            self._completed = wave.completed_barriers
            wave.mbarriers.in_vain = 0
            return False
        if wave.steps - self._progress_step < _PATIENCE and wave.mbarriers.in_vain < _DISAPPOINTMENTS:
            return False
        if wave.version != self._seen:
            self._seen, self._changed = wave.version, wave.steps
        if self._registers is None or wave.steps >= self._next:
            self._look(wave, block)
            return False
        if block != self._block or wave.version != self._version:
            return False
        return self._everybody_ran(wave) and self._same(wave)

    @property
    def watching(self) -> bool:
        """Whether a snapshot is being compared, so that only stores that change memory may increment `Wave.version`."""
        return self._registers is not None

    def unchanging(self, wave: Wave) -> bool:
        """Return whether memory has been unchanged for so long that the schedule should be in order."""
        return self._registers is not None and wave.steps - self._changed >= _UNCHANGED

    def _look(self, wave: Wave, block: int) -> None:
        """Take a snapshot if the time for one has come; begin a pause if warps complete barriers and memory changes."""
        if wave.steps < self._next:
            return
        if self._registers is not None and wave.version != self._version and wave.completed_barriers != self._completed:
            self._registers = None
            self._next = wave.steps + _PAUSE * self._spacing
            return
        self._snapshot(wave, block)

    def _snapshot(self, wave: Wave, block: int) -> None:
        self._registers = list(wave.registers)
        self._slots = self._deciding(wave)
        self._suspect = self._suspect if self._suspect in self._slots else 0
        self._splits = _positions(wave)
        self._barriers = wave.barriers.arrivals()
        self._block = block
        self._version = wave.version
        self._step = wave.steps
        self._next = wave.steps + self._spacing
        self._spacing *= 2

    def _everybody_ran(self, wave: Wave) -> bool:
        splits = wave.splits
        return bool((splits.last_run[_able(wave)] >= self._step).all())

    def _deciding(self, wave: Wave) -> Collection[int]:
        """Return the slots of the registers that control the loops in which the warp splits that may run are.

        If named barriers have been completed, warp splits that wait at one may run, too.
        """
        code, program = wave.machine.code, wave.machine.program
        may_run = _able(wave)
        if wave.completed_barriers != self._completed:
            may_run |= wave.splits.state == State.BARRIER
        pcs = frozenset(code[index].first for index in np.unique(wave.splits.block[may_run]).tolist())
        slots = deciding_slots(program, pcs)
        return range(len(wave.registers)) if slots is None else slots

    def _same(self, wave: Wave) -> bool:
        before = self._registers or []
        if not _equal(before[self._suspect], wave.registers[self._suspect]):
            return False
        for slot in self._slots:
            if not _equal(before[slot], wave.registers[slot]):
                self._suspect = slot
                return False
        same = all(np.array_equal(old, new) for old, new in zip(self._splits, _positions(wave), strict=True))
        return same and self._barriers == wave.barriers.arrivals()


def _able(wave: Wave) -> Mask:
    """Return a mask of warp splits that may run, including splits suspended in a `try_wait`, which may time out."""
    return np.isin(wave.splits.state, (State.READY, State.MBARRIER))


def _positions(wave: Wave) -> tuple[Array, ...]:
    splits = wave.splits
    alive = splits.state != State.DEAD
    fields = (splits.warp, splits.block, splits.state, splits.frame, splits.mask)
    return tuple(field[alive] for field in fields)


def _equal(old: Array | None, new: Array | None) -> bool:
    if old is new:
        return True
    if old is None or new is None or old.itemsize != new.itemsize:
        return False
    if old.dtype.kind == "f":
        bits = np.dtype(f"<u{old.itemsize}")
        return np.array_equal(old.view(bits), np.asarray(new).view(bits))
    return (
        np.array_equal(old, new.view(old.dtype)) if old.shape == new.shape else bool((old == new.view(old.dtype)).all())
    )
