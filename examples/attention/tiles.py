"""Tiles of attention: how rows of one head come into shared memory and leave it, by TMA.

Arrays are dense, [batch, sequence, heads, head_dim]. TMA sees all four dimensions, so a tile of rows of one head is a
box, and rows beyond the sequence are zero when they come and left out when they go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import Tile, ptx, reg, smem
from pyptx.types import bf16, u32

if TYPE_CHECKING:
    from examples.attention.problem import Place

    from pyptx import TensorSpec
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef, SharedAlloc, SharedSlice, SharedTile

GROUP = 128  # threads of a warpgroup
WARPS = GROUP // 32


def group_of_thread() -> Reg:
    """Return the number of this thread's warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) >> 7


def thread_of_group() -> Reg:
    """Return the number of this thread in its warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) & (GROUP - 1)


class Ring:
    """The stages of a tile with their barriers: `full` counts the bytes that come, `empty` the warps that have read."""

    def __init__(self, layout: SharedTile, readers: int) -> None:
        """Allocate; `readers` warps arrive at `empty`."""
        self.layout, self.readers = layout, readers
        self.tiles = smem.tile(layout)
        self.full, self.empty = smem.mbarrier(layout.stages), smem.mbarrier(layout.stages)

    def init(self) -> None:
        """Emit the initialisation of the barriers, for one thread."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, 1)
            ptx.mbarrier.init(empty, self.readers)


def heads_tile(layout: SharedTile, sequence: str, heads: str) -> Tile:
    """Return the Tile of [B, sequence, heads, head_dim] whose boxes are the panels of `layout`, rows of one head."""
    rows, columns = layout.tma_box
    shape = ("B", sequence, heads, layout.panels * columns)
    return Tile(*shape, bf16, layout=layout.tma_layout, tma_box=(1, rows, 1, columns))


def boxes(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, place: Place) -> list[tuple[SharedSlice, tuple]]:
    """Return for each panel of a stage its address and its coordinates, innermost first."""
    panels = [(panel,) for panel in range(layout.panels)] if layout.panels > 1 else [()]
    stages = (stage,) if layout.stages > 1 else ()
    return [
        (tiles[*stages, *panel], (number * layout.panel_columns, place.head, place.row, place.batch))
        for number, panel in enumerate(panels)
    ]


def fetch_maps(*tensors: TensorSpec) -> None:
    """Fetch tensor maps, for one thread: the first copies need not wait for them, as they would in a short kernel."""
    for tensor in tensors:
        ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))


def load(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: Place, full: MbarrierRef) -> None:
    """Start the copies of a stage from the rows of `place`; `full` has been told how many bytes come."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d(dst=address, src=tensor, coord=at, mbar=full)


def store(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: Place) -> None:
    """Start the copies of a stage to the rows of `place` as a group."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d.store(dst=tensor, src=address, coord=at)
    ptx.cp.async_.bulk.commit_group()
