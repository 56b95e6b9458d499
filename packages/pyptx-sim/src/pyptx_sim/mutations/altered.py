"""A DSL kernel that runs a mutant of its module."""

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
    """`kernel` with the instructions of `module`; the parameters, launch configuration and Python lines are unchanged.

    `module` is a mutant of the module that the kernel generates for the arrays of the call to `simulate`.
    """

    kernel: Launchable
    module: Module

    @property
    def name(self) -> str:
        """Name of the original kernel."""
        return self.kernel.name

    @property
    def declaration(self) -> object:
        """Declaration of the original kernel."""
        return self.kernel.declaration

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Return the original kernel's specialization with its module replaced by `module`."""
        return replace(self.kernel.specialize(arguments, keywords), module=self.module)

    def simulate(self, *arrays: object, **keywords: object) -> SimulationResult:
        """Run the kernel on the simulator, as `kernel.simulate` does."""
        return simulate(self, arrays, keywords)
