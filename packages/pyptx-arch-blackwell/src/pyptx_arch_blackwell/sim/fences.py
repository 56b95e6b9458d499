"""`tcgen05.fence`, between a thread's tcgen05 operations and its synchronization with other threads.

The simulator executes tcgen05 operations as if all fences were present. A checked run records missing fences, and
finds races where the synchronization itself orders nothing (`.relaxed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_blackwell.sim.moves import LOADS, STORES
from pyptx_arch_blackwell.sim.pipeline import PIPELINES
from pyptx_arch_blackwell.sim.thread_order import ThreadOrder
from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension import Action, ExecutionContext, Operands

__all__ = ["STEPS"]

_WORK: Final = (*PIPELINES, LOADS, STORES)


def _fence(order: str) -> Callable[[Operands], Action]:
    def fence(turn: ExecutionContext) -> None:
        if turn.observed:
            turn.part(ThreadOrder).fence(order, *turn.threads)
            turn.order_work(_WORK, before=order == "before")

    return lambda operands: operands.action(fence)


STEPS: Final = tuple(
    InstructionSemantics(opcode=f"tcgen05.fence::{order}_thread_sync", effect="order", compile=_fence(order))
    for order in ("before", "after")
)
