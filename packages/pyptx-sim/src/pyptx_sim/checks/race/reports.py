"""What is said of two accesses that race."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from pyptx_sim.checks.race.flags import Racer
from pyptx_sim.checks.race.lane_masks import named
from pyptx_sim.checks.race.tables import MASK, PC, TIME, WARP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.tables import Reach
    from pyptx_sim.extension import FindingDetails
    from pyptx_sim.observer import AccessKind, RunView, Space, Stores, Touch

Earlier: TypeAlias = Literal["write", "covered", "read", "first", "poll", "first_poll"]
_DONE = {"write": "wrote", "covered": "wrote", "read": "read", "first": "read", "poll": "read", "first_poll": "read"}
_DOES = {"write": "writes", "read": "reads", "strong-read": "reads", "atomic": "atomically updates"}

# By rule, and whether the threads are of different blocks.
_HELP: Final = {
    (
        "shared-race",
        True,
    ): "order the two blocks: a barrier of the cluster, or an mbarrier that the one arrives at with "
    ".release.cluster, and at which the other waits with .acquire.cluster",
    ("global-race", False): "put bar.sync (__syncthreads) between the two accesses",
    (
        "global-race",
        True,
    ): "let the one write a flag with .release.gpu, and the other read it with .acquire.gpu; or make "
    "two launches of it",
}


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


@dataclass(frozen=True, slots=True)
class Race:
    """A data race: the entries `bad` of a step, and for each the shadow entry in `last` that it races with.

    `stores` are the writes of the step, if their values are known. `within`: the entries in `last` are of the same
    step, and these are their numbers in it. `equal`: all are stores of the same bytes by one instruction in threads of
    one CTA; the race is benign if they store the same bytes in every run.
    """

    step: Step
    bad: NDArray[np.int64]
    last: NDArray[np.int32]
    rule: str
    granule: int
    stores: Stores | None = None
    within: NDArray[np.int64] | None = None
    equal: bool = False


Key: TypeAlias = tuple[str, int, int]
"""The rule of a race and the pcs of its two instructions."""


class Reports:
    """Words races, and hands them to the run behind `view`."""

    def __init__(self, view: RunView, why: Callable[[Racer, Racer, int], str]) -> None:
        """Speak of the run behind `view`; `why` says of two threads, and of the clocks' row of one, what went wrong."""
        self._view = view
        self._why = why
        self._withheld = False
        self._found = False
        self._equal: dict[Key, Race] = {}
        self.compare: Callable[[Race], None] | None = None
        """Called with each race in a rerun."""

    def finds(self, judge: Callable[[], None]) -> bool:
        """Tell whether what judges reports anything, without handing that on."""
        self._withheld, self._found = True, False
        try:
            judge()
        finally:
            self._withheld = False
        return self._found

    def report(self, rule: str, message: str, pc: int, other_pc: int, /, **details: Unpack[FindingDetails]) -> None:
        """Report a finding about two instructions."""
        self._found = True
        if not self._withheld:
            self._view.report(rule, message, pc, other_pc=other_pc, **details)

    def against(self, race: Race, earlier: Earlier) -> None:
        """Report a race with earlier accesses of a kind."""
        if self.compare is not None:
            self.compare(race)
        step, last, first = race.step, race.last, int(race.bad[0])
        other = Racer(int(last[0, WARP]) - step.first_warp, int(last[0, MASK]), int(last[0, TIME]), int(last[0, PC]))
        me = Racer(int(step.warps[first]), int(step.entries[first, MASK]), int(step.entries[first, TIME]), step.pc)
        message = (
            f"{self._name(me.warp, me.mask)} {_DOES[step.kind]} "
            f"{self._view.describe(step.space, int(step.at[first]) * race.granule)}, "
            f"which {self._entered(step, last)} {_DONE[earlier]}, and nothing orders the two"
        )
        if other.warp >= 0 and race.rule != "lane-race" and (why := self._why(me, other, int(step.rows[first]))):
            message += f": {why}"
        help = _HELP.get((race.rule, self._apart(me.warp, other.warp)))
        self.report(race.rule, message, step.pc, other.pc, count=_lanes(step, race.bad), help=help)

    def record_equal(self, race: Race) -> None:
        """Record a race of stores that are `equal` in this run; it is not reported unless a rerun refutes it."""
        if self.compare is not None:
            self.compare(race)
        self._equal.setdefault((race.rule, race.step.pc, race.step.pc), race)

    @property
    def equal_stores(self) -> tuple[Key, ...]:
        """The recorded races of stores that are equal in this run."""
        return tuple(self._equal)

    def report_equal(self, key: Key) -> None:
        """Report a recorded race whose stores may differ in another run."""
        self.against(replace(self._equal[key], equal=False), "write")

    def noncoherent(self, step: Step, bad: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Report `bad` entries of a step, reads by `ld.global.nc` or writes of what was read so, against `last`."""
        first, reads = int(bad[0]), step.kind == "read"
        where = self._view.describe(step.space, int(step.at[first]) * granule)
        me = self._name(int(step.warps[first]), int(step.entries[first, MASK]))
        them = self._entered(step, last)
        message = (
            f"{me} reads {where} by ld.global.nc, and {them} wrote it in this launch"
            if reads
            else f"{me} {_DOES[step.kind]} {where}, which {them} read by ld.global.nc in this launch"
        )
        self.report("noncoherent-read", message, step.pc, int(last[0, PC]), count=_lanes(step, bad))

    def noncoherent_work(self, read: Touch, writers: Sequence[tuple[int, int]], pc: int) -> None:
        """Report reads by `ld.global.nc` of what asynchronous work wrote: from which byte on, and where."""
        for offset, other_pc in writers[:1]:
            where = self._view.describe(read.space, offset)
            message = f"{where} is read by ld.global.nc, and asynchronous work wrote it in this launch"
            self.report("noncoherent-read", message, pc, other_pc, count=len(read.offsets))

    def _apart(self, warp: int, other: int) -> bool:
        """Tell whether two warps are of different blocks; those of an earlier wave are, too."""
        size = self._view.warps_per_cta
        return warp // size != other // size

    def _entered(self, step: Step, last: NDArray[np.int32]) -> str:
        """Return the lanes of the first of the shadow's entries in words."""
        warp = int(last[0, WARP]) - step.first_warp
        return self._name(warp, int(last[0, MASK])) if warp >= 0 else "a block of an earlier wave"

    def _name(self, warp: int, mask: int) -> str:
        return f"{named(mask)} of {self._view.warp_name(warp)}"


def _lanes(step: Step, bad: NDArray[np.int64]) -> int:
    """Return how many lanes have accessed some entries of a step."""
    return len(np.unique(bad // step.granules))
