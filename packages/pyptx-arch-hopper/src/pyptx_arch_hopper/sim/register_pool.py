"""The registers that warps own, and the free pool of each CTA. Manual: "setmaxnreg".

A warp starts with the registers per thread of its launch. Registers freed by `.dec` go to the CTA's pool; `.inc` waits
until the pool has enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.extension import WARP

if TYPE_CHECKING:
    from pyptx_sim.extension import ExecutionContext, IntArray, Wave

_WARPGROUP_HELP = "execute the same setmaxnreg in all four warps"


class RegisterPool:
    """Registers per thread of each simulated warp, and the free registers of each CTA."""

    name = "registers"
    alone = True
    help = "release registers in other warpgroups first (setmaxnreg.dec), or request fewer"

    def __init__(self, wave: Wave, registers: int) -> None:
        """Start with empty pools; each warp owns `registers` registers per thread."""
        self._wave = wave
        self._owned: IntArray = np.full(wave.height, registers, np.int64)
        self._free: IntArray = np.zeros(wave.geometry.ctas, np.int64)
        # For each warp: register count and pc of each setmaxnreg that it executed.
        self._counts: list[list[tuple[int, int]]] = [[] for _ in range(wave.height)]
        self._wanted: dict[int, int] = {}  # registers per thread that each blocked warp requests with setmaxnreg
        wave.endings.append(self.finish)

    def release(self, turn: ExecutionContext, count: int) -> None:
        """Reduce warps to `count` registers per thread, and grant the freed registers to blocked warps."""
        for warp in self._begin(turn, count):
            if self._owned[warp] < count:
                self._undefined(turn, warp, count, "setmaxnreg.dec", "at most")
                continue
            self._free[self._wave.geometry.cta[warp]] += (self._owned[warp] - count) * WARP
            self._owned[warp] = count
        self._serve()

    def request(self, turn: ExecutionContext, count: int) -> None:
        """Execute setmaxnreg.inc: block warps until they own `count` registers per thread."""
        warps = self._begin(turn, count)
        sound = self._owned[warps] <= count
        for warp, asks in zip(warps, sound.tolist(), strict=True):
            if asks:
                self._wanted[warp] = count
            else:
                self._undefined(turn, warp, count, "setmaxnreg.inc", "at least")
        turn.stall(self, sound)
        self._serve()

    def _begin(self, turn: ExecutionContext, count: int) -> list[int]:
        """Record that the executing warps execute setmaxnreg with `count`; return these warps."""
        warps: list[int] = turn.warps.tolist()
        for warp in warps:
            self._counts[warp].append((count, turn.pc))
        return warps

    def _undefined(self, turn: ExecutionContext, warp: int, count: int, opcode: str, bound: str) -> None:
        owned = int(self._owned[warp])
        message = f"{opcode} to {count} registers per thread, but the warp has {owned}: undefined"
        label = f"{opcode} by {self._wave.geometry.warp_name(warp)}"
        help = f"pass {opcode} a count of {bound} {owned}, the current count of the warp"
        self._wave.report("setmaxnreg", message, turn.pc, label=label, help=help)

    def _serve(self) -> None:
        """Resume, in warp order, the blocked warps whose requests the CTA pools can satisfy."""
        cta = self._wave.geometry.cta
        waiting = self._wave.stalled(self)
        served = np.zeros(len(waiting), np.bool_)
        for number, warp in enumerate(waiting.warps.tolist()):
            count = self._wanted[warp]
            missing = self._missing(warp, count)
            if missing > self._free[cta[warp]]:
                continue
            self._free[cta[warp]] -= missing
            self._owned[warp] = count
            served[number] = True
        waiting.chosen(served).resume()

    def _missing(self, warp: int, count: int) -> int:
        return int(count - self._owned[warp]) * WARP

    def describe(self, warp: int) -> str:
        """Return, as text, the registers that a blocked warp lacks, and the registers of its CTA's pool and warps."""
        cta = self._wave.geometry.cta
        count = self._wanted[warp]
        owned = self._owned[cta == cta[warp]]
        found, numbers = np.unique(owned, return_counts=True)
        shares = [f"{counted(n, 'warp')} with {each}" for each, n in zip(found.tolist(), numbers.tolist(), strict=True)]
        return (
            f"setmaxnreg.inc {count} blocked: the warp has {self._owned[warp]} registers per thread and needs "
            f"{self._missing(warp, count)} more in total, the CTA pool holds {self._free[cta[warp]]} "
            f"(registers per thread: {', '.join(shares)})"
        )

    def finish(self) -> None:
        """Report warpgroups whose four warps differ in their setmaxnreg counts. Manual: "setmaxnreg"."""
        if not self._wave.ended:
            return  # after a deadlock, the deadlock report explains more than a finding about setmaxnreg
        groups = self._wave.geometry.warpgroups
        members: list[list[int]] = groups.warps.tolist()
        for warps in members:
            counts = [[count for count, _ in self._counts[warp]] for warp in warps]
            most = max(range(len(warps)), key=lambda number: len(counts[number]))
            odd = next((number for number in range(len(warps)) if counts[number] != counts[most]), None)
            if odd is not None:
                self._report_odd(warps[most], warps[odd])
        for warp in np.flatnonzero(groups.of < 0).tolist():
            if self._counts[warp]:
                message = "setmaxnreg in a warpgroup with fewer than four warps"
                label = f"setmaxnreg by {self._wave.geometry.warp_name(warp)}"
                help = "make the CTA size a multiple of 128 threads"
                self._wave.report("setmaxnreg", message, self._counts[warp][0][1], label=label, help=help)

    def _report_odd(self, warp: int, odd: int) -> None:
        """Report the first setmaxnreg of `warp` that warp `odd` executes with another count, or not at all."""
        mine, other = self._counts[warp], self._counts[odd]
        same = next((i for i, (one, two) in enumerate(zip(mine, other, strict=False)) if one[0] != two[0]), len(other))
        count, pc = mine[same]
        name = self._wave.geometry.warp_name
        differs = same < len(other)
        self._wave.report(
            "setmaxnreg",
            "not all warps of the warpgroup execute the same setmaxnreg",
            pc,
            other_pc=other[same][1] if differs else None,
            label=f"setmaxnreg to {count} by {name(warp)}",
            other_label=f"setmaxnreg to {other[same][0]} by {name(odd)}" if differs else None,
            notes=() if differs else (f"{name(odd)} does not execute setmaxnreg",),
            help=_WARPGROUP_HELP,
        )
