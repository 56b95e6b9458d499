"""`ptx.st_async` and `ptx.red_async`: stores and reductions to distributed shared memory, counted by an mbarrier.

Manual: "st.async", "red.async" (sm_90).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.registers.register import RegArray
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["red_async", "st_async"]

_LENGTHS = (2, 4)
_STORE = InstructionForms("ptx.st_async", "st.async")
_REDUCE = InstructionForms("ptx.red_async", "red.async")


@emits("st.async")
def st_async(
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    mbar: object | None = None,
    weak: bool = False,
    sem: str | None = None,
    scope: str | None = None,
    mmio: bool = False,
    space: str | None = "shared::cluster",
    pred: Reg | None = None,
) -> None:
    """Emit `st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [addr], src, [mbar];`.

    `src` is a register or number, or a list of two or four registers. `addr` and `mbar` are addresses in the shared
    memory of one CTA of the cluster, from `ptx.cluster.map_shared_u32`; with `space="generic"`, from `map_shared_u64`.
    The mbarrier counts the stored bytes. Types: 32-bit; 64-bit, scalar or `.v2`; b128 (PTX 9.2).

    Without `mbar`, emit `st.async{.mmio}.release.scope{.global}.type [addr], src;` to global memory, with
    `sem="release"`, `scope` gpu or sys, and `space` global or generic (PTX 8.7, sm_100).
    """
    items = list[object](src.regs()) if isinstance(src, RegArray) else as_items(src)
    if items is not None and len(items) not in _LENGTHS:
        raise OperandError(f"st.async stores 1, 2 or 4 registers, got {len(items)}")
    words = _STORE.words(
        dtype,
        sem="weak" if weak else sem,
        scope=scope,
        mmio=mmio,
        space=space,
        mbarrier_complete_tx_bytes=mbar is not None,
        vec=None if items is None else f"v{len(items)}",
    )
    barrier = () if mbar is None else (as_address(mbar),)
    active("ptx.st_async").emit(words, (as_address(addr), src if items is None else items, *barrier), pred)


@emits("red.async")
def red_async(
    op: str,
    dtype: PtxType,
    addr: object,
    src: object,
    *,
    mbar: object | None = None,
    sem: str | None = None,
    scope: str | None = None,
    mmio: bool = False,
    space: str | None = "shared::cluster",
    pred: Reg | None = None,
) -> None:
    """Emit `red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [addr], src, [mbar];`.

    `op` is `inc`, `dec` (u32), `min`, `max` (u32, s32), `and`, `or`, `xor` (b32) or `add` (u32, s32, u64). `space` may
    be `generic`. Without `mbar`, emit `red.async{.mmio}.release.scope{.global}.add.type [addr], src;`, like `st_async`.
    """
    words = _REDUCE.words(
        dtype,
        op=op,
        sem="relaxed" if mbar is not None else sem,
        scope="cluster" if mbar is not None else scope,
        mmio=mmio,
        space=space,
        mbarrier_complete_tx_bytes=mbar is not None,
    )
    barrier = () if mbar is None else (as_address(mbar),)
    active("ptx.red_async").emit(words, (as_address(addr), src, *barrier), pred)
