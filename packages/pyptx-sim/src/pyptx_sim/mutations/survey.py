"""Run mutants through a trial, and say what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.findings import Finding
    from pyptx_sim.mutations.mutant import Mutant

Outcome: TypeAlias = Literal["found", "wrong", "refused", "survived"]
"""`found`: findings. `wrong`: none, but the trial's own assertion failed. `refused`: it did not run to its end."""


class Tried(Protocol):
    """What a trial returns: a `Result` or a `SimulationResult`, or anything with findings."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant; `reason` is the text of the error or failed assertion, if there was one."""

    mutant: Mutant
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    reason: str = ""

    @property
    def rules(self) -> frozenset[str]:
        """The rules of what was found."""
        return frozenset(finding.rule for finding in self.findings)


def survey(mutants: Iterable[Mutant], trial: Callable[[Module], Tried]) -> tuple[Verdict, ...]:
    """Run each mutant through `trial`, and say what became of it.

    The trial runs the module that it is given, with all checks, raises AssertionError if the numbers are wrong, and
    returns what was found. It must let a clean kernel pass. It may run several schedules, and return the findings of
    one. Findings count before numbers: a trial that returns findings need not compare anything.
    """
    return tuple(_judged(mutant, trial) for mutant in mutants)


def _judged(mutant: Mutant, trial: Callable[[Module], Tried]) -> Verdict:
    try:
        found = tuple(trial(mutant.module).findings)
    except AssertionError as error:
        return Verdict(mutant, "wrong", reason=str(error))
    except PyptxError as error:
        return Verdict(mutant, "refused", reason=str(error))
    return Verdict(mutant, "found" if found else "survived", found)
