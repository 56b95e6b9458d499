"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a run counted.

    `instructions` are warp instructions, as a GPU counts them; `steps` are the basic blocks that the simulator
    executed, each for many warps at once; `waves` is how many times it filled itself with CTAs.
    """

    instructions: int
    warps: int
    ctas: int
    steps: int
    waves: int


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: its findings (in order of first sight), what it counted, and what the kernel printed."""

    findings: tuple[Finding, ...]
    statistics: Statistics
    printed: str = ""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings
