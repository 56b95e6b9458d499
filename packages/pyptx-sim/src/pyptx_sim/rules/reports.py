"""Findings of data races: comparison of the threads, labels and messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from pyptx_sim.events import MASK, PC, TIME, WARP, Racer
from pyptx_sim.happens_before.lane_masks import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.observer import AsyncAccess, RunView

Earlier: TypeAlias = Literal["write", "covered", "read", "first", "poll", "first_poll"]
_EARLIER: Final = {
    "write": "write",
    "covered": "write",
    "read": "read",
    "first": "read",
    "poll": "read",
    "first_poll": "read",
}
_KINDS: Final = {"write": "write", "read": "read", "strong-read": "read", "atomic": "atomic update"}

# Help text for a race, by rule and by whether the racing threads are in different CTAs.
_HELP: Final = {
    ("shared-race", True): "synchronize the CTAs: barrier.cluster.arrive and .wait (cluster.sync()), or "
    "mbarrier.arrive.release.cluster and mbarrier.try_wait.acquire.cluster",
    ("global-race", False): "put bar.sync (__syncthreads) between the two accesses",
    ("global-race", True): "synchronize with st.release.gpu and ld.acquire.gpu on a flag (cuda::atomic_ref), or split "
    "the kernel into two launches",
}
# Rules of the PTX state spaces; a race in a memory of an extension has the help of the extension's rule.
_OF_STATE_SPACES: Final = frozenset({"lane-race", "shared-race", "global-race"})
# Help text for a race of two writes by one instruction: they may be one execution of it, or two.
_HELP_ONE_STORE: Final = (
    "store by one thread, or to one address per thread, or synchronize between executions of the store"
)


@dataclass(frozen=True, slots=True)
class Race:
    """Data race of entries `bad` of the `AccessEvent` `step` with accesses whose shadow entries are `last`.

    `stores` are the values that `step` writes, if known. If the racing accesses are both in `step`, `within` has the
    entry numbers of `last`. `equal`: all are stores of equal bytes by one instruction in threads of one CTA. Such a
    race is benign if the bytes are equal in every run.
    """

    step: AccessEvent
    bad: NDArray[np.int64]
    last: NDArray[np.int32]
    rule: str
    granule: int
    within: NDArray[np.int64] | None = None
    equal: bool = False


Key: TypeAlias = tuple[str, int, int]
"""Rule of a race, and the pcs of its two instructions."""


class Reports:
    """Composes findings of data races and reports them to a run."""

    def __init__(self, view: RunView, why: Callable[[Racer, Racer, int], str]) -> None:
        """Report to `view`. `why(me, other, row)` returns why two threads are not ordered, as text for a finding.

        `row` is the vector clock of `me`, the thread with the later access.
        """
        self._view = view
        self._why = why
        self._withheld = False
        self._found = False
        self._equal: dict[Key, Race] = {}
        self.compare: Callable[[Race], None] | None = None
        """Function called with each race in a rerun that compares the values of the accesses."""

    def finds(self, judge: Callable[[], None]) -> bool:
        """Return whether the check `judge` finds anything, without reporting its findings to the run."""
        self._withheld, self._found = True, False
        try:
            judge()
        finally:
            self._withheld = False
        return self._found

    def report(
        self, rule: str, message: str, pc: int, other_pc: int | None, /, **details: Unpack[FindingDetails]
    ) -> None:
        """Report a finding about the instruction at `pc` and, unless None, the one at `other_pc`."""
        self._found = True
        if not self._withheld:
            self._view.report(rule, message, pc, other_pc=other_pc, **details)

    def against(self, race: Race, earlier: Earlier) -> None:
        """Report a data race with previous accesses of kind `earlier`."""
        if self.compare is not None:
            self.compare(race)
        step, last, first = race.step, race.last, int(race.bad[0])
        other = Racer(int(last[0, WARP]) - step.first_warp, int(last[0, MASK]), int(last[0, TIME]), int(last[0, PC]))
        me = Racer(int(step.warps[first]), int(step.entries[first, MASK]), int(step.entries[first, TIME]), step.pc)
        kind, before = _KINDS[step.kind], _EARLIER[earlier]
        where = self._view.describe(step.space, int(step.at[first]) * race.granule)
        why = ""
        if other.warp >= 0 and race.rule != "lane-race":
            why = self._why(me, other, int(step.rows[first]))
        help = race_help(race.rule, me.warp, other.warp, self._view.warps_per_cta)
        if kind == before == "write" and other.pc == step.pc and race.rule in _OF_STATE_SPACES:
            help = _HELP_ONE_STORE
        self.report(
            race.rule,
            race_message(where, kind, before, within="a warp" if race.rule == "lane-race" else ""),
            step.pc,
            other.pc,
            label=f"{kind} by {self._name(me.warp, me.mask)}",
            other_label=f"{before} by {self._entered(step, last)}",
            notes=(why,) if why else (),
            count=_lanes(step, race.bad),
            help=help,
        )

    def record_equal(self, race: Race) -> None:
        """Record a race of stores that are `equal` in this run; it is reported only if a rerun refutes the equality."""
        if self.compare is not None:
            self.compare(race)
        self._equal.setdefault((race.rule, race.step.pc, race.step.pc), race)

    @property
    def equal_stores(self) -> tuple[Key, ...]:
        """Keys of the recorded races of stores that are equal in this run."""
        return tuple(self._equal)

    def report_equal(self, key: Key) -> None:
        """Report a recorded race of equal stores, whose values may differ in another run."""
        self.against(replace(self._equal[key], equal=False), "write")

    def noncoherent(self, step: AccessEvent, bad: NDArray[np.int64], last: NDArray[np.int32], granule: int) -> None:
        """Report entries `bad` of `step` that race with `last`: `ld.global.nc` reads, or writes after such reads."""
        first, reads = int(bad[0]), step.kind == "read"
        where = self._view.describe(step.space, int(step.at[first]) * granule)
        me = self._name(int(step.warps[first]), int(step.entries[first, MASK]))
        self.report(
            "noncoherent-read",
            f"ld.global.nc reads {where}, which this launch writes",
            step.pc,
            int(last[0, PC]),
            label=f"{'ld.global.nc' if reads else _KINDS[step.kind]} by {me}",
            other_label=f"{'write' if reads else 'ld.global.nc'} by {self._entered(step, last)}",
            count=_lanes(step, bad),
        )

    def noncoherent_work(self, read: AsyncAccess, writers: Sequence[tuple[int, int]], pc: int) -> None:
        """Report reads by `ld.global.nc` of asynchronous writes; `writers` are the first offset and the pc of each."""
        for offset, other_pc in writers[:1]:
            where = self._view.describe(read.space, offset)
            message = f"ld.global.nc reads {where}, which this launch writes"
            self.report(
                "noncoherent-read",
                message,
                pc,
                other_pc,
                label="ld.global.nc",
                other_label="asynchronous write",
                count=len(read.offsets),
            )

    def _entered(self, step: AccessEvent, last: NDArray[np.int32]) -> str:
        """Return the text for the warp and lanes of the first shadow entry in `last`, for messages."""
        warp = int(last[0, WARP]) - step.first_warp
        return self._name(warp, int(last[0, MASK])) if warp >= 0 else "a CTA that has exited"

    def _name(self, warp: int, mask: int) -> str:
        return f"{named(mask)} of {self._view.warp_name(warp)}"


def race_help(rule: str, warp: int, other: int, warps_per_cta: int) -> str | None:
    """Return how to order two accesses that race; None for the help of the rule.

    The help depends on whether the warps are in different CTAs; a warp of an earlier wave is in another CTA.
    """
    return _HELP.get((rule, warp // warps_per_cta != other // warps_per_cta))


def race_message(where: str, kind: str, other: str, *, within: str = "") -> str:
    """Return the headline of a data race of two kinds of accesses at a symbolic address."""
    kinds = f"two {kind}s" if kind == other else f"{kind} and {other}"
    return f"data race{f' within {within}' if within else ''} on {where}: {kinds} are not ordered"


def _lanes(step: AccessEvent, bad: NDArray[np.int64]) -> int:
    """Return the number of accesses of `step` to which the entries `bad` belong."""
    return len(np.unique(bad // step.granules))
