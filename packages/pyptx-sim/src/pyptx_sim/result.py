"""Results of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters of a run.

    `instructions` are warp instructions, as a GPU counts them; `steps` are the basic blocks that the simulator
    executed, each for many warps at once; `waves` is the number of waves of CTAs.
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
        found = ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts.items())
        counted = self.statistics
        size = f"{counted.instructions} instructions of {counted.warps} warps in {counted.ctas} CTAs"
        return self.printed + "\n\n".join([*map(str, self.findings), f"{found or 'nothing found'}: {size}"])
