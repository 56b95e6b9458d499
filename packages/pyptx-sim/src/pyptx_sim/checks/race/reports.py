"""What is said of two accesses that race."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyptx_sim.checks.race.shadow import LANE, PC, SEVERAL, WARP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pyptx_sim.checks.race.shadow import Reach
    from pyptx_sim.observer import AccessKind, RunView, Space, Touch

Earlier: TypeAlias = Literal["write", "covered", "read", "first", "poll", "first_poll"]
_DONE = {"write": "wrote", "covered": "wrote", "read": "read", "first": "read", "poll": "read", "first_poll": "read"}
_DOES = {"write": "writes", "read": "reads", "strong-read": "reads", "atomic": "atomically updates"}


@dataclass(frozen=True, slots=True)
class Step:
    """One access event, flattened to granules: entry i touches granule `at[i]`, each access so many `granules`.

    Entries number warps through all waves; `first_warp` is the number of this wave's first one. `rows` are those of the
    clocks that say what the lanes know.
    """

    space: Space
    kind: AccessKind
    at: NDArray[np.int64]
    reach: Reach
    granules: int
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int32]
    pc: int
    first_warp: int


class Reports:
    """Words races, and hands them to the run behind `view`."""

    def __init__(self, view: RunView) -> None:
        """Speak of the run behind `view`."""
        self._view = view

    def against(
        self,
        step: Step,
        bad: NDArray[np.int64],
        earlier: Earlier,
        last: NDArray[np.int32],
        rule: str,
        granule: int,
    ) -> None:
        """Report `bad` entries of a step against `last`, the shadow's entries that they race with."""
        them = self._entered(step, last)
        self._tell(step, bad, _DONE[earlier], rule, them, int(last[0, PC]), granule)

    def against_reader(
        self, step: Step, bad: NDArray[np.int64], reader: tuple[int, int], pc: int, granule: int
    ) -> None:
        """Report `bad` entries of a step against the reads of a warp and lane at `pc`."""
        self._tell(step, bad, "read", f"{step.space}-race", self._name(*reader), pc, granule)

    def noncoherent(self, step: Step, bad: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Report `bad` entries of a step, reads by `ld.global.nc` or writes of what was read so, against `last`."""
        first, reads = int(bad[0]), step.kind == "read"
        where = self._view.describe(step.space, int(step.at[first]) * granule)
        me = self._name(int(step.warps[first]), int(step.lanes[first]))
        them = self._entered(step, last)
        message = (
            f"{me} reads {where} by ld.global.nc, and {them} wrote it in this launch"
            if reads
            else f"{me} {_DOES[step.kind]} {where}, which {them} read by ld.global.nc in this launch"
        )
        self._view.report("noncoherent-read", message, step.pc, other_pc=int(last[0, PC]), count=len(bad))

    def noncoherent_work(self, read: Touch, writers: Sequence[tuple[int, int]], pc: int) -> None:
        """Report reads by `ld.global.nc` of what asynchronous work wrote: from which byte on, and where."""
        for offset, other_pc in writers[:1]:
            where = self._view.describe(read.space, offset)
            message = f"{where} is read by ld.global.nc, and asynchronous work wrote it in this launch"
            self._view.report("noncoherent-read", message, pc, other_pc=other_pc, count=len(read.offsets))

    def work(self, rule: str, message: str, pc: int, other_pc: int) -> None:
        """Report what asynchronous work has to do with, in the words of who found it."""
        self._view.report(rule, message, pc, other_pc=other_pc)

    def _tell(
        self, step: Step, bad: NDArray[np.int64], done: str, rule: str, them: str, other_pc: int, granule: int
    ) -> None:
        first = int(bad[0])
        where = self._view.describe(step.space, int(step.at[first]) * granule)
        me = self._name(int(step.warps[first]), int(step.lanes[first]))
        message = f"{me} {_DOES[step.kind]} {where}, which {them} {done}, and nothing orders the two"
        self._view.report(rule, message, step.pc, other_pc=other_pc, count=len(bad))

    def _entered(self, step: Step, last: NDArray[np.int32]) -> str:
        """Return the lane of the first of the shadow's entries in words."""
        warp = int(last[0, WARP]) - step.first_warp
        return self._name(warp, int(last[0, LANE])) if warp >= 0 else "a block of an earlier wave"

    def _name(self, warp: int, lane: int) -> str:
        cta, inside = divmod(warp, self._view.warps_per_cta)
        lanes = "several lanes" if lane == SEVERAL else f"lane {lane}"
        return f"{lanes} of warp {inside} (block slot {cta})"
