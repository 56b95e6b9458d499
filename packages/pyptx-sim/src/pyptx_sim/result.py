"""Results of a run: findings, statistics and printed output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.outcome import Outcome

if TYPE_CHECKING:
    from pyptx_ir.drawing import Markup
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

    def __str__(self) -> str:
        """Return `72 instructions of 4 warps in 4 CTAs`."""
        instructions, warps = counted(self.instructions, "instruction"), counted(self.warps, "warp")
        return f"{instructions} of {warps} in {counted(self.ctas, 'CTA')}"


@dataclass(frozen=True, slots=True)
class Result(Outcome):
    """A completed run: its findings (in order of first occurrence), its statistics, and the kernel's printed output.

    `str()` is a summary of at most 15 lines; `text` contains all findings. `timeline` is the drawing that
    `trace="run.svg"` wrote.
    """

    findings: tuple[Finding, ...]
    statistics: Statistics
    printed: str = ""
    kernel: str = "kernel"
    timeline: Markup | None = field(default=None, compare=False, repr=False)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings in order of first occurrence."""
        return self.findings

    @property
    def extent(self) -> str:
        """Number of instructions, warps and CTAs."""
        return str(self.statistics)
