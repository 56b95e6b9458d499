"""The pipeline of tcgen05: products, copies and shifts, which are performed in the order of their issue.

Manual: "Pipelined tcgen05 Instructions", "tcgen05.commit". Work that one pipeline performs need not wait for earlier
work of it; everybody else has to wait at an mbarrier that a commit names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_blackwell.sim.pairs import Pairing
from pyptx_arch_blackwell.sim.tensor_memory import TensorMemory
from pyptx_arch_blackwell.sim.thread_order import ThreadOrder
from pyptx_sim.extension import AsyncItem, GroupKind, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.extension import Action, IntArray, Mask, Operands, Turn

__all__ = ["PIPELINES", "STEPS", "Piped", "blocks_of", "first_blocks", "pipeline_of"]

PIPELINES: Final = tuple(
    GroupKind(
        name=f"tcgen05 of {blocks}",
        operations=f"tensor-core operations of {blocks} (tcgen05)",
        unfinished="unfinished-tensor-work",
        tells="lanes",
        pipelined=True,
        wait="tcgen05.commit behind it, to an mbarrier, and a wait for its phase",
    )
    for blocks in ("one block", "a pair")
)
"""That of operations of one block, and that of operations of a pair; a commit is of one of them."""


def blocks_of(operands: Operands) -> int:
    """Return how many blocks an instruction works on: 2 with `.cta_group::2`."""
    return 2 if "cta_group::2" in operands.opcode else 1


def first_blocks(turn: Turn, count: int) -> IntArray:
    """Return the block of each thread, or the first one of its pair if `count` is 2."""
    blocks: IntArray = turn.wave.geometry.cta[turn.threads[0]]
    return blocks // count * count


def pipeline_of(operands: Operands) -> GroupKind:
    """Return the pipeline that an instruction's work goes into."""
    return PIPELINES[blocks_of(operands) - 1]


@dataclass(slots=True, kw_only=True)
class Piped(AsyncItem):
    """Work of a pipeline: number i in the memories of the block (or of the pair that begins with it) `blocks[i]`."""

    blocks: IntArray

    @property
    def tensor(self) -> TensorMemory:
        """The tensor memory."""
        return self.wave.part(TensorMemory)

    def move(self) -> None:
        """Perform it, behind all that the same blocks have in front."""
        items = [item for item in (*self.take_earlier(self._in_front), self) if isinstance(item, Piped)]
        while items:
            count = next((i for i in range(1, len(items)) if not items[i - 1].goes_on_in(items[i])), len(items))
            items[0].perform(items[1:count])
            del items[:count]

    def perform(self, further: Sequence[Piped]) -> None:
        """Do it, and `further` ones in which it goes on."""
        raise NotImplementedError

    def _in_front(self, item: object) -> Mask | None:
        if not isinstance(item, Piped) or not len(item):
            return None
        return np.isin(item.blocks // 2, self.blocks // 2)


def compile_commit(operands: Operands) -> Action:
    """Let an arrival at mbarriers follow all that the thread has put into the pipeline."""
    kind, blocks, barrier = pipeline_of(operands), blocks_of(operands), operands.barrier("mbar")
    wide = "multicast::cluster::32b" in operands.opcode
    peers = operands.source("mask", "u32" if wide else "u16") if "mask" in operands.names else None

    def commit(turn: Turn) -> None:
        turn.part(Pairing).holds(turn, blocks)
        if turn.observed:
            turn.part(ThreadOrder).commit(*turn.threads)
        turn.arrive_behind(kind, barrier, peers)

    return operands.action(commit)


STEPS: Final = (Step(opcode="tcgen05.commit", effect="issue", compile=compile_commit, signals=True),)
