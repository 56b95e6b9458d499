"""`ptx.cp.async_.bulk.tensor`: box copies with mode and rank in their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.tensor_copy import load_box, store_box

if TYPE_CHECKING:
    from pyptx_arch_hopper.ptx.tensor_copy import Coordinates, TensorMapAddress
    from pyptx_dsl.registers.register import Reg

__all__ = ["Im2colCopy", "RowCopy", "TensorCopies", "TileCopy", "TileStore"]

_PARENT = "ptx.cp.async_.bulk.tensor"


class TileCopy:
    """`ptx.cp.async_.bulk.tensor.tile_1d` to `tile_5d`: loads of boxes in tile mode."""

    def __init__(self, name: str, rank: int, mode: str) -> None:
        """Store the function's name, the rank of its boxes, and the copy mode."""
        self._what, self._rank, self._mode = f"{_PARENT}.{name}", rank, mode

    def __call__(
        self,
        dst: object,
        src: TensorMapAddress,
        coord: Coordinates,
        *,
        mbar: object,
        multicast_mask: object | None = None,
        cta_group: int | None = None,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes…`.

        The arguments are those of `ptx.cp.async_.bulk.tensor_2d`.
        """
        load_box(
            self._what,
            self._rank,
            dst,
            src,
            coord,
            mbar,
            mode=self._mode,
            multicast_mask=multicast_mask,
            cta_group=cta_group,
            cache_hint=cache_hint,
            pred=pred,
        )


class RowCopy(TileCopy):
    """`ptx.cp.async_.bulk.tensor.gather4_2d`: four rows of a matrix, `coord=(column, row, row, row, row)` (sm_100a)."""


class Im2colCopy:
    """`ptx.cp.async_.bulk.tensor.im2col_3d` to `im2col_5d`: loads of boxes in im2col mode."""

    def __init__(self, name: str, rank: int) -> None:
        """Store the function's name and the rank of its boxes."""
        self._what, self._rank = f"{_PARENT}.{name}", rank

    def __call__(
        self,
        dst: object,
        src: TensorMapAddress,
        coord: Coordinates,
        offsets: Coordinates,
        *,
        mbar: object,
        multicast_mask: object | None = None,
        cta_group: int | None = None,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.Nd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes… , {offsets}…`.

        `offsets` are 16-bit numbers, one for each dimension except the first and the last. The other arguments are
        those of `ptx.cp.async_.bulk.tensor_3d`.
        """
        load_box(
            self._what,
            self._rank,
            dst,
            src,
            coord,
            mbar,
            mode="im2col",
            offsets=offsets,
            multicast_mask=multicast_mask,
            cta_group=cta_group,
            cache_hint=cache_hint,
            pred=pred,
        )


class TileStore:
    """`ptx.cp.async_.bulk.tensor.store_1d` to `store_5d`, and `scatter4_2d`: stores of boxes."""

    def __init__(self, name: str, rank: int, mode: str) -> None:
        """Store the function's name, the rank of its boxes, and the copy mode."""
        self._what, self._rank, self._mode = f"{_PARENT}.{name}", rank, mode

    def __call__(
        self,
        dst: TensorMapAddress,
        src: object,
        coord: Coordinates,
        *,
        cache_hint: Reg | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `cp.async.bulk.tensor.Nd.global.shared::cta.mode.bulk_group… [dst, {coord}], [src];`.

        `scatter4_2d` (from sm_100a) stores four rows of a matrix, `coord=(column, row, row, row, row)`.
        """
        store_box(self._what, self._rank, dst, src, coord, mode=self._mode, cache_hint=cache_hint, pred=pred)


class TensorCopies:
    """Functions of `ptx.cp.async_.bulk.tensor` by mode and rank; each call emits one instruction."""

    tile_1d = TileCopy("tile_1d", 1, "tile")
    tile_2d = TileCopy("tile_2d", 2, "tile")
    tile_3d = TileCopy("tile_3d", 3, "tile")
    tile_4d = TileCopy("tile_4d", 4, "tile")
    tile_5d = TileCopy("tile_5d", 5, "tile")
    im2col_3d = Im2colCopy("im2col_3d", 3)
    im2col_4d = Im2colCopy("im2col_4d", 4)
    im2col_5d = Im2colCopy("im2col_5d", 5)
    gather4_2d = RowCopy("gather4_2d", 2, "tile::gather4")
    scatter4_2d = TileStore("scatter4_2d", 2, "tile::scatter4")
    store_1d = TileStore("store_1d", 1, "tile")
    store_2d = TileStore("store_2d", 2, "tile")
    store_3d = TileStore("store_3d", 3, "tile")
    store_4d = TileStore("store_4d", 4, "tile")
    store_5d = TileStore("store_5d", 5, "tile")
