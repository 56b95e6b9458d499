"""The blender: an engine that multiplies matrices of 4 x 4 words in the vault asynchronously.

It accesses the vault through its own proxy: `acme.fence` makes earlier writes visible to it. A thread waits for its
operations with `acme.wait`, or has completion signaled to an mbarrier with `acme.commit`. Operands are read by rows.
With `.columns`, the result is written by columns, in a layout that only warps may read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acme_arch.sim.vault import LINE, VAULT, WORD
from pyptx_sim.extension import (
    AccessLayout,
    AsyncAccess,
    AsyncIssue,
    GroupKind,
    InstructionSemantics,
    Proxy,
    Rule,
)
from pyptx_sim.rules import RaceChecker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.extension import Action, ExecutionContext, Operands, Reader

BLENDS = GroupKind(name="blend", operations="blends", unfinished="unfinished-blend")
BLENDER = Proxy(name="blender", unfenced="missing-acme-fence")
LAYOUTS = {
    word: AccessLayout(name=name, mismatch="blend-order", user="the blender")
    for word, name in (("", "rows"), ("columns", "columns"))
}

RULES = (
    Rule(
        name="missing-acme-fence",
        summary="missing acme.fence between a write of a warp to the vault and the blender",
        help="put acme.fence after the last acme.put",
        checker=RaceChecker,
    ),
    Rule(
        name="unfinished-blend",
        summary="thread exits with outstanding blends",
        help="acme.wait, or acme.commit to an mbarrier and a wait for its phase, before exit",
        severity="warning",
    ),
    Rule(
        name="blend-order",
        summary="line read in another layout than it was written",
        help="omit .columns if a later blend reads the result",
        checker=RaceChecker,
    ),
)


@dataclass(slots=True, kw_only=True)
class Products(AsyncIssue):
    """Outstanding multiplications: offsets of the lines of d, a and b in the vaults, in bytes."""

    d: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    columns: bool

    def move(self) -> None:
        """Execute the outstanding multiplications, and write the results to the vaults."""
        arena = self.wave.memory(VAULT).arena
        left, right = (np.stack(arena.gather(at, WORD, 16), axis=1).reshape(-1, 4, 4) for at in (self.a, self.b))
        product = left @ right
        lines = product.swapaxes(1, 2) if self.columns else product
        arena.scatter(self.d, list(lines.reshape(-1, 16).T))
        arena.mark(self.d, LINE)


def _blend(operands: Operands) -> Action:
    lines, order = [operands.source(name, "u32") for name in ("d", "a", "b")], operands.word("order")
    layouts = (LAYOUTS[order], LAYOUTS[""], LAYOUTS[""])

    def blend(turn: ExecutionContext) -> None:
        found = lines_at(turn, lines)
        if found is None:
            return
        warps, lanes = turn.threads
        d, a, b = found
        item = Products(
            wave=turn.wave,
            pc=turn.pc,
            warps=warps,
            lanes=lanes,
            group=BLENDS,
            numbers=turn.join(BLENDS),
            d=d,
            a=a,
            b=b,
            columns=order == "columns",
        )
        each = np.arange(len(warps))
        touches = [
            AsyncAccess(VAULT.name, writes=at is d, offsets=at, size=LINE, owners=each, layout=layout)
            for at, layout in zip(found, layouts, strict=True)
        ]
        turn.issue(item, touches, proxy=BLENDER)

    return operands.action(blend)


def lines_at(turn: ExecutionContext, lines: list[Reader]) -> list[NDArray[np.int64]] | None:
    """Return, per thread, vault offsets of the line to write (first) and of the lines to read; None if invalid."""
    found: list[NDArray[np.int64]] = []
    for line in lines:
        located = turn.located(VAULT, turn.read(line), LINE)
        if located is None or len(located[1]) < len(turn.threads[0]):
            return None  # `turn.located` has reported the invalid address
        found.append(located[1])
    for at in found[1:]:
        turn.need(VAULT, at, LINE)
    return found


def _commit(operands: Operands) -> Action:
    barrier = operands.barrier("bar")
    return operands.action(lambda turn: turn.arrive_on_completion(BLENDS, barrier))


STEPS = (
    InstructionSemantics(opcode="acme.blend", effect="issue", compile=_blend, track=lambda _opcode: "the blender"),
    InstructionSemantics(
        opcode="acme.commit",
        effect="issue",
        compile=_commit,
        signals_mbarrier=True,
        track=lambda _opcode: "the blender",
    ),
    InstructionSemantics(
        opcode="acme.wait", effect="order", compile=lambda operands: operands.action(lambda turn: turn.wait(BLENDS))
    ),
    InstructionSemantics(
        opcode="acme.fence",
        effect="order",
        compile=lambda operands: operands.action(lambda turn: turn.proxy_fence(BLENDER, VAULT)),
    ),
)
