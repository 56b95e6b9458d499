"""`ptx.st_async` and `ptx.red_async`: stores and reductions into another block's shared memory, counted by an mbarrier.

Manual: "st.async", "red.async" (sm_90).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.registers.register import RegArray
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["red_async", "st_async"]

_COMPLETION = "mbarrier::complete_tx::bytes"
_VECTORS = {2: ("v2",), 4: ("v4",)}
_OPERATIONS = ("inc", "dec", "min", "max", "and", "or", "xor", "add")


def st_async(
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    mbar: object,
    weak: bool = False,
    space: str = "shared::cluster",
    pred: Reg | None = None,
) -> None:
    """Emit `st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [addr], src, [mbar];`.

    `src` is a register or number, or a list of two or four registers. `addr` and `mbar` lie in the shared memory of one
    block of the cluster (`ptx.cluster.map_shared_u32`; with `space="generic"` `…_u64`); the barrier gets the bytes.
    Types of 32 bits, of 64 alone and by twos, and b128 (PTX 9.2).
    """
    items = list[object](src.regs()) if isinstance(src, RegArray) else as_items(src)
    if items is not None and len(items) not in _VECTORS:
        raise OperandError(f"st.async stores one, two or four registers, not {len(items)}")
    words = ("st", "async", *(("weak",) if weak else ()), *_space(space), _COMPLETION)
    vector = () if items is None else _VECTORS[len(items)]
    operands = (as_address(addr), src if items is None else items, as_address(mbar))
    active("ptx.st_async").emit((*words, *vector, ptx_type(dtype, "ptx.st_async").name), operands, pred)


def red_async(
    op: str,
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    mbar: object,
    space: str = "shared::cluster",
    pred: Reg | None = None,
) -> None:
    """Emit `red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [addr], src, [mbar];`.

    `op` is `inc`, `dec` (u32), `min`, `max` (u32, s32), `and`, `or`, `xor` (b32) or `add` (u32, s32, u64). `space` may
    be `generic`.
    """
    words = ("red", "async", "relaxed", "cluster", *_space(space), _COMPLETION, choice("op", op, _OPERATIONS))
    operands = (as_address(addr), src, as_address(mbar))
    active("ptx.red_async").emit((*words, ptx_type(dtype, "ptx.red_async").name), operands, pred)


def _space(space: str) -> tuple[str, ...]:
    return () if choice("space", space, ("shared::cluster", "generic")) == "generic" else (space,)
