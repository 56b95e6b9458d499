"""The vault: a memory of 4 KiB per CTA, which warps allocate line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension import InstructionSemantics, Rule, Space
from pyptx_sim.rules import RaceChecker

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, ExecutionContext, Operands, Stall, Terminator, Wave

WORD = np.dtype(np.uint32)
LINE, LINES = 64, 64  # bytes of each line of a vault, and number of lines of a vault
VAULT = Space(name="vault", size=LINE * LINES, describe=lambda address: f"line {address // LINE} +{address % LINE}")

RULES = (
    Rule(
        name="vault-race",
        summary="data race between warps on the vault",
        help="put bar.sync between the two accesses",
        checker=RaceChecker,
    ),
    Rule(
        name="vault-leak",
        summary="CTA exits with an allocated line of the vault",
        help="acme.free every line before the CTA exits",
    ),
    Rule(name="vault-owner", summary="line of the vault freed without an allocation", help="acme.free each line once"),
)


class Lines:
    """Allocated lines of the vaults of a wave, each with the instruction that allocated it."""

    name = "a line of the vault"
    help = "free lines in other warps first, or allocate fewer"
    alone = True

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._taken_at = np.full((wave.geometry.ctas, LINES), -1, np.int64)
        wave.endings.append(self._report_leaks)

    def take(self, cta: int, pc: int) -> int | None:
        """Allocate a line of a CTA's vault; return its address, or None if all lines are allocated."""
        free = np.flatnonzero(self._taken_at[cta] < 0)
        if not len(free):
            return None
        self._taken_at[cta, free[0]] = pc
        return int(free[0]) * LINE

    def give_back(self, cta: int, address: int) -> bool:
        """Free a line, and resume the warps that wait for a line; return whether the line was allocated."""
        line = address // LINE
        if not 0 <= line < LINES or self._taken_at[cta, line] < 0:
            return False
        self._taken_at[cta, line] = -1
        self._wave.stalled(self).resume()
        return True

    def describe(self, warp: int) -> str:
        """Return the reason why a warp waits."""
        cta = self._wave.geometry.cta[warp]
        return f"waits for a line of the vault: all {np.count_nonzero(self._taken_at[cta] >= 0)} are taken"

    def _report_leaks(self) -> None:
        if not self._wave.ended:
            return
        for pc in np.unique(self._taken_at[self._taken_at >= 0]).tolist():
            count = int(np.count_nonzero(self._taken_at == pc))
            self._wave.report("vault-leak", "CTA exits with an allocated line of the vault", pc, count=count)


def _alloc(operands: Operands, following: int) -> Terminator:
    destination = operands.destination("d", "b32")

    def alloc(turn: ExecutionContext) -> Stall | None:
        lines, cta = turn.part(Lines), int(turn.ctas[0])
        address = lines.take(cta, turn.pc)
        if address is None:
            return lines
        turn.acquire(VAULT, (cta, address))
        turn.forget(VAULT, address, LINE)
        turn.write(destination, np.full((1, 1), address, np.uint32))
        return None

    return operands.end(alloc, following)


def _free(operands: Operands) -> Action:
    source = operands.source("a", "u32")

    def free(turn: ExecutionContext) -> None:
        lines = turn.part(Lines)
        for one in turn.by_warp():
            cta, address = int(one.ctas[0]), int(one.read(source)[0, int(one.mask[0].argmax())])
            one.release(VAULT, (cta, address))
            if not lines.give_back(cta, address):
                one.report("vault-owner", f"acme.free of line {address // LINE}, which is not allocated")

    return operands.action(free)


def _put(operands: Operands) -> Action:
    address, source = operands.source("a", "u32"), operands.source("b", "b32")
    return operands.action(lambda turn: turn.store(VAULT, turn.read(address), turn.read(source)))


def _get(operands: Operands) -> Action:
    destination, address = operands.destination("d", "b32"), operands.source("a", "u32")
    return operands.action(lambda turn: turn.write(destination, turn.load(VAULT, turn.read(address), WORD)))


STEPS = (
    InstructionSemantics(opcode="acme.alloc", effect="order", end=_alloc, converges="warp", blocks=True),
    InstructionSemantics(opcode="acme.free", effect="order", compile=_free, converges="warp"),
    InstructionSemantics(opcode="acme.put", effect="access", compile=_put),
    InstructionSemantics(opcode="acme.get", effect="access", compile=_get),
)
