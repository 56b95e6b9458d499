"""A session of the virtual device: its launches, their findings by kernel, and the verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pyptx_ir.debug_info import source_files
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.reports import Report
from pyptx_sim.extension import rules
from pyptx_sim.suppressions import apply, run_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.reports import Problem
    from pyptx_ir.suppressions import Suppressions
    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.context import DeviceLaunch
    from pyptx_sim.findings import Finding

TOOL: Final = "pyptx run"


@dataclass(slots=True)
class KernelRecord:
    """What a session has seen of the kernels with one name: numbers of launches and instructions, and findings.

    A finding that several launches have is listed once; `occurrences` are their numbers of launches.
    """

    name: str
    launches: int = 0
    instructions: int = 0
    seconds: float = 0.0
    stopped: int = 0
    sources: dict[str, None] = field(default_factory=dict[str, None])
    _modules: tuple[Module, ...] = ()
    _found: dict[object, tuple[Finding, int]] = field(default_factory=dict[object, "tuple[Finding, int]"])

    def add(self, launch: DeviceLaunch) -> None:
        """Add a completed launch."""
        self.launches += 1
        self.seconds += launch.seconds
        self.stopped += launch.error is not None
        if launch.modules is not self._modules:
            self._modules = launch.modules
            self.sources.update((file, None) for module in launch.modules for file in source_files(module))
        if launch.result is not None:
            self.instructions += launch.result.statistics.instructions
        for finding in launch.findings:
            key = finding.rule, finding.line, finding.other_line, finding.origin, finding.other_origin
            known, launches = self._found.get(key, (finding, 0))
            self._found[key] = known, launches + 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Distinct findings, each with a note that says in how many launches it was found, if in several."""
        return tuple(
            replace(finding, notes=(*finding.notes, f"in {launches} launches of {self.name}"))
            if launches > 1
            else finding
            for finding, launches in self._found.values()
        )


@dataclass(slots=True)
class Session:
    """Launches of the virtual device and the policy for their findings.

    `checks` are the rules that were checked. A finding of severity `error` that `suppressions` does not accept fails
    the session, as does an unused suppression if `strict`.
    """

    checks: str | Iterable[str] = "all"
    suppressions: Suppressions | None = None
    strict: bool = False
    kernels: dict[str, KernelRecord] = field(default_factory=dict[str, KernelRecord])

    def add(self, launch: DeviceLaunch) -> None:
        """Add a completed launch."""
        if launch.kernel not in self.kernels:
            self.kernels[launch.kernel] = KernelRecord(launch.kernel)
        self.kernels[launch.kernel].add(launch)

    def verdict(self) -> Verdict:
        """Return the findings, separated by the suppressions, and whether they fail the session."""
        kept: dict[str, tuple[Finding, ...]] = {}
        problems: list[Problem] = []
        suppressed = 0
        for name, kernel in self.kernels.items():
            run = None if kernel.stopped else run_of(name, kernel.sources, self.checks)
            found = apply(self.suppressions, kernel.findings, kernel=name, run=run)
            kept[name] = found.kept
            problems += found.problems
            suppressed += len(found.suppressed)
        unused = () if self.suppressions is None else self.suppressions.unused("error" if self.strict else "warning")
        return Verdict(tuple(self.kernels.values()), kept, tuple(problems), unused, suppressed)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a session. `kept` are the findings by kernel that no suppression accepts."""

    kernels: tuple[KernelRecord, ...]
    kept: dict[str, tuple[Finding, ...]]
    problems: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    suppressed: int

    @property
    def launches(self) -> int:
        """Number of launches."""
        return sum(kernel.launches for kernel in self.kernels)

    @property
    def failed(self) -> bool:
        """Whether a finding or an unused suppression fails the session."""
        severities = (each.severity for found in self.kept.values() for each in found)
        return "error" in {*severities, *(each.severity for each in self.unused)}

    def text(self, device: str) -> str:
        """Return the findings, then a summary: launches, instructions, seconds, and a line per kernel with findings."""
        found = [f"{finding}\n" for findings in self.kept.values() for finding in findings]
        return "\n".join([*found, *self._summary(device), ""])

    def _summary(self, device: str) -> Iterable[str]:
        instructions = sum(kernel.instructions for kernel in self.kernels)
        seconds = sum(kernel.seconds for kernel in self.kernels)
        yield (
            f"{_launches(self.launches)} of {counted(len(self.kernels), 'kernel')} on {device}: "
            f"{counted(instructions, 'instruction')} in {seconds:.1f} s"
        )
        for kernel in self.kernels:
            verdicts = [counts(self.kept[kernel.name])] if self.kept[kernel.name] else []
            verdicts += [f"stopped {_launches(kernel.stopped)}"] if kernel.stopped else []
            if verdicts:
                yield f"  {kernel.name}: {', '.join(verdicts)} in {_launches(kernel.launches)}"
        if self.suppressed:
            yield f"  {counted(self.suppressed, 'finding')} suppressed"
        yield from (f"{each.positions[0]}: {each}" for each in self.unused)

    def markdown(self, device: str) -> str:
        """Return a summary as Markdown, for job summaries of GitHub Actions: a table of kernels, then the findings."""
        rows = [
            f"| `{kernel.name}` | {kernel.launches:,} | {kernel.instructions:,} | {counts(self.kept[kernel.name])} |\n"
            for kernel in self.kernels
        ]
        head = f"### pyptx: {_launches(self.launches)} on {device}\n\n"
        table = "| kernel | launches | instructions | findings |\n|---|--:|--:|---|\n"
        found = [_fenced(str(finding)) for findings in self.kept.values() for finding in findings]
        unused = [_fenced(f"{each.positions[0]}: {each}") for each in self.unused]
        return "".join([head, *([table, *rows, "\n"] if rows else []), *found, *unused])

    def report(self, name: str, status: int) -> Report:
        """Return a report about the program `name`, which ended with `status`, for tools."""
        details = {
            "status": status,
            "kernels": [
                {
                    "name": each.name,
                    "launches": each.launches,
                    "instructions": each.instructions,
                    "seconds": round(each.seconds, 3),
                    "stopped": each.stopped,
                }
                for each in self.kernels
            ],
        }
        explained = {rule: row.summary for rule, row in rules().items()}
        return Report(TOOL, (name,), (*self.problems, *self.unused), (), explained, details)


def _launches(count: int) -> str:
    return f"{count} launch{'es' * (count != 1)}"


def _fenced(text: str) -> str:
    """Return a text as a code block of Markdown, whatever it contains."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    return f"{fence}text\n{text}\n{fence}\n\n"


def counts(findings: Iterable[Finding]) -> str:
    """Return numbers of findings by severity as text: `2 errors, 1 note`."""
    severities = [each.severity for each in findings]
    return ", ".join(counted(severities.count(each), each) for each in dict.fromkeys(severities))
