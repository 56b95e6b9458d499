"""`tcgen05.fence`, between a thread's work in tensor memory and its synchronisation with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import Step

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, Operands

__all__ = ["STEPS"]


def _nothing(operands: Operands) -> Action:
    return operands.nothing()


STEPS: Final = tuple(
    Step(opcode=f"tcgen05.fence::{order}", effect="order", compile=_nothing)
    for order in ("before_thread_sync", "after_thread_sync")
)
