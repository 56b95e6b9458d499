"""A DSL kernel whose module is replaced by another."""

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
    """`kernel` with the instructions of `module`: same contract, same launch, same Python lines.

    `module` is a mutant of the module that the kernel generates for the arrays of the later call.
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
        """Return the kernel's specialization with the replaced module."""
        return replace(self.kernel.specialize(arguments, keywords), module=self.module)

    def simulate(self, *arrays: object, **keywords: object) -> SimulationResult:
        """Run the kernel on the simulator, as `kernel.simulate` does."""
        return simulate(self, arrays, keywords)
