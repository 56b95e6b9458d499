"""Operands of barriers and clusters. Manual: "mbarrier.arrive", "mapa", "getctarank"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import ADDRESS_SPACE, Kind, Mismatch, Use
from pyptx_ir.isa.kinds.scalars import type_mismatch

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape


def _mismatch_sink(_argument: str, _shape: Shape, _use: Use) -> Mismatch | None:
    """Reject every operand except the sink `_`, which is accepted before this check."""
    return Mismatch("the sink, `_`: this form returns no state")


def _mismatch_shared_location(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a shared memory location: a register, a literal, or a shared variable without brackets."""
    if shape[0] in ("symbol", "element"):
        return None if shape[1] in ("", ".shared") else Mismatch("a variable in .shared memory", ADDRESS_SPACE)
    return type_mismatch(argument, shape, use)


KINDS = (
    Kind("sink", "only the sink symbol `_`", _mismatch_sink, lambda _argument, _use, _index: ("_",)),
    Kind(
        "shared_location",
        "a register or literal of type {}, or a variable in shared memory",
        _mismatch_shared_location,
        lambda argument, use, index: (f"%{use.word(argument)}_{index}", "smem"),
    ),
)
