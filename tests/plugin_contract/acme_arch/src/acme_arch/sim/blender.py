"""The blender: an engine that multiplies matrices of 4 x 4 words in the vault, in its own time.

It reaches the vault through a proxy of its own: `acme.fence` shows it what was put there. What a thread has issued is
waited for by `acme.wait`, or told to an mbarrier by `acme.commit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acme_arch.sim.vault import LINE, VAULT
from pyptx_sim.extension import AsyncItem, GroupKind, Proxy, Rule, Step, Touch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.extension import Action, Operands, Turn

BLENDS = GroupKind(name="blend", operations="products of the blender", unfinished="unfinished-blend")
BLENDER = Proxy(name="blender", unfenced="missing-acme-fence")

RULES = (
    Rule(
        name="missing-acme-fence",
        summary="the blender uses what a warp has put into the vault, and no acme.fence stands between",
        hint="put acme.fence behind the last acme.put",
    ),
    Rule(
        name="unfinished-blend",
        summary="a thread ends before it has waited for its products",
        hint="acme.wait, or an acme.commit and a wait at its mbarrier",
        severity="warning",
    ),
)


@dataclass(slots=True, kw_only=True)
class Products(AsyncItem):
    """Products that are on their way: where the lines of d, a and b begin in the vaults, in bytes."""

    d: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]

    def move(self) -> None:
        """Multiply."""
        arena = self.wave.memory(VAULT).arena
        words = arena.data.view(np.uint32)
        for d, a, b in zip(self.d // 4, self.a // 4, self.b // 4, strict=True):
            left, right = (words[at : at + 16].reshape(4, 4) for at in (a, b))
            words[d : d + 16] = (left @ right).reshape(-1)
        arena.mark(self.d, LINE)


def _blend(operands: Operands) -> Action:
    lines = [operands.source(name, "u32") for name in ("d", "a", "b")]

    def blend(turn: Turn) -> None:
        found: list[NDArray[np.int64]] = []
        for line in lines:
            located = turn.located(VAULT, turn.read(line), LINE)
            if located is None or len(located[1]) < len(turn.threads[0]):
                return  # what was at fault is reported
            found.append(located[1])
        warps, lanes = turn.threads
        d, a, b = found
        for at in (a, b):
            turn.need(VAULT, at, LINE)
        numbers = turn.join(BLENDS)
        item = Products(
            wave=turn.wave, pc=turn.pc, warps=warps, lanes=lanes, group=BLENDS, numbers=numbers, d=d, a=a, b=b
        )
        each = np.arange(len(warps))
        touches = [Touch(VAULT.name, writes=False, offsets=at, size=LINE, owners=each) for at in (a, b)]
        turn.issue(item, [*touches, Touch(VAULT.name, writes=True, offsets=d, size=LINE, owners=each)], proxy=BLENDER)

    return operands.action(blend)


def _commit(operands: Operands) -> Action:
    barrier = operands.barrier("bar")
    return operands.action(lambda turn: turn.arrive_behind(BLENDS, barrier))


STEPS = (
    Step(opcode="acme.blend", effect="issue", compile=_blend, track=lambda _opcode: "the blender"),
    Step(opcode="acme.commit", effect="issue", compile=_commit, signals=True, track=lambda _opcode: "the blender"),
    Step(opcode="acme.wait", effect="order", compile=lambda operands: operands.action(lambda turn: turn.wait(BLENDS))),
    Step(
        opcode="acme.fence",
        effect="order",
        compile=lambda operands: operands.action(lambda turn: turn.show(BLENDER, VAULT)),
    ),
)
