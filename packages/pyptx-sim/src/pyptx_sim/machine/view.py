"""Adapter from the simulated machine to the interface for observers (`pyptx_sim.observer.RunView`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.geometry import volume
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from typing import Unpack

    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.observer import Masks, Space
    from pyptx_sim.origins import SourceLocation


class MachineView:
    """Implementation of `pyptx_sim.observer.RunView`, by which observers query the running launch."""

    def __init__(self, machine: Machine) -> None:
        """Provide the view of a launch on `machine`."""
        self._machine = machine

    @property
    def warps(self) -> int:
        """Maximum number of warps in a wave."""
        return self._machine.wave_warps

    @property
    def warps_per_cta(self) -> int:
        """Number of warps per CTA."""
        return self._machine.launch.warps_per_cta

    @property
    def cluster_size(self) -> int:
        """Number of CTAs per cluster."""
        return self._machine.launch.cluster_size

    @property
    def threads(self) -> Masks:
        """Lanes of each warp that have a thread, bool `[warps, 32]`."""
        launch = self._machine.launch
        thread = np.arange(launch.warps_per_cta * WARP).reshape(-1, WARP)
        masks: Masks = np.tile(thread < volume(launch.block), (self._machine.ctas_per_wave, 1))
        return masks

    @property
    def narrows_scopes(self) -> bool:
        """Whether any strong access of the program has `.cta` or `.cluster` scope."""
        return self._machine.program.narrows_scopes

    @property
    def fences_reads(self) -> bool:
        """Whether any asynchronous write of the program requires a fence after earlier reads by warps."""
        return self._machine.program.fences_reads

    def arena_size(self, space: Space) -> int:
        """Return the size of the arena of `space` in bytes."""
        return len(self._machine.arena(space).data)

    def shared_stride(self) -> int:
        """Return the distance in bytes, in the shared arena, between the shared memory of consecutive CTAs."""
        return self._machine.shared_stride

    def bytes_at(self, space: Space, offset: int, size: int) -> bytes:
        """Return `size` bytes of the arena of `space` at `offset`."""
        return self._machine.arena(space).bytes_at(offset, size)

    def opcode(self, pc: int) -> tuple[str, ...]:
        """Return the opcode and modifiers of an instruction."""
        return self._machine.program.sites[pc].instruction.opcode

    def describe(self, space: Space, offset: int) -> str:
        """Return a symbolic address, such as `x[3]`, for `offset` in the arena of `space`."""
        return self._machine.describe(space, offset)

    def warp_name(self, warp: int) -> str:
        """Return the CUDA name of a warp, given by its number in the current wave."""
        return self._machine.geometry.warp_name(warp)

    def cta_name(self, slot: int) -> str:
        """Return the CUDA name of a CTA, given by its index in the current wave."""
        return self._machine.geometry.cta_name(slot)

    def place(self, pc: int) -> SourceLocation | None:
        """Return the PTX source location of the instruction at `pc`; None if it is not in the source."""
        return self._machine.program.place(pc)

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Record a finding at the instruction at `pc`."""
        self._machine.log.report(rule, message, pc, other_pc=other_pc, **details)
