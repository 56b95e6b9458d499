"""A persistent kernel on a small device: each CTA processes several tiles of a small problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_sim.runtime import SimulationResult
from pyptx_sim.runtime import simulate as run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Argument, Launchable, Specialization


@dataclass(frozen=True, slots=True)
class Fewer:
    """A persistent kernel that is launched as on a device with a given number of SMs."""

    kernel: Launchable
    multiprocessors: int

    @property
    def name(self) -> str:
        """The wrapped kernel's name."""
        return self.kernel.name

    @property
    def declaration(self) -> object:
        """Declaration (specs, grid, directives) of the wrapped kernel."""
        return self.kernel.declaration

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Specialize the kernel with the grid of a device with `sms` SMs."""
        special = self.kernel.specialize(arguments, keywords)
        return replace(special, grid=special.grid_on(self.multiprocessors))


def simulate(kernel: Launchable, multiprocessors: int, *arrays: object, **keywords: object) -> SimulationResult:
    """Simulate a persistent kernel on a device with this number of SMs."""
    return run(Fewer(kernel, multiprocessors), arrays, keywords)
