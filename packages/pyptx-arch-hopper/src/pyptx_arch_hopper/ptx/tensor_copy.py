"""`ptx.cp.async_.bulk.tensor…`: copies of boxes between tensors in global memory and shared memory (TMA).

Manual: "Data Movement and Conversion Instructions: Tensor copy": cp.async.bulk.tensor, cp.reduce.async.bulk.tensor,
cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_arch_hopper.ptx.orders import present
from pyptx_dsl.contract.tensors import TensorSpec
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.emission import emits
from pyptx_dsl.instructions.spelling import Instruction
from pyptx_dsl.registers.operands import as_integer, lower
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["BoxCopy", "Coordinates", "TensorMapAddress", "TensorReductions", "load_box", "prefetch_box", "store_box"]

Coordinates: TypeAlias = Sequence[object]
"""Where a box begins, innermost dimension first: numbers or 32-bit registers."""
TensorMapAddress: TypeAlias = Reg | TensorSpec | str
"""A tensor map: the tensor, a register with its generic address (`X.tma_desc()`), or a symbol."""

Elsewhere: TypeAlias = Reg | Sequence[object]
"""Where a tensor lies in place of where its map says; in a tuple, also its sizes, or its sizes and strides."""

_WITH_SIZES = 2
_ROWS_OF_GATHER = 5  # one column and four rows


def load_box(
    what: str,
    rank: int,
    dst: object,
    src: TensorMapAddress,
    coord: Coordinates,
    mbar: object,
    *,
    mode: str | None = None,
    offsets: Coordinates = (),
    space: str = "shared::cluster",
    multicast_mask: object | None = None,
    multicast: str | None = "cluster",
    cta_group: int | None = None,
    cache_hint: Reg | None = None,
    report: str | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.tensor` from global to shared memory."""
    words = _words(
        what,
        "cp.async.bulk.tensor",
        rank,
        space=space,
        source_space="global",
        mode=mode,
        report=report,
        multicast=None if multicast_mask is None else multicast,
        group=_group(what, cta_group),
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    if mbar is None:
        raise OperandError(f"{what} needs the mbarrier that counts its bytes", hint="pass mbar=")
    trace = active(what)
    box = _box(trace, what, rank, src, coord, mode, address)
    operands = (as_address(dst), box, as_address(mbar), *_offsets(what, rank, offsets, mode))
    trace.emit(words, (*operands, *present(multicast_mask, cache_hint)), pred)


def store_box(
    what: str,
    rank: int,
    dst: TensorMapAddress,
    src: object,
    coord: Coordinates,
    *,
    reduce: str | None = None,
    mode: str | None = None,
    cache_hint: Reg | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.tensor` from shared to global memory; with `reduce`, `cp.reduce.async.bulk.tensor`."""
    words = _words(
        what,
        "cp.async.bulk.tensor" if reduce is None else "cp.reduce.async.bulk.tensor",
        rank,
        space="global",
        source_space="shared::cta",
        op=reduce,
        mode=mode,
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    trace = active(what)
    box = _box(trace, what, rank, dst, coord, mode, address)
    trace.emit(words, (box, as_address(src), *present(cache_hint)), pred)


def prefetch_box(
    what: str,
    rank: int,
    src: TensorMapAddress,
    coord: Coordinates,
    *,
    head: str = "cp.async.bulk.prefetch.tensor",
    evict: str | None = None,
    space: str | None = None,
    mode: str | None = None,
    offsets: Coordinates = (),
    cache_hint: Reg | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.prefetch.tensor`: into the L2 cache; or another instruction on a box that stays there."""
    words = _words(
        what,
        head,
        rank,
        space=space,
        mode=mode,
        evict_l2=evict,
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    trace = active(what)
    box = _box(trace, what, rank, src, coord, mode, address)
    trace.emit(words, (box, *_offsets(what, rank, offsets, mode), *present(cache_hint)), pred)


def _words(what: str, head: str, rank: int, **modifiers: str | bool | None) -> tuple[str, ...]:
    """Return the words of a copy of boxes of a rank."""
    return _instruction(what, f"{head}.{rank}d").words(**modifiers)


_instruction = cache(Instruction)


def _between(elsewhere: Elsewhere | None) -> tuple[object, ...]:
    """Return what stands between the map and the coordinates."""
    return () if elsewhere is None else (elsewhere,) if isinstance(elsewhere, Reg) else tuple(elsewhere)


def _overridden(elsewhere: Elsewhere | None) -> dict[str, bool]:
    """Return the flags of what replaces fields of the map: an address; with it sizes; with these strides."""
    count = len(_between(elsewhere))
    return {
        "override_global_address": count > 0,
        "override_global_dim": count == _WITH_SIZES,
        "override_global_dim_stride": count > _WITH_SIZES,
    }


def _group(what: str, cta_group: object | None) -> str | None:
    """Return how many blocks the barriers of a copy are of."""
    if cta_group is not None and as_integer(cta_group) not in {1, 2}:
        raise OperandError(f"{what}: cta_group={cta_group!r}: 1 or 2")
    return None if cta_group is None else str(as_integer(cta_group))


def _box(
    trace: Trace,
    what: str,
    rank: int,
    tensor: TensorMapAddress,
    coord: Coordinates,
    mode: str | None,
    elsewhere: Elsewhere | None,
) -> tree.TensorAddress:
    """Return `[map{, address}, {c0, c1, …}]`; raise OperandError unless each dimension has one coordinate."""
    count = _ROWS_OF_GATHER if mode in {"tile::gather4", "tile::scatter4"} else rank
    given = [coord] if isinstance(coord, Reg) else list(coord)
    if len(given) != count:
        rows = " (one column, four rows)" if count != rank else ""
        raise OperandError(
            f"{what} takes {count} coordinates{rows}, not {len(given)}", hint="innermost first: coord=(column, row)"
        )
    address = tensor.tma_desc() if isinstance(tensor, TensorSpec) else tensor
    if isinstance(address, Reg) and address.dtype.bits != u64.bits:
        raise RegisterTypeError(
            f"{what}: {address.raw_name} is a {address.dtype} register, and no tensor map",
            hint="pass the tensor, or its tma_desc()",
        )
    parts = [lower(each, trace) for each in (address, *_between(elsewhere))]
    return tree.TensorAddress((*parts, tree.Vector(tuple([lower(each, trace) for each in given]))))


def _offsets(what: str, rank: int, offsets: Coordinates, mode: str | None) -> tuple[list[object], ...]:
    """Return the operand with the offsets of an im2col copy; none of another."""
    if mode is None or not mode.startswith("im2col"):
        if offsets:
            raise OperandError(f"{what}: offsets={offsets!r} belong to im2col copies", hint='pass mode="im2col"')
        return ()
    count = rank - 2 if mode == "im2col" else 2
    if len(offsets) != count:
        raise OperandError(f"{what}: {mode} of {rank} dimensions takes {count} offsets, not {len(offsets)}")
    return (list(offsets),)


class BoxCopy:
    """`ptx.cp.async_.bulk.tensor_2d` and the other ranks: a load when called, and what else goes with that rank."""

    def __init__(self, rank: int) -> None:
        """Name the rank."""
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

        One thread copies the box at `coord` (innermost dimension first) of the tensor behind the map `src` to shared
        memory at `dst`, aligned to 128 bytes; elements outside the tensor become zero, and `mbar` gets the bytes of the
        whole box. `multicast_mask` (16 bits, register or number) copies to the same place in each block of the cluster
        whose bit is set. `cache_hint` is a policy of `ptx.createpolicy`. `space="shared::cta"` needs PTX 8.6.

        `mode` is `tile` (the default), or `im2col` with `offsets` (one for each dimension but the first and last);
        from sm_100a also `tile::gather4` (2D; column and four rows), `im2col::w`, `im2col::w::128`, and `cta_group=2`.
        From sm_107f `report` says what the mbarrier is told of invalid elements, and `address` is where the tensor lies
        in place of where its map says; `(address, [sizes…])` replaces the size of a 1D tensor, too, and
        `(address, [sizes…], [strides…], high)` sizes and strides of others, in the operands' order of the manual.
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
        """Emit the load with `.shared::cta` and `.tile` (PTX 8.6): it cannot leave the block's own memory."""
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

        One thread writes the box at `src` into the tensor; what lies outside of it is not written. Order generic writes
        before by `ptx.fence.proxy_async_shared_cta()`, and wait by `commit_group` and `wait_group`. `mode` is `tile`,
        `im2col_no_offs`, or from sm_100a `tile::scatter4`. `address` is that of the load.
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
        """Emit `cp.async.bulk.prefetch.tensor.Nd.L2.global{.mode}… [src, {coord}];`: bring the box into L2.

        `evict="evict_last"` keeps it there (PTX 9.4, sm_107f); `address` is that of the load.
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
    """`ptx.cp.reduce.async_.bulk.tensor_2d` and the other ranks."""

    def __init__(self, rank: int) -> None:
        """Name the rank."""
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
