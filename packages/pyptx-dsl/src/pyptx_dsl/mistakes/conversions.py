"""Help texts for type conversion: the `ptx.cvt` call that converts a register between two types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = ["conversion"]


def conversion(wanted: PtxType, given: PtxType, source: str) -> str:
    """Return the call that converts register `source`: `ptx.cvt(f16, f32, d, v, rounding='rn')`."""
    rounding = ""
    if wanted.is_integer and given.is_float:
        rounding = ", rounding='rzi'"
    elif wanted.is_float and (given.is_integer or given.bits > wanted.bits):
        rounding = ", rounding='rn'"
    return f"convert: ptx.cvt({wanted}, {given}, d, {source}{rounding}), with d = reg.scalar({wanted})"
