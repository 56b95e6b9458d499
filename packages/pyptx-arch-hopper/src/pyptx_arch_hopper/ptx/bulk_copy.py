"""`ptx.cp.async_.bulk` and `ptx.cp.reduce`: bulk copies by one thread, and their groups (sm_90).

Manual: "Data Movement and Conversion Instructions: Bulk copy": cp.async.bulk, cp.reduce.async.bulk,
cp.async.bulk.prefetch, cp.async.bulk.commit_group, cp.async.bulk.wait_group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.boxes import BoxCopy, TensorReductions
from pyptx_arch_hopper.ptx.operands import copied_bytes, present
from pyptx_arch_hopper.ptx.tensor_modes import TensorCopies
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["BulkCopy", "BulkReductions", "Reduce", "ReduceAsync", "bulk", "reduce"]

_PARENT = "ptx.cp.async_.bulk"
_LOAD = InstructionForms(f"{_PARENT}.load", "cp.async.bulk")
_STORE = InstructionForms(f"{_PARENT}.store", "cp.async.bulk")
_SEND = InstructionForms(f"{_PARENT}.send", "cp.async.bulk")
_PREFETCH = InstructionForms(f"{_PARENT}.prefetch", "cp.async.bulk.prefetch.L2.global")
_PRIORITY = InstructionForms(f"{_PARENT}.apply_priority", "applypriority.async.bulk")
_WAIT = InstructionForms(f"{_PARENT}.wait_group", "cp.async.bulk.wait_group")
_REDUCE = InstructionForms("ptx.cp.reduce.async_.bulk.store", "cp.reduce.async.bulk")
_REDUCE_NEAR = InstructionForms("ptx.cp.reduce.async_.bulk.send", "cp.reduce.async.bulk")


class BulkCopy:
    """Bulk copies of a multiple of 16 bytes between 16-byte-aligned addresses; each call emits one instruction.

    One thread issues a copy. Copies to shared memory complete on an mbarrier, copies to global memory in bulk groups:
    `commit_group` commits a group, and `wait_group` waits for groups. Addresses are `ptx.addr(…)`, registers, or shared
    allocations and their slices.
    """

    tensor = TensorCopies()
    tensor_1d = BoxCopy(1)
    tensor_2d = BoxCopy(2)
    tensor_3d = BoxCopy(3)
    tensor_4d = BoxCopy(4)
    tensor_5d = BoxCopy(5)

    @emits(
        "cp.async.bulk",
        multicast_mask="cta_mask cta_mask_32",
        cache_hint="cache_policy",
        ignore="ignore_left,ignore_right",
    )
    def load(
        self,
        dst: object,
        src: object,
        size: object,
        *,
        mbar: object,
        space: str = "shared::cluster",
        multicast_mask: object | None = None,
        multicast: str | None = "cluster",
        cache_hint: Reg | None = None,
        ignore: tuple[object, object] | None = None,
        report: str | None = None,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes… [dst], [src], size, [mbar]…;`.

        Copy global to shared memory. With `multicast_mask`, copy to each CTA of the cluster whose bit is set;
        `multicast` is the modifier: `cluster`, `cluster::16b`, or `cluster::32b` for a mask of 32 bits (PTX 9.4).
        `space="shared::cta"` needs PTX 8.6. `ignore=(left, right)` are numbers of bytes, up to 15 at each end, that may
        be out of bounds and arrive undefined (`.ignore_oob`, PTX 9.2, `shared::cta` only). `sem` is `weak`, or
        `relaxed` with `scope` (PTX 9.3, sm_90a). `report` selects how invalid bytes are reported to the mbarrier
        (sm_107f).
        """
        words = _LOAD.words(
            space=space,
            source_space="global",
            mbarrier_complete_tx_bytes=True,
            sem=sem,
            scope=scope,
            report=report,
            multicast=None if multicast_mask is None else multicast,
            cache_hint=cache_hint is not None,
            ignore_oob=ignore is not None,
        )
        operands = (as_address(dst), as_address(src), copied_bytes(size), *(ignore or ()), as_address(mbar))
        active(repr(_LOAD)).emit(words, (*operands, *present(multicast_mask, cache_hint)), pred)

    @emits("cp.async.bulk", cache_hint="cache_policy")
    def store(
        self,
        dst: object,
        src: object,
        size: object,
        *,
        byte_mask: object | None = None,
        cache_hint: Reg | None = None,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.global.shared::cta.bulk_group… [dst], [src], size…;`.

        With `byte_mask` (16 bits; from sm_100), only the bytes of each 16-byte chunk whose bit is set are written.
        `sem` is `weak`, or `relaxed` with `scope` (PTX 9.3, sm_90a).
        """
        words = _STORE.words(
            space="global",
            source_space="shared::cta",
            bulk_group=True,
            sem=sem,
            scope=scope,
            cache_hint=cache_hint is not None,
            cp_mask=byte_mask is not None,
        )
        operands = (as_address(dst), as_address(src), copied_bytes(size), *present(cache_hint, byte_mask))
        active(repr(_STORE)).emit(words, operands, pred)

    @emits("cp.async.bulk")
    def send(
        self,
        dst: object,
        src: object,
        size: object,
        *,
        mbar: object,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], size, [mbar];`.

        Copy to another CTA of the cluster: `dst` and `mbar` are addresses of `ptx.cluster.map_shared_u32`. `sem` is
        `weak`, or `relaxed` with `scope` `cta` or `cluster` (PTX 9.3, sm_90a).
        """
        words = _SEND.words(space="shared::cluster", source_space="shared::cta", sem=sem, scope=scope)
        operands = (as_address(dst), as_address(src), copied_bytes(size), as_address(mbar))
        active(repr(_SEND)).emit(words, operands, pred)

    @emits(cache_hint="cache_policy", evict="evict_l2")
    def prefetch(
        self,
        src: object,
        size: object,
        *,
        cache_hint: Reg | None = None,
        evict: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.prefetch.L2.global… [src], size…;`: prefetch global memory into L2.

        `evict="evict_last"` sets the eviction priority (PTX 9.4, sm_107f).
        """
        words = _PREFETCH.words(cache_hint=cache_hint is not None, evict_l2=evict)
        active(repr(_PREFETCH)).emit(words, (as_address(src), copied_bytes(size), *present(cache_hint)), pred)

    @emits("applypriority.async.bulk")
    def apply_priority(
        self, addr: object, size: object, *, space: str | None = "global", pred: Reg | None = None
    ) -> None:
        """Emit `applypriority.async.bulk{.global}.bulk_group.L2::evict_normal [addr], size;` (PTX 9.4, sm_107f)."""
        words = _PRIORITY.words(space=space)
        active(repr(_PRIORITY)).emit(words, (as_address(addr), copied_bytes(size)), pred)

    def commit_group(self, *, pred: Reg | None = None) -> None:
        """Emit `cp.async.bulk.commit_group;`: this thread's stores since the last commit form a group."""
        active("ptx.cp.async_.bulk.commit_group").emit(("cp", "async", "bulk", "commit_group"), (), pred)

    def wait_group(self, n: int, *, read: bool = False, restrict: str | None = None, pred: Reg | None = None) -> None:
        """Emit `cp.async.bulk.wait_group{.read} n;`: wait until at most `n` groups are outstanding.

        With `read`, wait until the groups' source reads are complete, so that the shared memory may be overwritten.
        With `restrict="proxy::async"` (PTX 9.5) the groups' writes are visible to the async proxy only.
        """
        groups = as_integer(n)
        if groups is None or groups < 0:
            raise OperandError(f"cp.async.bulk.wait_group needs a number of groups, got {n!r}")
        words = _WAIT.words(read=read, restrict=restrict)
        active(repr(_WAIT)).emit(words, (groups,), pred)


class BulkReductions:
    """`ptx.cp.reduce.async_.bulk`: element-wise reductions into memory; each call emits one instruction."""

    tensor_1d = TensorReductions(1)
    tensor_2d = TensorReductions(2)
    tensor_3d = TensorReductions(3)
    tensor_4d = TensorReductions(4)
    tensor_5d = TensorReductions(5)

    @emits("cp.reduce.async.bulk", cache_hint="cache_policy")
    def store(
        self,
        op: str,
        dtype: PtxType,
        dst: object,
        src: object,
        size: object,
        *,
        noftz: bool = False,
        cache_hint: Reg | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.reduce.async.bulk{.relaxed.scope}.global.shared::cta.bulk_group….op{.noftz}.type [dst], [src], size…;`.

        `op` is `and`, `or`, `xor` (b32, b64), `add` (u32, s32, u64, f32, f64, and with `noftz` f16, bf16), `min`, `max`
        (u32, s32, u64, s64, f16, bf16), `inc`, `dec` (u32). Completes in a bulk group. `scope` needs PTX 9.3, `noftz`
        on f32 9.4.
        """  # noqa: E501  the instruction is as long
        words = _REDUCE.words(
            dtype,
            op=op,
            noftz=noftz,
            space="global",
            source_space="shared::cta",
            sem=None if scope is None else "relaxed",
            scope=scope,
            cache_hint=cache_hint is not None,
        )
        operands = (as_address(dst), as_address(src), copied_bytes(size), *present(cache_hint))
        active(repr(_REDUCE)).emit(words, operands, pred)

    @emits("cp.reduce.async.bulk")
    def send(
        self,
        op: str,
        dtype: PtxType,
        dst: object,
        src: object,
        size: object,
        *,
        mbar: object,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [dst], [src], size, [mbar];`.

        Reduce into the shared memory of another CTA: `and`, `or`, `xor` (b32), `add` (u32, s32, u64), `min`, `max`
        (u32, s32), `inc`, `dec` (u32). `scope`, `cta` or `cluster`, emits `.relaxed.scope` (PTX 9.3).
        """  # noqa: E501  the instruction is as long
        words = _REDUCE_NEAR.words(
            dtype,
            op=op,
            space="shared::cluster",
            source_space="shared::cta",
            sem=None if scope is None else "relaxed",
            scope=scope,
        )
        operands = (as_address(dst), as_address(src), copied_bytes(size), as_address(mbar))
        active(repr(_REDUCE_NEAR)).emit(words, operands, pred)


class ReduceAsync:
    """Namespace `ptx.cp.reduce.async_`, with `bulk`."""

    bulk = BulkReductions()


class Reduce:
    """Namespace `ptx.cp.reduce`, with `async_`."""

    async_ = ReduceAsync()


bulk = BulkCopy()
reduce = Reduce()
