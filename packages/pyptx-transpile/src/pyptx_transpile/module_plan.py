"""Rewrite plans of a module's function bodies, and helper functions that several bodies call."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyptx_transpile.errors import ProofError
from pyptx_transpile.planning.plan import ask, planned
from pyptx_transpile.printing.outlined import called
from pyptx_transpile.proof.candidates import Suspects
from pyptx_transpile.rules.functions import FUNCTION, Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.planning.plan import Key, Rewrite, RewritePlan
    from pyptx_transpile.progress import Progress
    from pyptx_transpile.proof.verification import Faults
    from pyptx_transpile.reading.rows import Row


class ModulePlan:
    """Rewrite plans by start index of the function body; a body whose rewrites fail verification is planned again."""

    def __init__(
        self, row: Row, rules: Iterable[SugarRule], names: Iterable[str] = (), progress: Progress | None = None
    ) -> None:
        """Plan all bodies with the rewrite rules; no new helper function gets one of `names`."""
        bodies = row.bodies() if progress is None else progress.over(row.bodies())
        self._bodies = {body.start: body for body in row.bodies()}
        self._rules = tuple(rules)
        number = next((at for at, rule in enumerate(self._rules) if rule.name == FUNCTION.name), len(self._rules))
        before, after = self._rules[:number], self._rules[number:]
        self.plans: dict[int, RewritePlan] = {body.start: planned(body, before) for body in bodies}
        self._calls: Mapping[int, Sequence[Rewrite]] = {}
        if after:
            self._calls = Survey(self.plans, (*before, *after[1:]), names).calls
        for start, plan in self.plans.items():
            plan.calls = self._calls.get(start, ())
            for rule in after:
                ask(rule, plan)
            plan.settle()
        self._suspects = Suspects()
        self._without: dict[int, frozenset[Key]] = dict.fromkeys(self._bodies, frozenset())
        self._drop_few()
        self.dropped: list[Rewrite] = []
        """Helper calls that were removed because too few calls of their helper functions were left."""

    def rewrites(self) -> Counter[str]:
        """Return the number of rewrites by rule."""
        return Counter(rewrite.rule for plan in self.plans.values() for rewrite in plan.rewrites())

    def withdraw(self, faults: Faults, *, entirely: bool = False) -> Faults:
        """Plan the faulty bodies again without the rewrites that cause `faults`; if `entirely`, without any rewrite.

        Return the rewrites that cause the faults.
        """
        guilty = self._suspects.judge(faults)
        if not self._leave_out(faults if entirely else guilty, entirely=entirely) and guilty:
            raise ProofError("a rewrite that caused a mismatch had already been rejected")
        self.dropped += self._drop_few()
        for start, plan in self.plans.items():
            plan.unrolled = self._suspects.of(start)
        return guilty

    def _leave_out(self, rewrites: Mapping[int, Iterable[Rewrite]], *, entirely: bool = False) -> bool:
        changed = False
        for start, wrong in rewrites.items():
            without = self._without[start] | {rewrite.key for rewrite in wrong}
            changed = changed or without != self._without[start]
            self._without[start] = without
            rules = () if entirely else self._rules
            self.plans[start] = planned(self._bodies[start], rules, without, self._calls.get(start, ()))
        return changed

    def _drop_few(self) -> list[Rewrite]:
        """Remove and return the calls of helper functions that have too few calls to save lines."""
        dropped: list[Rewrite] = []
        while few := self._few():
            self._leave_out(few)
            dropped += [rewrite for calls in few.values() for rewrite in calls]
        return dropped

    def _few(self) -> dict[int, list[Rewrite]]:
        found: dict[int, list[Rewrite]] = {}
        for helper, sites in called(self.plans).items():
            if len(sites) < helper.least:
                for start, rewrite in sites:
                    found.setdefault(start, []).append(rewrite)
        return found
