"""Results of a run: findings, statistics and printed output."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters of a run.

    `instructions` are warp instructions, as a GPU counts them; `steps` are the basic blocks that the simulator
    executed, each for many warps at once; `waves` counts the groups of CTAs that ran together.
    """

    instructions: int
    warps: int
    ctas: int
    steps: int
    waves: int


@dataclass(frozen=True, slots=True)
class Result:
    """A completed run: its findings (in order of first occurrence), its statistics, and the kernel's printed output."""

    findings: tuple[Finding, ...]
    statistics: Statistics
    printed: str = ""

    @property
    def clean(self) -> bool:
        """Whether the run has no findings."""
        return not self.findings

    def __str__(self) -> str:
        """Return the printed output, each finding, and the number of findings per severity with the size of the run."""
        counts = Counter(finding.severity for finding in self.findings)
        found = ", ".join(counted(count, severity) for severity, count in counts.items()) or "no findings"
        run = self.statistics
        size = (
            f"{counted(run.instructions, 'instruction')} of {counted(run.warps, 'warp')} in {counted(run.ctas, 'CTA')}"
        )
        return self.printed + "\n\n".join([*map(str, self.findings), f"{found}: {size}"])
