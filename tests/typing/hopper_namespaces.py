"""Types of the namespaces of Hopper's plugin. Never run: `nox -s types` checks it.

`assert_type` fails if a type changes; a `# type: ignore[code]` fails if mypy no longer reports that error.
"""

from __future__ import annotations

from typing import assert_type

from pyptx import ptx, reg, smem
from pyptx.types import bf16, f32, u32
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.shared_memory.allocations import SharedAlloc
from pyptx_dsl.shared_memory.tiles import SharedTile


def tiles() -> None:
    """Attributes and methods of a tile are typed."""
    tile = SharedTile(bf16, (128, 64), swizzle="128B", stages=4)
    assert_type(smem.tile(tile), SharedAlloc)
    assert_type(tile.tma_box, tuple[int, int])
    assert_type(tile.offset(k=16), int)


def products(a: SharedAlloc, descriptor: Reg) -> None:
    """`wgmma.mma_async` takes tiles, descriptors and registers."""
    acc = reg.array(f32, 64)
    assert_type(ptx.wgmma.descriptor(a, k=16), Reg)
    ptx.wgmma.mma_async(shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=acc, a=a, b=descriptor)
    ptx.wgmma.mma_async(shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=acc, a=acc, b=descriptor)
    ptx.wgmma.mma_async(shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=acc, a="x", b=a)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  a string is not a matrix
    ptx.wgmma.fences()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo


def copies(a: SharedAlloc, bar: Reg) -> None:
    """Namespaces of the core package have the names that Hopper's plugin adds, and no others."""
    ptx.cp.async_.bulk.tensor_2d(dst=a, src="map", coord=(0, 0), mbar=bar)
    ptx.cp.async_.bulk.tensor_2d.store(dst="map", src=a, coord=(0, 0))
    ptx.cp.async_.bulk.tensor.tile_3d(a, "map", (0, 0, 0), mbar=bar)
    ptx.cp.reduce.async_.bulk.store("add", f32, bar, a, 64)
    ptx.tma.load_3d(a, "map", 0, 64, bar)
    ptx.tensormap.replace("global_dim", bar, 64, ordinal=0)
    assert_type(ptx.tensormap.cp_fenceproxy(bar, a), None)
    ptx.tensormap.replaces("rank", bar, 1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.fence.proxy_async_shared_cta()
    ptx.fence.proxy_asink()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.cp.async_.bulky  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018  a typo


def control() -> None:
    """Types of the functions for warp and cluster control."""
    assert_type(ptx.elect_sync(), Reg)
    assert_type(ptx.cluster.rank(0), Reg)
    assert_type(ptx.cluster.map_shared_u32(reg.scalar(u32), 1), Reg)
    assert_type(ptx.setmaxnreg(240), None)
    assert_type(ptx.griddepcontrol.wait(), None)
