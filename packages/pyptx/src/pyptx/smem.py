"""Shared memory: allocations that know their layout, and barriers."""

from pyptx_dsl.smem import (
    MbarrierArray,
    MbarrierRef,
    SharedAddress,
    SharedAlloc,
    SharedSlice,
    alloc,
    alloc_with_layout,
    apply_swizzle,
    base,
    load,
    mbarrier,
    store,
)

__all__ = [
    "MbarrierArray",
    "MbarrierRef",
    "SharedAddress",
    "SharedAlloc",
    "SharedSlice",
    "alloc",
    "alloc_with_layout",
    "apply_swizzle",
    "base",
    "load",
    "mbarrier",
    "store",
]
