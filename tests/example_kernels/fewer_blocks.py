"""A persistent kernel on a small device: each block takes several pieces of work of a small problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyptx_sim.runtime import SimulationResult
from pyptx_sim.runtime import simulate as run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Argument, Specialization


@dataclass(frozen=True, slots=True)
class _Fewer:
    """A kernel that is launched with so many blocks, at most."""

    kernel: Any
    blocks: int

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.name)

    @property
    def declaration(self) -> Any:
        """The kernel's declaration."""
        return self.kernel.declaration

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Specialise it, and shorten the grid."""
        special: Specialization = self.kernel.specialize(arguments, keywords)
        assert special.persistent == 1
        return replace(special, grid=special.grid_on(self.blocks))


def simulate(kernel: Any, blocks: int, *arrays: object, **keywords: object) -> SimulationResult:
    """Simulate a persistent kernel on a device of so many multiprocessors."""
    return run(_Fewer(kernel, blocks), arrays, keywords)
