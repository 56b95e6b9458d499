"""Pipelines of tcgen05.mma, cp and shift: the operations of a pipeline are performed in issue order.

Manual: "Pipelined tcgen05 Instructions", "tcgen05.commit". Operations of one pipeline need not wait for earlier
operations of this pipeline; all other operations must wait on an mbarrier that a tcgen05.commit signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_blackwell.sim.pairs import Pairing
from pyptx_arch_blackwell.sim.tensor_memory import TensorMemoryWords
from pyptx_arch_blackwell.sim.thread_order import ThreadOrder
from pyptx_sim.extension import AsyncIssue, GroupKind, InstructionSemantics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.extension import Action, ExecutionContext, IntArray, Mask, Operands

__all__ = ["PIPELINES", "STEPS", "Piped", "blocks_of", "first_blocks", "pipeline_of"]

PIPELINES: Final = tuple(
    GroupKind(
        name=f"tcgen05 .cta_group::{blocks}",
        operations="tcgen05 ops",
        unfinished="unfinished-tcgen05",
        tells="lanes",
        pipelined=True,
        wait="tcgen05.commit to an mbarrier, then wait for its phase",
    )
    for blocks in (1, 2)
)
"""Kinds of pipelines: operations of one CTA, and of a CTA pair; a tcgen05.commit applies to one kind."""


def blocks_of(operands: Operands) -> int:
    """Return the number of CTAs that an instruction spans: 2 with `.cta_group::2`, else 1."""
    return 2 if "cta_group::2" in operands.opcode else 1


def first_blocks(turn: ExecutionContext, count: int) -> IntArray:
    """Return the CTA of each thread or, if `count` is 2, the first CTA of its pair."""
    blocks: IntArray = turn.wave.geometry.cta[turn.threads[0]]
    return blocks // count * count


def pipeline_of(operands: Operands) -> GroupKind:
    """Return the kind of pipeline into which an instruction is issued."""
    return PIPELINES[blocks_of(operands) - 1]


@dataclass(slots=True, kw_only=True)
class Piped(AsyncIssue):
    """Operations of a pipeline: operation i accesses memory of CTA `blocks[i]`, or of the pair that starts with it."""

    blocks: IntArray

    @property
    def tensor(self) -> TensorMemoryWords:
        """Tensor memory of all simulated CTAs."""
        return self.wave.part(TensorMemoryWords)

    def move(self) -> None:
        """Perform the tcgen05 operations, after all earlier operations of the same CTAs."""
        items = [item for item in (*self.take_earlier(self._in_front), self) if isinstance(item, Piped)]
        while items:
            count = next((i for i in range(1, len(items)) if not items[i - 1].goes_on_in(items[i])), len(items))
            items[0].perform(items[1:count])
            del items[:count]

    def perform(self, further: Sequence[Piped]) -> None:
        """Perform this operation and the `further` operations that continue it, as MMAs into one accumulator do."""
        raise NotImplementedError

    def _in_front(self, item: object) -> Mask | None:
        if not isinstance(item, Piped) or not len(item):
            return None
        return np.isin(item.blocks // 2, self.blocks // 2)


def compile_commit(operands: Operands) -> Action:
    """Execute tcgen05.commit: arrive on mbarriers after all operations that the thread issued into the pipeline."""
    kind, blocks, barrier = pipeline_of(operands), blocks_of(operands), operands.barrier("mbar")
    wide = "multicast::cluster::32b" in operands.opcode
    peers = operands.source("mask", "u32" if wide else "u16") if "mask" in operands.names else None

    def commit(turn: ExecutionContext) -> None:
        turn.part(Pairing).holds(turn, blocks)
        if turn.observed:
            turn.part(ThreadOrder).commit(*turn.threads)
        turn.arrive_on_completion(kind, barrier, peers)

    return operands.action(commit)


STEPS: Final = (
    InstructionSemantics(opcode="tcgen05.commit", effect="issue", compile=compile_commit, signals_mbarrier=True),
)
