"""Count shared memory bank conflicts while the simulator runs a kernel."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_sim import simulator
from pyptx_sim.machine.asynchrony.groups import COPY
from pyptx_sim.observer import Observer

if TYPE_CHECKING:
    import pytest

    from pyptx_sim.observer import AccessKind, AsyncOperations, Offsets, Space

# Shared memory has 32 banks of 4 bytes and serves 128 bytes per pass: 32 lanes with 4 bytes each, or 8 with 16. CUDA
# programming guide, "Shared Memory", compute capability 5.x and later.
BANKS, BANK = 32, 4


class BankCounter(Observer):
    """Counter of shared memory passes per opcode, beyond the minimum for the accessed bytes."""

    def __init__(self, view: Any, found: Counter[str]) -> None:
        self.found, self.sites = found, view._machine.program.sites

    def access(
        self,
        space: Space,
        kind: AccessKind,  # noqa: ARG002 - part of the observer's signature
        offsets: Offsets,
        size: int,
        warps: Offsets,
        lanes: Offsets,
        pc: int,
    ) -> None:
        if space == "shared":
            self.count(offsets, size, warps, lanes, pc)

    def issued(self, work: AsyncOperations) -> None:
        for touch in work.touches:
            if touch.space == "shared" and work.kind is COPY:
                self.count(touch.offsets, touch.size, work.warps[touch.owners], work.lanes[touch.owners], work.pc)

    def count(self, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int) -> None:
        together = BANKS * BANK // size  # number of lanes that shared memory serves in one pass
        turns = warps * BANKS + lanes // together
        opcode = ".".join(self.sites[pc].instruction.opcode[:2])
        for turn in np.unique(turns):
            words = np.unique(offsets[turns == turn, None] // BANK + np.arange(max(size // BANK, 1)))
            self.found[opcode] += int(np.bincount(words % BANKS).max()) - 1


def conflicts(monkeypatch: pytest.MonkeyPatch, kernel: Any, *arrays: Any) -> Counter[str]:
    """Run a kernel; return the excess passes of each opcode that accessed shared memory."""
    found: Counter[str] = Counter()
    monkeypatch.setattr(simulator, "observers_of", lambda _rules: [lambda view: BankCounter(view, found)])
    kernel.simulate(*arrays)
    return found
