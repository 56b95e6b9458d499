"""`ptx.tcgen05.commit`, fences and waits: completion and ordering of asynchronous tensor memory operations.

Manual: "TensorCore 5th Generation Async Synchronization Operations", "… Specialized Synchronization Operations",
"tcgen05.wait", "Memory Consistency Model for 5th generation of TensorCore operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.kernel_rules import kernel_of
from pyptx_arch_blackwell.ptx.operands import cta_group_word
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u16, u32

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["commit", "fence_after_thread_sync", "fence_before_thread_sync", "wait_ld", "wait_st"]

_COMMIT = InstructionForms("ptx.tcgen05.commit", "tcgen05.commit")
_SPACES = {"cluster": "shared::cluster", "shared::cluster": "shared::cluster", "generic": None, None: None}
_MASK_BITS = 16


@emits("tcgen05.commit", multicast_mask="mask", reads_of_a="sync_restrict_shared_read_mma_a")
def commit(
    mbar: object,
    *,
    cta_group: int | str = 1,
    multicast: bool | str | None = None,
    multicast_mask: object | None = None,
    space: str | None = "cluster",
    reads_of_a: bool = False,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.commit.cta_group::N.mbarrier::arrive::one{.shared::cluster}{.multicast}.b64 [mbar]{, mask};`.

    Performs one arrive at `mbar` when all MMAs, copies and shifts that the thread issued with the same `cta_group` have
    completed. The arrive orders these operations before later operations of waiting threads, without
    `fence_before_thread_sync`. The thread that issued the operations must commit. `mbar` is an mbarrier of
    `smem.mbarrier`, or the shared address of an mbarrier; with `space="generic"`, the generic address.

    `multicast_mask` is a u16 register, or a number that one `mov.u16` moves to a register. The mbarriers at the same
    offset of all CTAs of the cluster whose bits are set are signaled. With `multicast="cluster::32b"`, the mask has
    32 bits (PTX 9.4). `reads_of_a` waits only until operands A have been read (PTX 9.4).
    """
    what = "ptx.tcgen05.commit"
    if space not in _SPACES:
        help = 'leave space= out for an mbarrier of this CTA or cluster; pass space="generic" for a generic address'
        raise OperandError(f"{what}: space={space!r}", help=help)
    if multicast and multicast_mask is None:
        raise OperandError(
            f"{what}: multicast={multicast!r} needs multicast_mask=", help="pass one bit per CTA: multicast_mask=0b11"
        )
    word = None if multicast_mask is None else multicast if isinstance(multicast, str) else "cluster"
    words = _COMMIT.words(
        cta_group=cta_group_word(what, cta_group),
        multicast=word,
        space=_SPACES[space],
        sync_restrict_shared_read_mma_a=reads_of_a,
    )
    mask = () if multicast_mask is None else (_mask(what, multicast_mask, word),)
    active(what).emit(words, (as_address(mbar), *mask), pred)


def _mask(what: str, value: object, word: str | None) -> object:
    """Return the CTA mask, a number moved to a register; raise OperandError for invalid bits.

    ptxas accepts an immediate mask since 13.5; in exact code, a number stays an immediate.
    """
    number = as_integer(value)
    bits = 2 * _MASK_BITS if word == "cluster::32b" else _MASK_BITS
    if number is not None and not 0 < number < 1 << bits:
        raise OperandError(
            f"{what}: invalid multicast_mask {value!r}", help=f"pass one bit for each of up to {bits} CTAs"
        )
    trace = kernel_of(what)
    if number is None or trace is None:
        return value
    dtype = u16 if bits == _MASK_BITS else u32
    held = trace.fresh(dtype)
    trace.emit(("mov", dtype.name), (held, number))
    return held


@emits("tcgen05.wait::ld")
def wait_ld(*, pred: Reg | None = None) -> None:
    """Emit `tcgen05.wait::ld.sync.aligned;`: a whole warp waits until its loads are complete."""
    active("ptx.tcgen05.wait_ld").emit(("tcgen05", "wait::ld", "sync", "aligned"), (), pred)


@emits("tcgen05.wait::st")
def wait_st(*, pred: Reg | None = None) -> None:
    """Emit `tcgen05.wait::st.sync.aligned;`: a whole warp waits until its stores are complete."""
    active("ptx.tcgen05.wait_st").emit(("tcgen05", "wait::st", "sync", "aligned"), (), pred)


@emits("tcgen05.fence::before_thread_sync")
def fence_before_thread_sync(*, pred: Reg | None = None) -> None:
    """Emit `tcgen05.fence::before_thread_sync;`: order the thread's earlier tcgen05 operations before later accesses.

    Required before a barrier or an arrive that orders these operations before operations of other threads.
    """
    active("ptx.tcgen05.fence_before_thread_sync").emit(("tcgen05", "fence::before_thread_sync"), (), pred)


@emits("tcgen05.fence::after_thread_sync")
def fence_after_thread_sync(*, pred: Reg | None = None) -> None:
    """Emit `tcgen05.fence::after_thread_sync;`: order the thread's later tcgen05 operations after a synchronization.

    Required after a barrier or a wait that orders operations of other threads before operations of this thread.
    """
    active("ptx.tcgen05.fence_after_thread_sync").emit(("tcgen05", "fence::after_thread_sync"), (), pred)
