"""Run a trial, such as a test, on mutants and classify the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax import emit, parse
from pyptx_sim.errors import InternalError
from pyptx_sim.workers import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.findings import Finding
    from pyptx_sim.mutations.mutant import Mutant
    from pyptx_sim.workers import Workers

Outcome: TypeAlias = Literal["found", "wrong", "refused", "survived"]
"""`found`: findings. `wrong`: no findings, but a failed assertion. `refused`: an error. `survived`: none of these."""


class Trial(Protocol):
    """Result of a trial: a `Result`, a `SimulationResult`, or any object with `findings`."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings of the trial's run."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of one mutant; `reason` is the text of the error or failed assertion, if any."""

    mutant: Mutant
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    reason: str = ""

    @property
    def rules(self) -> frozenset[str]:
        """Names of the rules of the trial's findings."""
        return frozenset(finding.rule for finding in self.findings)


def survey(mutants: Iterable[Mutant], trial: Callable[[Module], Trial], *, workers: Workers = 1) -> tuple[Verdict, ...]:
    """Run each mutant through `trial` and return the outcomes.

    The trial runs the given module with all checks, raises AssertionError if the numbers are wrong, and returns an
    object with the findings. For a correct kernel it must return no findings. It may run several schedules and return
    the findings of one. Findings take precedence over numbers: a trial that returns findings need not compare results.

    `workers` is a number of processes (1: this one, 0: one per processor), or an executor of `concurrent.futures`.
    Except with 1, the trial must be picklable, like a function of a module. Outcomes are in the order of the mutants
    and do not depend on `workers`.
    """
    known = list(mutants)
    if workers == 1:
        return tuple(Verdict(mutant, *_judged(trial, mutant.module)) for mutant in known)
    judged = in_order(partial(_judged_text, trial), (emit(mutant.module) for mutant in known), workers)
    return tuple(Verdict(mutant, *each) for mutant, each in zip(known, judged, strict=True))


_Judged: TypeAlias = tuple[Outcome, "tuple[Finding, ...]", str]


def _judged_text(trial: Callable[[Module], Trial], text: str) -> _Judged:
    return _judged(trial, parse(text))


def _judged(trial: Callable[[Module], Trial], module: Module) -> _Judged:
    try:
        found = tuple(trial(module).findings)
    except AssertionError as error:
        return "wrong", (), str(error)
    except InternalError:  # a fault of the simulator finds no mutant
        raise
    except PyptxError as error:
        return "refused", (), str(error)
    return "found" if found else "survived", found, ""
