"""`ptx.tma`: box copies of a matrix that its tensor map divides into slabs of 64 columns, with 128-byte rows.

Box coordinates are `{0, row, column / 64}`: dimension 0 is the column inside a slab, 1 the row, 2 the slab. A `Tile`
with `tma_rank=3` has a tensor map with these dimensions. One copy transfers several slabs, each swizzled separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.clusters import cluster
from pyptx_arch_hopper.ptx.tensor_copy import load_box, store_box
from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u32

if TYPE_CHECKING:
    from pyptx_arch_hopper.ptx.tensor_copy import Coordinates, TensorMapAddress

__all__ = ["Tma", "tma"]

_SLAB_COLUMNS = 64
_SLAB_SHIFT = 6


class Tma:
    """Copies between a matrix of 16-bit elements and shared memory.

    Each call emits one instruction, after one `shr` that divides `col` by 64 if `col` is a register. `coords` are the
    three coordinates, instead of `row` and `col`.
    """

    def load_3d(
        self,
        dst: object,
        src: TensorMapAddress,
        row: object = None,
        col: object = None,
        mbar: object = None,
        coords: Coordinates | None = None,
        *,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [src, {…}], [mbar];`.

        Rows and columns outside the matrix become zero; `mbar` counts the bytes of the whole box.
        """  # noqa: E501  the instruction is as long
        where = _coordinates("ptx.tma.load_3d", row, col, coords)
        load_box("ptx.tma.load_3d", 3, dst, src, where, mbar, mode="tile", cache_hint=cache_hint, pred=pred)

    def load_3d_multicast(
        self,
        dst: object,
        src: TensorMapAddress,
        row: object = None,
        col: object = None,
        mbar: object = None,
        mask: object = None,
        coords: Coordinates | None = None,
        *,
        issuer: int | Reg | None = None,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit the load with `.multicast::cluster`: to the same offset in each CTA whose bit of `mask` is set.

        `issuer` is the rank of the issuing CTA (two more instructions, see `ptx.cluster.rank`), or a predicate.
        """
        what = "ptx.tma.load_3d_multicast"
        if mask is None:
            raise OperandError(f"{what} needs mask=, one bit for each CTA of the cluster")
        if issuer is not None and pred is not None:
            raise OperandError(f"{what}: issuer= and pred= are mutually exclusive")
        where = _coordinates(what, row, col, coords)
        rank = None if issuer is None or isinstance(issuer, Reg) else as_integer(issuer)
        guard = pred if issuer is None else issuer if isinstance(issuer, Reg) else cluster.rank(rank)
        load_box(what, 3, dst, src, where, mbar, mode="tile", multicast_mask=mask, cache_hint=cache_hint, pred=guard)

    def store_3d(
        self,
        dst: TensorMapAddress,
        src: object,
        row: object = None,
        col: object = None,
        coords: Coordinates | None = None,
        *,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [dst, {…}], [src];`."""
        where = _coordinates("ptx.tma.store_3d", row, col, coords)
        store_box("ptx.tma.store_3d", 3, dst, src, where, mode="tile", cache_hint=cache_hint, pred=pred)


def _coordinates(what: str, row: object, col: object, coords: Coordinates | None) -> Coordinates:
    """Return the three coordinates of a box: `coords` if given, else `(0, row, col / 64)`."""
    if coords is not None:
        if row is not None or col is not None:
            raise OperandError(f"{what}: row and col, and coords, are mutually exclusive")
        return coords
    if row is None or col is None:
        raise OperandError(f"{what} needs row and col", help="pass both, or coords=(0, row, slab)")
    if isinstance(col, Reg):
        trace = active(what)
        slab = trace.fresh(u32)
        trace.emit(("shr", "u32"), (slab, col, _SLAB_SHIFT))
        return (0, row, slab)
    column = as_integer(col)
    if column is None or column % _SLAB_COLUMNS:
        raise OperandError(f"{what}: col must be a multiple of {_SLAB_COLUMNS} (a slab), got {col!r}")
    return (0, row, column // _SLAB_COLUMNS)


tma = Tma()
