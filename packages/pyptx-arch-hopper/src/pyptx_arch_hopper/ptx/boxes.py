"""`ptx.cp.async_.bulk.tensor_1d` to `tensor_5d`: copies of TMA boxes.

Manual: "Data Movement and Conversion Instructions: Tensor copy": cp.async.bulk.tensor, cp.reduce.async.bulk.tensor,
cp.async.bulk.prefetch.tensor, applypriority.async.bulk.tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.tensor_copy import load_box, prefetch_box, store_box
from pyptx_dsl.instructions.forms.emission import emits

if TYPE_CHECKING:
    from pyptx_arch_hopper.ptx.tensor_copy import Coordinates, Elsewhere, TensorMapAddress
    from pyptx_dsl.registers.register import Reg

__all__ = ["BoxCopy", "TensorReductions"]


class BoxCopy:
    """`ptx.cp.async_.bulk.tensor_1d` to `tensor_5d`: a call emits a load of a box, methods emit other box copies."""

    def __init__(self, rank: int) -> None:
        """Create the namespace for boxes with `rank` dimensions."""
        self.rank = rank
        self._what = f"ptx.cp.async_.bulk.tensor_{rank}d"

    def __repr__(self) -> str:
        return self._what

    @emits(
        "cp.async.bulk.tensor.{self.rank}d",
        src="box.map",
        coord="box.coordinates",
        address="box.address",
        offsets="info",
        multicast_mask="cta_mask cta_mask_32",
        cta_group="group",
        cache_hint="cache_policy",
    )
    def __call__(
        self,
        *,
        dst: object,
        src: TensorMapAddress,
        coord: Coordinates,
        mbar: object,
        mode: str | None = None,
        offsets: Coordinates = (),
        space: str = "shared::cluster",
        cta_group: int | None = None,
        multicast_mask: object | None = None,
        multicast: str | None = "cluster",
        cache_hint: Reg | None = None,
        report: str | None = None,
        address: Elsewhere | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit a load of a box, `cp.async.bulk.tensor.Nd.shared::cluster.global… [dst], [src, {coord}], [mbar]…;`.

        One thread copies the box at `coord` (innermost dimension first) of the tensor with the tensor map `src` to
        shared memory at `dst`, aligned to 128 bytes. Elements outside the tensor become zero, and `mbar` counts the
        bytes of the whole box. `multicast_mask` (16 bits, register or number) copies to the same offset in each CTA of
        the cluster whose bit is set. `cache_hint` is a policy of `ptx.createpolicy`. `space="shared::cta"` needs PTX
        8.6.

        `mode` is `tile` (the default), or `im2col` with `offsets` (one for each dimension except the first and last);
        from sm_100a also `tile::gather4` (2D; column and four rows), `im2col::w`, `im2col::w::128`, and `cta_group=2`.

        From sm_107f, `report` selects how invalid elements are reported to the mbarrier, and `address` replaces the
        tensor's address in the map. `(address, [sizes…])` also replaces the size of a 1D tensor, and `(address,
        [sizes…], [strides…], high)` sizes and strides of other ranks, in the manual's operand order.
        """
        load_box(
            self._what,
            self.rank,
            dst,
            src,
            coord,
            mbar,
            mode=mode,
            offsets=offsets,
            space=space,
            multicast_mask=multicast_mask,
            multicast=multicast,
            cta_group=cta_group,
            cache_hint=cache_hint,
            report=report,
            address=address,
            pred=pred,
        )

    def shared_cta_global_tile(
        self,
        *,
        dst: object,
        src: TensorMapAddress,
        coord: Coordinates,
        mbar: object,
        cta_group: int | None = None,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit the load with `.shared::cta` and `.tile` (PTX 8.6): to the CTA's own shared memory only."""
        load_box(
            f"{self._what}.shared_cta_global_tile",
            self.rank,
            dst,
            src,
            coord,
            mbar,
            mode="tile",
            space="shared::cta",
            cta_group=cta_group,
            cache_hint=cache_hint,
            pred=pred,
        )

    @emits(
        "cp.async.bulk.tensor.{self.rank}d",
        dst="box.map",
        coord="box.coordinates",
        address="box.address",
        cache_hint="cache_policy",
    )
    def store(
        self,
        *,
        dst: TensorMapAddress,
        src: object,
        coord: Coordinates,
        mode: str | None = None,
        cache_hint: Reg | None = None,
        address: Elsewhere | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.Nd.global.shared::cta{.mode}.bulk_group… [dst, {coord}], [src];`.

        One thread writes the box at `src` to the tensor; elements outside the tensor are not written. Order earlier
        generic writes with `ptx.fence.proxy_async_shared_cta()`, and wait with `commit_group` and `wait_group`. `mode`
        is `tile`, `im2col_no_offs`, or from sm_100a `tile::scatter4`. `address` is as in the load.
        """
        what = f"{self._what}.store"
        store_box(what, self.rank, dst, src, coord, mode=mode, cache_hint=cache_hint, address=address, pred=pred)

    @emits(
        "cp.reduce.async.bulk.tensor.{self.rank}d",
        dst="box.map",
        coord="box.coordinates",
        address="box.address",
        cache_hint="cache_policy",
    )
    def reduce(
        self,
        op: str,
        *,
        dst: TensorMapAddress,
        src: object,
        coord: Coordinates,
        mode: str | None = None,
        cache_hint: Reg | None = None,
        address: Elsewhere | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.op{.mode}.bulk_group… [dst, {coord}], [src];`.

        `op` is `add`, `min`, `max`, `inc`, `dec`, `and`, `or` or `xor`, on elements of the tensor map's type.
        """
        store_box(
            f"{self._what}.reduce",
            self.rank,
            dst,
            src,
            coord,
            reduce=op,
            mode=mode,
            cache_hint=cache_hint,
            address=address,
            pred=pred,
        )

    @emits(
        "cp.async.bulk.prefetch.tensor.{self.rank}d",
        src="box.map",
        coord="box.coordinates",
        address="box.address",
        offsets="info",
        cache_hint="cache_policy",
        evict="evict_l2",
    )
    def prefetch(
        self,
        *,
        src: TensorMapAddress,
        coord: Coordinates,
        mode: str | None = None,
        offsets: Coordinates = (),
        cache_hint: Reg | None = None,
        evict: str | None = None,
        address: Elsewhere | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.prefetch.tensor.Nd.L2.global{.mode}… [src, {coord}];`: prefetch the box into L2.

        `evict="evict_last"` sets the eviction priority (PTX 9.4, sm_107f); `address` is as in the load.
        """
        prefetch_box(
            f"{self._what}.prefetch",
            self.rank,
            src,
            coord,
            mode=mode,
            offsets=offsets,
            cache_hint=cache_hint,
            evict=evict,
            address=address,
            pred=pred,
        )

    @emits(
        "applypriority.async.bulk.tensor.{self.rank}d",
        src="box.map",
        coord="box.coordinates",
        address="box.address",
        offsets="info",
    )
    def apply_priority(
        self,
        *,
        src: TensorMapAddress,
        coord: Coordinates,
        mode: str | None = None,
        offsets: Coordinates = (),
        space: str | None = "global",
        address: Elsewhere | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `applypriority.async.bulk.tensor.Nd{.global}{.mode}.bulk_group.L2::evict_normal [src, {coord}];`.

        PTX 9.4, sm_107f. The arguments are those of `prefetch`.
        """
        prefetch_box(
            f"{self._what}.apply_priority",
            self.rank,
            src,
            coord,
            head="applypriority.async.bulk.tensor",
            space=space,
            mode=mode,
            offsets=offsets,
            address=address,
            pred=pred,
        )


class TensorReductions:
    """`ptx.cp.reduce.async_.bulk.tensor_1d` to `tensor_5d`: reductions of boxes into tensors."""

    def __init__(self, rank: int) -> None:
        """Create the reduction for boxes with `rank` dimensions."""
        self._copy = BoxCopy(rank)

    def __call__(
        self,
        op: str,
        *,
        dst: TensorMapAddress,
        src: object,
        coord: Coordinates,
        mode: str | None = None,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.reduce.async.bulk.tensor.Nd…`; see `ptx.cp.async_.bulk.tensor_2d.reduce`."""
        self._copy.reduce(op, dst=dst, src=src, coord=coord, mode=mode, cache_hint=cache_hint, pred=pred)
