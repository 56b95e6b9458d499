"""`ptx.cp.async_.bulk` and `ptx.cp.reduce`: copies of many bytes by one thread, and their groups (sm_90).

Manual: "Data Movement and Conversion Instructions: Bulk copy": cp.async.bulk, cp.reduce.async.bulk,
cp.async.bulk.prefetch, cp.async.bulk.commit_group, cp.async.bulk.wait_group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.orders import NEAR, add_hint, copied_bytes, order, reported
from pyptx_arch_hopper.ptx.tensor_copy import BoxCopy, TensorReductions
from pyptx_arch_hopper.ptx.tensor_modes import TensorCopies
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["BulkCopy", "BulkReductions", "Reduce", "ReduceAsync", "bulk", "reduce"]

_COMPLETION = "mbarrier::complete_tx::bytes"
_OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_SPACES = ("shared::cluster", "shared::cta")


class BulkCopy:
    """Copies of a multiple of 16 bytes, between addresses that are multiples of 16; each call emits one instruction.

    One thread starts a copy. Loads and sends complete on an mbarrier, stores in groups: `commit_group` closes one, and
    `wait_group` waits. Addresses are `ptx.addr(…)`, registers, or shared allocations and their slices.
    """

    tensor = TensorCopies()
    tensor_1d = BoxCopy(1)
    tensor_2d = BoxCopy(2)
    tensor_3d = BoxCopy(3)
    tensor_4d = BoxCopy(4)
    tensor_5d = BoxCopy(5)

    def load(
        self,
        dst: object,
        src: object,
        size: object,
        *,
        mbar: object,
        space: str = "shared::cluster",
        multicast_mask: object | None = None,
        cache_hint: Reg | None = None,
        ignore: tuple[object, object] | None = None,
        report: str | None = None,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes… [dst], [src], size, [mbar]…;`.

        Global to shared memory, or with `multicast_mask` to that of each block of the cluster whose bit is set.
        `space="shared::cta"` needs PTX 8.6. `ignore=(left, right)` are numbers of bytes, up to 15 at each end, that
        need not exist, and arrive as anything (`.ignore_oob`, PTX 9.2, `shared::cta` alone). `sem` is `weak`, or
        `relaxed` with `scope` (PTX 9.3, sm_90a); `report` what the mbarrier is told of invalid bytes (sm_107f).
        """
        what = "ptx.cp.async_.bulk.load"
        ordering = order(what, sem, scope)
        words = ["cp", "async", "bulk", *ordering, choice("space", space, _SPACES), "global", _COMPLETION]
        words += reported(report)
        operands: list[object] = [
            as_address(dst),
            as_address(src),
            copied_bytes(size),
            *(ignore or ()),
            as_address(mbar),
        ]
        if multicast_mask is not None:
            words.append("multicast::cluster")
            operands.append(multicast_mask)
        add_hint(words, operands, cache_hint)
        words += [*(("ignore_oob",) if ignore else ()), *(("b128",) if scope else ())]
        active(what).emit(tuple(words), operands, pred)

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

        Of each 16 bytes, only those whose bit is set in `byte_mask` (16 bits; from sm_100) are written. `sem` is
        `weak`, or `relaxed` with `scope` (PTX 9.3, sm_90a).
        """
        what = "ptx.cp.async_.bulk.store"
        words = ["cp", "async", "bulk", *order(what, sem, scope), "global", "shared::cta", "bulk_group"]
        operands: list[object] = [as_address(dst), as_address(src), copied_bytes(size)]
        add_hint(words, operands, cache_hint)
        if byte_mask is not None:
            words.append("cp_mask")
            operands.append(byte_mask)
        words += ("b128",) if scope else ()
        active(what).emit(tuple(words), operands, pred)

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

        To another block of the cluster: `dst` and `mbar` are addresses of `ptx.cluster.map_shared_u32`. `sem` is
        `weak`, or `relaxed` with `scope` `cta` or `cluster` (PTX 9.3, sm_90a).
        """
        what = "ptx.cp.async_.bulk.send"
        words = ("cp", "async", "bulk", *order(what, sem, scope, NEAR), "shared::cluster", "shared::cta", _COMPLETION)
        operands = (as_address(dst), as_address(src), copied_bytes(size), as_address(mbar))
        active(what).emit((*words, *(("b128",) if scope else ())), operands, pred)

    def prefetch(self, src: object, size: object, *, cache_hint: Reg | None = None, pred: Reg | None = None) -> None:
        """Emit `cp.async.bulk.prefetch.L2.global… [src], size…;`: bring global memory into the L2 cache."""
        words = ["cp", "async", "bulk", "prefetch", "L2", "global"]
        operands: list[object] = [as_address(src), copied_bytes(size)]
        add_hint(words, operands, cache_hint)
        active("ptx.cp.async_.bulk.prefetch").emit(tuple(words), operands, pred)

    def commit_group(self, *, pred: Reg | None = None) -> None:
        """Emit `cp.async.bulk.commit_group;`: this thread's stores since the last one are a group."""
        active("ptx.cp.async_.bulk.commit_group").emit(("cp", "async", "bulk", "commit_group"), (), pred)

    def wait_group(self, n: int, *, read: bool = False, restrict: str | None = None, pred: Reg | None = None) -> None:
        """Emit `cp.async.bulk.wait_group{.read} n;`: wait until at most `n` groups are under way.

        With `read`, until they have read their sources, so that the shared memory may be written again. With
        `restrict="proxy::async"` (PTX 9.5) only asynchronous copies see what they wrote.
        """
        groups = as_integer(n)
        if groups is None or groups < 0:
            raise OperandError(f"cp.async.bulk.wait_group takes a number of groups, not {n!r}")
        if restrict is not None and read:
            raise OperandError("cp.async.bulk.wait_group waits for reads, or restricts who sees writes, not both")
        limits = () if restrict is None else (f"sync_restrict::{choice('restrict', restrict, ('proxy::async',))}",)
        words = ("cp", "async", "bulk", "wait_group", *(("read",) if read else ()), *limits)
        active("ptx.cp.async_.bulk.wait_group").emit(words, (groups,), pred)


class BulkReductions:
    """`ptx.cp.reduce.async_.bulk`: combine many elements with memory; each call emits one instruction."""

    tensor_1d = TensorReductions(1)
    tensor_2d = TensorReductions(2)
    tensor_3d = TensorReductions(3)
    tensor_4d = TensorReductions(4)
    tensor_5d = TensorReductions(5)

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
        what = "ptx.cp.reduce.async_.bulk.store"
        ordering = order(what, None if scope is None else "relaxed", scope)
        words = ["cp", "reduce", "async", "bulk", *ordering, "global", "shared::cta", "bulk_group"]
        operands: list[object] = [as_address(dst), as_address(src), copied_bytes(size)]
        add_hint(words, operands, cache_hint)
        words += [choice("op", op, _OPERATIONS), *(("noftz",) if noftz else ()), ptx_type(dtype, what).name]
        active(what).emit(tuple(words), operands, pred)

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

        Into the shared memory of another block: `and`, `or`, `xor` (b32), `add` (u32, s32, u64), `min`, `max` (u32,
        s32), `inc`, `dec` (u32). `scope`, `cta` or `cluster`, spells `.relaxed.scope` (PTX 9.3).
        """  # noqa: E501  the instruction is as long
        what = "ptx.cp.reduce.async_.bulk.send"
        ordering = order(what, None if scope is None else "relaxed", scope, NEAR)
        words = ("cp", "reduce", "async", "bulk", *ordering, "shared::cluster", "shared::cta", _COMPLETION)
        operands = (as_address(dst), as_address(src), copied_bytes(size), as_address(mbar))
        active(what).emit((*words, choice("op", op, _OPERATIONS), ptx_type(dtype, what).name), operands, pred)


class ReduceAsync:
    """`ptx.cp.reduce.async_`."""

    bulk = BulkReductions()


class Reduce:
    """`ptx.cp.reduce`."""

    async_ = ReduceAsync()


bulk = BulkCopy()
reduce = Reduce()
