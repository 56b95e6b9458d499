"""Recipes: lines of the vault with the order in which the blender permutes the words of another line.

The blender reads them through a separate proxy with one-way fences. The warp that writes a recipe publishes it
(`acme.publish`); the warp that issues the operation first consults it (`acme.consult`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acme_arch.sim.blender import BLENDER, BLENDS, lines_at
from acme_arch.sim.vault import LINE, VAULT, WORD
from pyptx_sim.extension import AsyncAccess, AsyncIssue, InstructionSemantics, Proxy, Rule
from pyptx_sim.rules import RaceChecker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.extension import Action, ExecutionContext, Operands

RECIPES = Proxy(name="recipe", unfenced="missing-recipe-fence", one_way=True, reads="recipe in")

RULES = (
    Rule(
        name="missing-recipe-fence",
        summary="modified recipe used without recipe fences",
        help="put acme.publish after the last acme.put, and acme.consult of the line before acme.shuffle",
        checker=RaceChecker,
    ),
)


@dataclass(slots=True, kw_only=True)
class Shuffles(AsyncIssue):
    """Outstanding permutations: byte offsets of the destination, source and recipe lines in the vaults."""

    d: NDArray[np.int64]
    a: NDArray[np.int64]
    r: NDArray[np.int64]

    def move(self) -> None:
        """Write the words of each source line to its destination line, permuted by its recipe."""
        arena = self.wave.memory(VAULT).arena
        words, recipes = (np.stack(arena.gather(at, WORD, 16), axis=1) for at in (self.a, self.r))
        moved = np.take_along_axis(words, recipes.astype(np.int64) % 16, axis=1)
        arena.scatter(self.d, list(moved.T))
        arena.mark(self.d, LINE)


def _shuffle(operands: Operands) -> Action:
    lines = [operands.source(name, "u32") for name in ("d", "a", "r")]

    def shuffle(turn: ExecutionContext) -> None:
        found = lines_at(turn, lines)
        if found is None:
            return
        warps, lanes = turn.threads
        d, a, r = found
        numbers = turn.join(BLENDS)
        item = Shuffles(
            wave=turn.wave, pc=turn.pc, warps=warps, lanes=lanes, group=BLENDS, numbers=numbers, d=d, a=a, r=r
        )
        each = np.arange(len(warps))
        touches = (
            AsyncAccess(VAULT.name, writes=False, offsets=a, size=LINE, owners=each),
            AsyncAccess(VAULT.name, writes=False, offsets=r, size=LINE, owners=each, proxy=RECIPES),
            AsyncAccess(VAULT.name, writes=True, offsets=d, size=LINE, owners=each),
        )
        turn.issue(item, touches, proxy=BLENDER)

    return operands.action(shuffle)


def _publish(operands: Operands) -> Action:
    return operands.action(lambda turn: turn.release_to(RECIPES))


def _consult(operands: Operands) -> Action:
    line = operands.source("r", "u32")

    def consult(turn: ExecutionContext) -> None:
        located = turn.located(VAULT, turn.read(line), LINE)
        if located is not None:
            some, offsets = located
            some.acquire_through(RECIPES, VAULT, offsets, LINE)

    return operands.action(consult)


STEPS = (
    InstructionSemantics(opcode="acme.shuffle", effect="issue", compile=_shuffle, track=lambda _opcode: "the blender"),
    InstructionSemantics(opcode="acme.publish", effect="order", compile=_publish),
    InstructionSemantics(opcode="acme.consult", effect="order", compile=_consult),
)
