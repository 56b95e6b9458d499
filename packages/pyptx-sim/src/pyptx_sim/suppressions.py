"""Suppressions of findings: the accepted findings of a run, and the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.suppressions import Run, SuppressionError, Suppressions
from pyptx_sim.extension.registry import rules
from pyptx_sim.reports import problems_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.reports import Problem
    from pyptx_sim.findings import Finding

__all__ = ["Reviewed", "Run", "SuppressionError", "Suppressions", "apply", "run_of"]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Findings of a run: `kept` ones, and `suppressed` ones; `problems` are all of them, for a report."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    problems: tuple[Problem, ...]


def apply(
    suppressions: Suppressions | None,
    findings: Sequence[Finding],
    *,
    kernel: str = "kernel",
    files: Sequence[str] = (),
    run: Run | None = None,
) -> Reviewed:
    """Separate the suppressed findings from the others; record the used entries in `suppressions`.

    `files` are the names of the PTX modules, for findings without a source line. `run`, of a complete run, has its
    kernel and source files: their entries that matched nothing become `suppressions.unused()`.
    """
    problems = problems_of(findings, kernel, files)
    if suppressions is not None:
        problems = suppressions.apply(problems, run)
    pairs = list(zip(findings, problems, strict=True))
    kept = tuple(finding for finding, problem in pairs if not problem.suppressed)
    return Reviewed(kept, tuple(finding for finding, problem in pairs if problem.suppressed), problems)


def run_of(kernel: str, files: Iterable[str], checked: str | Iterable[str] = "all") -> Run:
    """Return the description of a complete run of code from `files` whose `checks` were `checked`."""
    names = {"all": rules(), "none": ()}.get(checked, (checked,)) if isinstance(checked, str) else checked
    return Run(kernel, tuple(files), frozenset(names))
