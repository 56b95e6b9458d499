"""Comparison of accesses with recorded ones: data races, and races of equal stores, which may be benign."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim.events import PC, WARP
from pyptx_sim.happens_before.release_clocks import CROWD
from pyptx_sim.rules.reports import Race
from pyptx_sim.shadow.entries import AccessGroups, lanes_differ, last_of_each, rules_of, united

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import AccessEvent
    from pyptx_sim.happens_before.causality import Causality
    from pyptx_sim.observer import RunView
    from pyptx_sim.rules.reports import Earlier, Reports
    from pyptx_sim.shadow.matrix_rows import MatrixRows
    from pyptx_sim.shadow.overflow import Overflow
    from pyptx_sim.shadow.shadow import Shadow
    from pyptx_sim.shadow.tables import Table

_READS = frozenset({"read", "first"})
_WRITES = frozenset({"write", "covered"})
_STRONG = frozenset({"atomic", "strong-read"})


class Comparison:
    """Compares the accesses of warps with recorded ones, and reports the data races."""

    def __init__(self, view: RunView, causality: Causality, matrix_rows: MatrixRows, reports: Reports) -> None:
        """Compare accesses of the run that `view` describes, which `causality` orders."""
        self._causality, self._matrix_rows, self._reports = causality, matrix_rows, reports
        self._block = view.warps_per_cta

    def judge(self, shadow: Shadow, step: AccessEvent, earlier: Earlier) -> None:
        """Report races of `step` with previous accesses of kind `earlier` to the same bytes."""
        table: Table = getattr(shadow, earlier)
        shared = shadow.readers is not None
        if table.misses(*step.reach) or (shared and self._causality.settled(table.latest)):
            return
        last = table.get(step.at)
        at = self._causality.unsettled(step, last, shared=shared)
        last = last[at]
        if step.kind in _STRONG and earlier not in _READS:
            mutual = self._causality.mutual(step.pc, step.warps[at], last)
            if earlier == "write":
                mutual &= shadow.atomic[step.at[at]]
            elif earlier == "covered":
                mutual &= self._causality.is_strong(last)
            at, last = at[~mutual], last[~mutual]
        if not len(at):
            return
        self.judge_last(shadow, step, earlier, at, last)

    def judge_more(self, shadow: Shadow, step: AccessEvent, earlier: Earlier, more: Overflow) -> None:
        """Report races of `step` with previous accesses in the overflow `more`, for which the tables have no room."""
        if not more.touches(step.at):
            return
        groups = AccessGroups(step)
        for which, entries in more.find_in_parts(step.at[groups.first]):
            at, last = groups.first[which], entries
            if step.kind in _STRONG and earlier != "read":
                mutual = self._causality.mutual(step.pc, step.warps[at], last) & self._causality.is_strong(last)
                at, last = at[~mutual], last[~mutual]
            own = last[:, WARP] == step.entries[at, WARP]
            self.judge_last(shadow, step, earlier, at[~own], last[~own], groups)
            self.judge_last(shadow, step, earlier, *groups.spread(at[own], last[own]))

    def judge_last(
        self,
        shadow: Shadow,
        step: AccessEvent,
        earlier: Earlier,
        at: NDArray[np.int64],
        last: NDArray[np.int32],
        groups: AccessGroups | None = None,
    ) -> None:
        """Report races of the entries `at` of `step`, or of their whole `groups`, with the previous accesses `last`."""
        last = self._matrix_rows.narrowed(last, step.at[at], shadow.granule)
        late = ~self._causality.precede(step, at, last, reads=earlier not in _WRITES)
        at, last = at[late], last[late]
        if groups is not None and len(at):
            if not self._causality.observes:
                some = groups.distinct(at, last[:, PC], self._in_block(step.warps[at], last[:, WARP] - step.first_warp))
                at, last = at[some], last[some]
            at, last = groups.spread(at, last)
        for benign in (self._causality.observed, self._repeats) if earlier in _WRITES else ():
            if len(at):
                late = ~benign(step, at, last, shadow.granule)
                at, last = at[late], last[late]
        if len(at):
            self.report(earlier, step, at, last, shadow.granule)

    def report(
        self,
        earlier: Earlier,
        step: AccessEvent,
        bad: NDArray[np.int64],
        last: NDArray[np.int32],
        granule: int,
        others: NDArray[np.int64] | None = None,
    ) -> None:
        """Report races of entries `bad` of `step` with `last`; `others` are entry numbers of `last`."""
        for race in self._races(step, bad, last, granule, others):
            self._reports.against(race, earlier)

    def judge_within(self, shadow: Shadow, step: AccessEvent) -> None:
        """Report lanes of `step` that write the same bytes; shadow memory has the last of these writes.

        Threads of a CTA may store equal bytes to one location, because the order of such stores does not matter.
        """
        winner = shadow.write.get(step.at)
        # Two rows of one `stmatrix` at one address conflict even if the same lanes store them.
        of_rows = self._matrix_rows.next is not None
        differ = last_of_each(step.at) != np.arange(len(step.at)) if of_rows else lanes_differ(winner, step.entries)
        lost = np.flatnonzero(differ)
        in_turn, kept = step.kind == "atomic" and self._causality.updates(step.pc), lost
        if in_turn and len(step.at) <= CROWD * step.granules:
            self._update_in_turn(step, shadow.granule)
        if step.kind in _STRONG:
            lost = lost[~self._causality.mutual(step.pc, step.warps[lost], winner[lost])]
        # Of many updates, only the last one is kept, unless a scope or size lets the others race with it.
        many = in_turn and len(step.at) > CROWD * step.granules
        self._keep_lost(shadow, step, lost if many else kept, unite=not in_turn)
        if not len(lost):
            return
        others = last_of_each(step.at)[lost]
        if step.stores is not None:
            own, other = (step.stores.bytes_of(each // step.granules) for each in (lost, others))
            alike = (own == other).all(axis=1)
            alike &= self._in_block(step.warps[lost], winner[lost, WARP] - step.first_warp)
            self._equal(self._races(step, lost[alike], winner[lost[alike]], shadow.granule, others[alike]))
            lost, others = lost[~alike], others[~alike]
        if len(lost):
            self.report("write", step, lost, winner[lost], shadow.granule, others)

    def _update_in_turn(self, step: AccessEvent, granule: int) -> None:
        """Record that each read-modify-write of `step` reads the one before it at the same location."""
        order = step.at.argsort(kind="stable")
        follow = step.at[order[1:]] == step.at[order[:-1]]
        at, before = order[1:][follow], step.entries[order[:-1][follow]]
        mutual = self._causality.mutual(step.pc, step.warps[at], before)
        self._causality.update(step, at[mutual], before[mutual], granule)

    def _keep_lost(self, shadow: Shadow, step: AccessEvent, lost: NDArray[np.int64], *, unite: bool) -> None:
        """Keep the writes `lost` of `step`, which are not in shadow memory; `unite`: one entry per warp and granule.

        Entries stay separate if they are of matrix rows, or if a strong read may return the value of one of them.
        """
        at, entries = step.at[lost], step.entries[lost]
        if unite and len(lost) and self._matrix_rows.next is None and self._causality.past is None:
            some, entries = united(at, step.warps[lost], entries)
            at = at[some]
        shadow.more_writes.add(at, entries)

    def _races(
        self,
        step: AccessEvent,
        bad: NDArray[np.int64],
        last: NDArray[np.int32],
        granule: int,
        others: NDArray[np.int64] | None = None,
    ) -> Iterator[Race]:
        """Yield a `Race` per rule, of entries `bad` of `step` with `last`; `others` are entry numbers of `last`."""
        for which, rule in rules_of(step, bad, last):
            within = None if others is None else others[which]
            yield Race(step, bad[which], last[which], rule, granule, within)

    def _equal(self, races: Iterator[Race]) -> None:
        """Record races of stores of equal bytes by one instruction in threads of one CTA."""
        for race in races:
            self._reports.record_equal(replace(race, equal=True))

    def _repeats(
        self, step: AccessEvent, at: NDArray[np.int64], last: NDArray[np.int32], granule: int
    ) -> NDArray[np.bool_]:
        """Return, per entry `at[i]`, whether the same instruction of the same CTA stored the same bytes in `last[i]`.

        The race is benign if this holds in every run: the order of the stores does not change the result.
        """
        again: NDArray[np.bool_] = last[:, PC] == step.pc
        again &= self._in_block(step.warps[at], last[:, WARP] - step.first_warp)
        if step.stores is None or not again.any():
            return np.zeros(len(at), np.bool_)
        again[again] = step.stores.unchanged(at[again] // step.granules)
        self._equal(self._races(step, at[again], last[again], granule))
        return again

    def _in_block(self, warps: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, per pair of warps, whether both are in one CTA."""
        same: NDArray[np.bool_] = warps // self._block == others // self._block
        return same
