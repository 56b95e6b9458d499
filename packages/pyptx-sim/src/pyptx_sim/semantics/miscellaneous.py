"""`pmevent`, which has no effect in the simulator. Manual: "Miscellaneous Instructions" (9.7.19).

The chapter's other instructions are in `instructions/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.semantics.operations import operation

if TYPE_CHECKING:
    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation


def _nothing(*_sources: Array) -> tuple[Array, ...]:
    return ()


def _event(form: Bound) -> Operation:
    """Return an `Operation` without effect for pmevent, which triggers performance monitor events on a GPU."""
    return operation(form, _nothing, unread=("a",))


ROWS = (Semantics("pmevent", _event),)
