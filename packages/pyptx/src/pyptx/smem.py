"""Shared memory: allocations that know their layout, and barriers."""

from pyptx_dsl.smem import (
    MbarrierArray,
    MbarrierRef,
    SharedAddress,
    SharedAlloc,
    SharedSlice,
    SharedTile,
    alloc,
    alloc_with_layout,
    apply_swizzle,
    base,
    load,
    mbarrier,
    store,
    tile,
    wgmma_tile,
)

__all__ = [
    "MbarrierArray",
    "MbarrierRef",
    "SharedAddress",
    "SharedAlloc",
    "SharedSlice",
    "SharedTile",
    "alloc",
    "alloc_with_layout",
    "apply_swizzle",
    "base",
    "load",
    "mbarrier",
    "store",
    "tile",
    "wgmma_tile",
]
