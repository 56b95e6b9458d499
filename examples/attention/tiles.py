"""TMA copies of attention tiles: rows of one head between global and shared memory.

Arrays are dense, [batch, sequence, heads, head_dim]. A tensor map has all four dimensions, so rows of one head are a
TMA box. Rows past the end of the sequence are loaded as zeros and are not stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx import Tile, ptx, reg, smem
from pyptx.types import bf16, u32

if TYPE_CHECKING:
    from examples.attention.problem import TilePosition

    from pyptx import TensorSpec
    from pyptx.reg import Reg
    from pyptx.smem import MbarrierRef, SharedAlloc, SharedSlice, SharedTile

GROUP = 128  # number of threads of a warpgroup
WARPS = GROUP // 32


def group_of_thread() -> Reg:
    """Return the index of this thread's warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) >> 7


def thread_of_group() -> Reg:
    """Return the index of this thread in its warpgroup."""
    return reg.from_(ptx.special.tid.x(), u32) & (GROUP - 1)


class Ring:
    """Stages of a tile and their mbarriers: `full` counts bytes of TMA loads, `empty` warps that have read a stage."""

    def __init__(self, layout: SharedTile, readers: int) -> None:
        """Allocate stages and mbarriers; `empty` expects an arrival of each of `readers` warps."""
        self.layout, self.readers = layout, readers
        self.tiles = smem.tile(layout)
        self.full, self.empty = smem.mbarrier(layout.stages), smem.mbarrier(layout.stages)

    def init(self) -> None:
        """Emit mbarrier.init for all stages, in one thread."""
        for full, empty in zip(self.full, self.empty, strict=True):
            ptx.mbarrier.init(full, 1)
            ptx.mbarrier.init(empty, self.readers)


def heads_tile(layout: SharedTile, sequence: str, heads: str) -> Tile:
    """Return the Tile of [B, sequence, heads, head_dim] whose TMA boxes are those of `layout`: rows of one head."""
    rows, columns = layout.tma_box
    shape = ("B", sequence, heads, layout.boxes * columns)
    return Tile(*shape, bf16, layout=layout.tma_layout, tma_box=(1, rows, 1, columns))


def boxes(
    layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, place: TilePosition
) -> list[tuple[SharedSlice, tuple]]:
    """Return the shared address and the coordinates, innermost first, of each TMA box of a stage."""
    panels = [(panel,) for panel in range(layout.boxes)] if layout.boxes > 1 else [()]
    stages = (stage,) if layout.stages > 1 else ()
    return [
        (tiles[*stages, *panel], (number * layout.box_columns, place.head, place.row, place.batch))
        for number, panel in enumerate(panels)
    ]


def fetch_maps(*tensors: TensorSpec) -> None:
    """Prefetch tensor maps, in one thread: in a short kernel the first TMA copies would otherwise wait for the maps."""
    for tensor in tensors:
        ptx.inst.prefetch.tensormap(ptx.addr(tensor.tma_desc()))


def load(
    layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: TilePosition, full: MbarrierRef
) -> None:
    """Start the TMA loads of a stage from the rows at `place`; expect-tx for their bytes on `full` is already done."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d(dst=address, src=tensor, coord=at, mbar=full)


def store(layout: SharedTile, tiles: SharedAlloc, stage: Reg | int, tensor, place: TilePosition) -> None:
    """Start the TMA stores of a stage to the rows at `place`, as one bulk group."""
    for address, at in boxes(layout, tiles, stage, place):
        ptx.cp.async_.bulk.tensor_4d.store(dst=tensor, src=address, coord=at)
    ptx.cp.async_.bulk.commit_group()
