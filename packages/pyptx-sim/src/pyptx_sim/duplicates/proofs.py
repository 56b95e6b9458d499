"""Find the benign races by running the launches again under the same schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_sim.duplicates.converging import ordering_lanes
from pyptx_sim.duplicates.evident import stored_constants, surely_used
from pyptx_sim.duplicates.loading import Versions
from pyptx_sim.duplicates.loads import Following, RacingLoads, Uses
from pyptx_sim.duplicates.slices import Slice
from pyptx_sim.duplicates.store_sites import StoreSite, stores_values
from pyptx_sim.duplicates.stores import Relation, StoredNumbers, StoreRelation
from pyptx_sim.duplicates.tracking import tracked
from pyptx_sim.instructions.compiling.table import scheduled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx_sim.instructions.compiling.table import Schedule
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.scheduling.code import Code
    from pyptx_sim.program.program import Program
    from pyptx_sim.rules.races import RaceChecker
    from pyptx_sim.rules.reports import Key, Race

    Prepare: TypeAlias = Callable[[int, Machine, RaceChecker], None]
    Rerun: TypeAlias = Callable[[Prepare], bool]

__all__ = ["Watched", "settle"]

_RULES: Final = frozenset({"global-race", "shared-race", "lane-race"})
_MOST: Final = 8
"""Maximum number of racing loads tested one by one after a test of all loads has found a use; each test is a rerun."""

_HALF: Final = 1 << 16
"""Least difference of 32-bit words that is not reported in ulp: each word may hold two 16-bit floats."""

_EQUAL: Final = "both stored values are computed by the same instructions from the same inputs"
_DEAD: Final = "no thread uses the value that the load returns"
_ENDED: Final = "mbarrier-inval"
_CONVERGED: Final = (
    "after the use, all lanes that used the mbarrier execute a .sync instruction together with the lane that "
    "executes mbarrier.inval; by the manual, .sync does not order memory"
)
_ONE_STORE: Final = "predicate the store to one thread: the other stores only cost bandwidth"
_ONE_COPY: Final = "predicate the store to one thread: the last store depends on the schedule"


@dataclass(frozen=True, slots=True)
class Watched:
    """A completed launch: its machine, race checker and schedule.

    `compile` compiles the launch for a fixed schedule.
    """

    machine: Machine
    checker: RaceChecker
    compile: Callable[[], Code]
    schedule: Schedule

    @property
    def program(self) -> Program:
        """The lowered program that the launch executes."""
        return self.machine.program


@dataclass(slots=True)
class _Case:
    """Possibly benign races of a launch."""

    watched: Watched
    slices: Slice
    stores: list[Key] = field(default_factory=list["Key"])
    equal: list[Key] = field(default_factory=list["Key"])
    loads: list[Key] = field(default_factory=list["Key"])
    verdicts: dict[Key, StoreRelation] = field(default_factory=dict["Key", StoreRelation])
    racing: RacingLoads = field(default_factory=lambda: RacingLoads(frozenset()))
    dead: set[int] = field(default_factory=set[int])
    ends: list[Key] = field(default_factory=list["Key"])

    @classmethod
    def of(cls, watched: Watched) -> _Case:
        """Return the possibly benign races among the findings of a launch."""
        case, program = cls(watched, Slice(watched.program)), watched.program
        for key in watched.machine.log.pairs():
            rule, *pcs = key
            opcodes = [program.sites[pc].instruction.opcode[0] for pc in pcs]
            if rule in _RULES and all(stores_values(program, pc) for pc in pcs):
                case._enter_stores(key)
            elif rule in _RULES and opcodes.count("ld") == 1:
                if not surely_used(program, case.slices, case.load_of(key)):
                    case.loads.append(key)
            elif rule == _ENDED:
                case.ends.append(key)
        stores = [key for key in watched.checker.reports.equal_stores if stores_values(program, key[1])]
        case.equal = [key for key in stores if stored_constants(program, key[1]) is None]
        if any(layout.body for layout in program.functions.values() if layout is not program.entry):
            case.stores, case.equal = [], []  # values passed in calls have no value numbers
        case.racing = RacingLoads(frozenset(case.load_of(key) for key in case.loads))
        return case

    def _enter_stores(self, key: Key) -> None:
        """Record a race of two stores as possibly benign, unless they store different constants."""
        one, other = (stored_constants(self.watched.program, pc) for pc in key[1:])
        if one is None or other is None or one == other:
            self.stores.append(key)

    def load_of(self, key: Key) -> int:
        """Return the pc of the load of a race between a load and another access."""
        return next(pc for pc in key[1:] if self.watched.program.sites[pc].instruction.opcode[0] == "ld")

    @property
    def store_pcs(self) -> frozenset[int]:
        """Pcs of the racing stores whose values are compared."""
        return frozenset(pc for key in (*self.stores, *self.equal) for pc in key[1:])

    def number(self, machine: Machine, checker: RaceChecker, *, sampled: bool = False) -> None:
        """Prepare a rerun that computes the value numbers of racing stores and records the lanes of racing loads.

        With `sampled`, selections that agree for random inputs have the same numbers.
        """
        receivers: list[Callable[[Race], None]] = []
        if self.racing.pcs:
            receivers.append(self.racing.race)
        if self.store_pcs:
            receivers.append(self._numbered(machine, sampled=sampled))
        if receivers:
            checker.reports.compare = partial(_each, receivers)

    @property
    def undecided(self) -> bool:
        """Whether racing stores would be an error because their values depend on inputs in different ways."""
        known = self.verdicts
        return any(known[key].copies == Relation.UNKNOWN for key in self.stores if key in known) or any(
            known[key].copies == Relation.DIFFERENT for key in self.equal if key in known
        )

    def _numbered(self, machine: Machine, *, sampled: bool) -> Callable[[Race], None]:
        program, slices = self.watched.program, self.slices
        sites = {pc: StoreSite.of(program, pc) for pc in self.store_pcs}
        slots = (each.register.slot for site in sites.values() for each in site.sources if each.register is not None)
        versions, stored = Versions(machine), StoredNumbers(machine, sites)
        code = tuple(stored.around(block) for block in self.watched.compile())
        code = tracked(program, code, slices, slices.of(slots), versions, sampled=sampled)
        machine.code = scheduled(program, code, self.watched.schedule)
        machine.observers = machine.observers.beside(stored).beside(versions)
        self.verdicts = stored.verdicts
        return stored.race

    def follow(self, machine: Machine, checker: RaceChecker, pcs: frozenset[int]) -> Uses:
        """Prepare a rerun that checks for uses of the values of racing loads; return the log of these uses."""
        program = self.watched.program
        following = Following(program, self.slices, self.racing, lambda: checker.first_warp, pcs)
        machine.code = scheduled(program, following.code(self.watched.compile()), self.watched.schedule)
        machine.log = log = Uses.like(machine.log)
        return log

    def order(self, machine: Machine, _checker: RaceChecker) -> None:
        """Prepare a rerun in which `.sync` instructions order memory among their lanes."""
        if self.ends:
            machine.code = scheduled(
                self.watched.program,
                ordering_lanes(self.watched.program, self.watched.compile()),
                self.watched.schedule,
            )

    def downgrade_ends(self, machine: Machine) -> None:
        """Downgrade `mbarrier-inval` findings that a rerun on `machine`, where `.sync` orders memory, does not have."""
        found = machine.log.pairs()
        for key in self.ends:
            if key not in found:
                self.watched.machine.log.downgrade(key, _CONVERGED)

    def settle(self) -> None:
        """Downgrade benign races to notes; report races of stores whose values are equal in this run only."""
        log, reports = self.watched.machine.log, self.watched.checker.reports
        for key in self.equal:
            verdict = self.verdicts.get(key)
            if verdict is not None and verdict.copies in {Relation.ROUNDED, Relation.DIFFERENT}:
                reports.report_equal(key)
                self.stores += [] if key in self.stores else [key]
        for key in self.stores:
            verdict = self.verdicts.get(key)
            if verdict is not None and verdict.copies <= Relation.ROUNDED:
                equal = verdict.copies == Relation.EQUAL
                log.downgrade(key, _EQUAL if equal else _rounded(verdict), _ONE_STORE if equal else _ONE_COPY)
        for key in self.loads:
            if self.load_of(key) in self.dead:
                log.downgrade(key, _DEAD)


def _each(receivers: Sequence[Callable[[Race], None]], race: Race) -> None:
    for each in receivers:
        each(race)


def _rounded(verdict: StoreRelation) -> str:
    apart = "differ by 0 ulp here" if not verdict.ulps else f"differ by {verdict.ulps} ulp"
    if verdict.ulps >= _HALF:
        apart = "differ"
    return (
        f"lanes of one instruction store values that {apart}: they are equal except for rounding, for example because "
        "an FMA contracts a product into a reduction"
    )


def settle(launches: Sequence[Watched], rerun: Rerun) -> None:
    """Downgrade benign races to notes.

    `rerun(prepare)` runs all launches again, without an effect on the arguments, and returns whether all completed.
    It calls `prepare` with the index of each launch, its new machine and its race checker.
    """
    if not any(each.machine.log.pairs() or each.checker.reports.equal_stores for each in launches):
        return
    cases = [_Case.of(each) for each in launches]
    if any(case.ends for case in cases):
        _order(cases, rerun)
    if not any(case.store_pcs or case.racing.pcs for case in cases):
        return
    if not rerun(lambda index, machine, checker: cases[index].number(machine, checker)):
        return
    if any(case.undecided for case in cases):
        known = [case.verdicts for case in cases]
        completed = rerun(lambda index, machine, checker: cases[index].number(machine, checker, sampled=True))
        for case, verdicts in zip(cases, known, strict=True):
            sampled = case.verdicts if completed else {}
            proofs = {key: each for key, each in sampled.items() if each.copies <= Relation.ROUNDED}
            better = {key: each for key, each in proofs.items() if each.copies < verdicts.get(key, each).copies}
            case.verdicts = verdicts | better
    _follow(cases, rerun)
    for case in cases:
        case.settle()


def _order(cases: Sequence[_Case], rerun: Rerun) -> None:
    """Downgrade `mbarrier-inval` findings if `.sync` instructions order an mbarrier's uses before mbarrier.inval."""
    machines: list[Machine] = []

    def prepare(index: int, machine: Machine, checker: RaceChecker) -> None:
        cases[index].order(machine, checker)
        machines.append(machine)

    if rerun(prepare):
        for case, machine in zip(cases, machines, strict=True):
            case.downgrade_ends(machine)


def _follow(cases: Sequence[_Case], rerun: Rerun) -> None:
    """Find the racing loads whose value no thread uses."""
    loads = [(index, pc) for index, case in enumerate(cases) for pc in sorted({pc for pc, _ in case.racing.lanes})]
    if not loads:
        return
    if _unused(cases, loads, rerun):
        dead: Iterable[tuple[int, int]] = loads
    elif 1 < len(loads) <= _MOST:
        dead = [each for each in loads if _unused(cases, [each], rerun)]
    else:
        dead = ()
    for index, pc in dead:
        cases[index].dead.add(pc)


def _unused(cases: Sequence[_Case], loads: Sequence[tuple[int, int]], rerun: Rerun) -> bool:
    logs: list[Uses] = []

    def prepare(index: int, machine: Machine, checker: RaceChecker) -> None:
        pcs = frozenset(pc for launch, pc in loads if launch == index)
        if pcs:
            logs.append(cases[index].follow(machine, checker, pcs))

    return rerun(prepare) and not any(log.used for log in logs)
