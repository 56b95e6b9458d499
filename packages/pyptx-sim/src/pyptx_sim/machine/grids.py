"""Grids that run in stream order or overlap: programmatic dependent launch. Manual: "griddepcontrol".

The prerequisite grid is the previous grid in the stream. A dependent grid starts after every CTA of its prerequisite
grid has executed `griddepcontrol.launch_dependents` or has exited. `griddepcontrol.wait` returns after the prerequisite
grid has completed. Grids before the prerequisite grid may still run then, if none of its
threads has waited for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


# log2 of the largest ratio of the speeds of two overlapping grids in a random schedule; the faster grid may complete
# before the slower one starts.
_PACES: Final = 8

# Scheduler steps between two reports of progress.
_REPORTED: Final = 8


class Grids:
    """Dependencies of a grid on its prerequisite grid; also the `Stall` (condition) of `griddepcontrol.wait`."""

    name = "the prerequisite grid"
    help: str | None = None
    alone = False

    def __init__(self, machine: Machine) -> None:
        """Start as a grid without a prerequisite."""
        self._machine = machine
        self.before: Machine | None = None
        self.ended = False
        self._wave: Wave | None = None
        self._released: Mask = np.zeros(0, np.bool_)
        self._seen = self._foreign = self._before = 0

    def launched_behind(self, before: Machine) -> None:
        """Make `before` the prerequisite grid; this grid may start once `before.grids.dependents_may_start`."""
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
        """Whether this grid may start before earlier grids have completed."""
        return self.before is not None and self.before.grids.dependents_may_start

    @property
    def dependents_may_start(self) -> bool:
        """Whether every CTA of this grid has executed `griddepcontrol.launch_dependents` or has exited."""
        wave = self._wave
        if self.ended:
            return True
        if wave is None or self._machine.backlog:
            return False
        return not (wave.running_ctas & ~self._released).any()

    def wave_started(self, wave: Wave) -> None:
        """Record that `wave` starts; none of its CTAs has executed `griddepcontrol.launch_dependents`."""
        if self._wave is not None:
            self._before = self.changes + 1
        self._wave, self._released = wave, np.zeros(wave.geometry.ctas, np.bool_)
        self._foreign = 0

    def release(self, warps: IntArray) -> None:
        """Record that the CTAs of `warps` have executed `griddepcontrol.launch_dependents`."""
        assert self._wave is not None  # noqa: S101 - its warps are running
        self._released[self._wave.geometry.cta[warps]] = True

    # --- waiting --------------------------------------------------------------------------------

    def wait(self, wave: Wave, ids: IntArray) -> bool:
        """Stall warp splits `ids` until the prerequisite grid is complete; return False if it is already complete."""
        if self.prerequisite_runs:
            wave.stall(ids, self)
            return True
        self._tell(wave, ids)
        return False

    def go_on(self) -> None:
        """Resume the warp splits that wait for the prerequisite grid, if that grid is complete."""
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
        """Return why a warp waits, for the report of a deadlock."""
        del warp
        return "waiting for the prerequisite grid (griddepcontrol.wait)"

    # --- memory changes by other grids ----------------------------------------------------------------

    @property
    def changes(self) -> int:
        """Number that grows whenever this grid may have changed memory."""
        return 0 if self._wave is None else self._before + self._wave.version - self._foreign

    def notice(self, changes: int) -> None:
        """Resume polling threads if the change count of the other grids, `changes`, has increased."""
        if self._wave is not None and changes != self._seen:
            self._wave.version += 1
            self._foreign += 1
        self._seen = changes


def run_in_order(machines: Sequence[Machine], seed: int, report: Callable[[], None] = lambda: None) -> bool:
    """Run grids in stream order; dependent grids may overlap prerequisite grids. Return False after a deadlock report.

    Overlapping grids alternate after each scheduler step with seed 0, at random with any other seed. With
    `delay_async`, a prerequisite grid runs only when its dependent grids cannot continue. `report` is called
    regularly.
    """
    with np.errstate(all="ignore"):
        if not _Stream(machines, seed).run(report):
            return False
    for machine in machines:
        machine.observers.run_ended()
    return True


class _Stream:
    """Grids in stream order; `_running` maps a running grid's number to its iterator over scheduler steps."""

    def __init__(self, machines: Sequence[Machine], seed: int) -> None:
        self._machines = machines
        self._random = np.random.default_rng(seed) if seed else None
        self._running: dict[int, Iterator[bool]] = {}
        self._paces: NDArray[np.float64] = np.ones(len(machines))
        if self._random is not None and len(machines) > 1:
            self._paces = np.exp2(_PACES * self._random.random(len(machines)))

    def run(self, report: Callable[[], None]) -> bool:
        """Run all grids, with regular calls of `report`; return False if one has stopped because of a deadlock."""
        started = turn = 0
        while started < len(self._machines) or self._running:
            following = self._machines[started] if started < len(self._machines) else None
            if following is not None and (not self._running or following.grids.may_start):
                self._running[started] = following.turns(self._random)
                started += 1
            if not self._advance(self._pick(list(self._running), turn)):
                return False
            turn += 1
            if turn % _REPORTED == 0:
                report()
        return True

    def _pick(self, able: list[int], turn: int) -> int:
        """Return the number of the grid that runs next; in a random schedule, a higher pace makes a grid likelier."""
        if len(able) == 1:
            return able[0]
        if self._machines[0].delay_async:
            return able[-1]
        if self._random is None:
            return able[turn % len(able)]
        return able[int((self._random.random(len(able)) * self._paces[able]).argmax())]

    def _advance(self, number: int) -> bool:
        """Run one scheduler step of grid `number`, or of the latest earlier grid that can continue; False: deadlock."""
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
