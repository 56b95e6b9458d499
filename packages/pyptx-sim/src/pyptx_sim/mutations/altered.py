"""A kernel of the DSL with another module in the place of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_sim.runtime import SimulationResult, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Argument, Launchable, Specialization
    from pyptx_ir.syntax.nodes import Module


@dataclass(frozen=True, slots=True)
class Altered:
    """`kernel`, with the instructions of `module`: same contract, same launch, same Python lines.

    `module` is a mutant of what the kernel makes of the arrays that it is then called with.
    """

    kernel: Launchable
    module: Module

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def declaration(self) -> object:
        """The kernel's declaration."""
        return self.kernel.declaration

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Return the kernel's specialisation, with the other module."""
        return replace(self.kernel.specialize(arguments, keywords), module=self.module)

    def simulate(self, *arrays: object, **keywords: object) -> SimulationResult:
        """Run it on the simulator, as `kernel.simulate` does."""
        return simulate(self, arrays, keywords)
