"""Grids that run one behind the other, or overlap: programmatic dependent launch. Manual: "griddepcontrol".

The prerequisite grid is the previous grid in the stream. A dependent grid starts after every CTA of its prerequisite
grid has executed `griddepcontrol.launch_dependents` or has exited. `griddepcontrol.wait` returns after the prerequisite
grid has completed. Earlier grids may still run then, if no thread of the prerequisite grid has waited for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


# By which power of two grids that run together differ in pace at most, by chance: one may end before another begins.
_PACES: Final = 8


class Grids:
    """What a grid has to do with the ones in front of it and behind it; what its threads wait for, if they wait."""

    name = "the prerequisite grid"
    hint: str | None = None
    alone = False

    def __init__(self, machine: Machine) -> None:
        """Begin as a grid that depends on none."""
        self._machine = machine
        self.before: Machine | None = None
        self.ended = False
        self._wave: Wave | None = None
        self._released: Mask = np.zeros(0, np.bool_)
        self._seen = self._foreign = self._before = 0

    def launched_behind(self, before: Machine) -> None:
        """Depend on the grid in front: start as soon as its blocks allow."""
        self.before = before
        self._machine.observers.launched_behind(before.observers)

    @property
    def pending(self) -> bool:
        """Whether any earlier grid still runs."""
        before = self.before
        return before is not None and (not before.grids.ended or before.grids.pending)

    @property
    def prerequisite_runs(self) -> bool:
        """Whether the prerequisite grid still runs."""
        return self.before is not None and not self.before.grids.ended

    @property
    def may_start(self) -> bool:
        """Whether it may start though grids in front have not ended."""
        return self.before is not None and self.before.grids.dependents_may_start

    @property
    def dependents_may_start(self) -> bool:
        """Whether every block has let dependent grids start, or has ended."""
        wave = self._wave
        if self.ended:
            return True
        if wave is None or self._machine.backlog:
            return False
        return not (wave.running_ctas & ~self._released).any()

    def wave_started(self, wave: Wave) -> None:
        """Begin with blocks that have released nothing."""
        if self._wave is not None:
            self._before = self.changes + 1
        self._wave, self._released = wave, np.zeros(wave.geometry.ctas, np.bool_)
        self._foreign = 0

    def release(self, warps: IntArray) -> None:
        """Let dependent grids start, as far as the blocks of these warps go."""
        assert self._wave is not None  # noqa: S101 - its warps are running
        self._released[self._wave.geometry.cta[warps]] = True

    # --- waiting --------------------------------------------------------------------------------

    def wait(self, wave: Wave, ids: IntArray) -> bool:
        """Stall splits until the prerequisite grid is complete; return False if it is complete."""
        if self.prerequisite_runs:
            wave.stall(ids, self)
            return True
        self._tell(wave, ids)
        return False

    def go_on(self) -> None:
        """Resume the waiting splits if the prerequisite grid is complete."""
        wave = self._wave
        if wave is None or self.before is None or self.prerequisite_runs:
            return
        stalled = wave.stalled(self)
        if len(stalled):
            wave.machine.observers.grids_complete(stalled.warps, stalled.masks)
            stalled.resume()

    @staticmethod
    def _tell(wave: Wave, ids: IntArray) -> None:
        wave.machine.observers.grids_complete(*wave.splits.lanes(ids))

    def describe(self, warp: int) -> str:
        """Return what a warp waits for."""
        del warp
        return "waits for the prerequisite grid (griddepcontrol.wait)"

    # --- memory that others change --------------------------------------------------------------

    @property
    def changes(self) -> int:
        """A number that grows whenever this grid may have changed memory."""
        return 0 if self._wave is None else self._before + self._wave.version - self._foreign

    def notice(self, changes: int) -> None:
        """Let threads that poll memory look again, if other grids have changed it."""
        if self._wave is not None and changes != self._seen:
            self._wave.version += 1
            self._foreign += 1
        self._seen = changes


def run_in_order(machines: Sequence[Machine], seed: int) -> bool:
    """Run grids in stream order; dependent ones overlap with those in front. False after a reported deadlock.

    Seed 0 gives those that run together turns one after the other, any other seed by chance; a late schedule runs the
    ones in front only when those behind cannot go on.
    """
    with np.errstate(all="ignore"):
        if not _Stream(machines, seed).run():
            return False
    for machine in machines:
        machine.observers.run_ended()
    return True


class _Stream:
    """Grids in stream order, of which some run: `_running` has what gives each a turn, by its number."""

    def __init__(self, machines: Sequence[Machine], seed: int) -> None:
        self._machines = machines
        self._random = np.random.default_rng(seed) if seed else None
        self._running: dict[int, Iterator[bool]] = {}
        self._paces: NDArray[np.float64] = np.ones(len(machines))
        if self._random is not None and len(machines) > 1:
            self._paces = np.exp2(_PACES * self._random.random(len(machines)))

    def run(self) -> bool:
        """Run all; False if one has stopped for good."""
        started = turn = 0
        while started < len(self._machines) or self._running:
            following = self._machines[started] if started < len(self._machines) else None
            if following is not None and (not self._running or following.grids.may_start):
                self._running[started] = following.turns(self._random)
                started += 1
            if not self._advance(self._pick(list(self._running), turn)):
                return False
            turn += 1
        return True

    def _pick(self, able: list[int], turn: int) -> int:
        """Return which grid has the next turn; by chance, each at its pace."""
        if len(able) == 1:
            return able[0]
        if self._machines[0].late:
            return able[-1]
        if self._random is None:
            return able[turn % len(able)]
        return able[int((self._random.random(len(able)) * self._paces[able]).argmax())]

    def _advance(self, number: int) -> bool:
        """Let a grid have a turn, or, where it cannot go on, the ones in front; False if one has stopped for good."""
        for at in sorted((each for each in self._running if each <= number), reverse=True):
            machine, others = self._machines[at], [each for each in self._running if each != at]
            machine.grids.go_on()
            if others:
                machine.grids.notice(sum(self._machines[other].grids.changes for other in others))
            moved = next(self._running[at], None)
            if machine.stopped:
                return False
            if moved is None:
                machine.grids.ended = True
                del self._running[at]
            if moved is not False:
                return True
        return True
