"""Shared memory: allocations with a layout, and mbarriers.

    tile = smem.alloc(bf16, (STAGES, 64, 64), swizzle="128B")
    tile[stage]            # the address of one stage (no instruction for an int, two for a register)
    value = partials[w, 0] # a load; partials[w, 0] = value is a store
    value = line[i]        # a load too, of one dimension; line.address(i) is the address

An element access is one `ld.shared` or `st.shared` if every index is a number. Register indices add one `mov` (the
symbol's address) and one `mad.lo` per register; a swizzle adds three ALU instructions and one `add`. If the allocations
exceed 48 KiB in total, they move into one dynamic `.extern .shared` symbol at the end of the trace, at the same
offsets.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

from pyptx_dsl.errors import SharedMemoryError
from pyptx_dsl.registers.operands import as_count, as_integer, as_items
from pyptx_dsl.shared_memory.allocations import (
    OF_RANK,
    SharedAddress,
    SharedAlloc,
    SharedMatrix,
    SharedSlice,
    SharedStages,
    SharedVector,
    load,
    store,
)
from pyptx_dsl.shared_memory.barriers import BARRIER_BYTES, MbarrierArray, MbarrierRef
from pyptx_dsl.shared_memory.swizzle import find_swizzle
from pyptx_dsl.shared_memory.tiles import SharedTile, tiles_of
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import as_type, u32
from pyptx_ir.plugins.memories import find_memory
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.shared_memory.tiles import Major
    from pyptx_dsl.types import PtxType

__all__ = [
    "MbarrierArray",
    "MbarrierRef",
    "SharedAddress",
    "SharedAlloc",
    "SharedMatrix",
    "SharedSlice",
    "SharedStages",
    "SharedTile",
    "SharedVector",
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


@overload
def alloc(
    dtype: PtxType,
    shape: int | tuple[int],
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
) -> SharedVector: ...


@overload
def alloc(
    dtype: PtxType,
    shape: tuple[int, int],
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
) -> SharedMatrix: ...


@overload
def alloc(
    dtype: PtxType,
    shape: tuple[int, int, int],
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
) -> SharedStages: ...


@overload
def alloc(
    dtype: PtxType,
    shape: Sequence[int],
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
) -> SharedAlloc: ...


def alloc(
    dtype: PtxType,
    shape: Sequence[int] | int,
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
) -> SharedAlloc:
    """Allocate a shared memory array of `shape` elements; emit only its declaration.

    `swizzle` is `"32B"`, `"64B"` or `"128B"`. The default alignment is 128 bytes, or the period of the swizzle (256,
    512 or 1024 bytes) if larger. Raise SharedMemoryError for an invalid shape, and for more bytes than the target's
    shared memory has.
    """
    trace = active("smem.alloc")
    dimensions, dtype = _dimensions(shape), as_type(dtype)
    if dtype.memory is None:
        raise SharedMemoryError(
            f"{dtype} values cannot be in memory", help="allocate u8 or u32, and store 0 or 1 from ptx.selp"
        )
    pattern = find_swizzle(swizzle)
    alignment = _alignment(align, max(find_memory("shared").alignment, 0 if pattern is None else pattern.period))
    if pattern is not None and alignment % pattern.period:
        raise SharedMemoryError(
            f"align={alignment} is less than the {pattern.period} bytes after which a {swizzle} swizzle repeats",
            help="leave align= out",
        )
    size = -(-math.prod(dimensions) * dtype.bits // 8)
    region = trace.memories.shared.allocate(trace, size, alignment, name=name, stem="smem")
    return OF_RANK.get(len(dimensions), SharedAlloc)(region, dtype, dimensions, swizzle, trace)


def alloc_with_layout(
    dtype: PtxType,
    shape: Sequence[int] | int,
    swizzle: str | None = None,
    align: int | None = None,
    name: str | None = None,
    *,
    gmma_layout: object | None = None,
    gmma_major: str | None = None,
) -> SharedAlloc:
    """Allocate like `alloc`, with the matrix layout from which the operand's matrix descriptor is built."""
    result = alloc(dtype, shape, swizzle, align, name)
    result.gmma_layout = gmma_layout
    result.gmma_major = gmma_major
    return result


def tile(layout: SharedTile, align: int | None = None, name: str | None = None) -> SharedAlloc:
    """Allocate a shared tile; `tile(layout)[stage]` is the address of a stage if there are several.

    The dimensions are `layout.allocation_shape`: stages and TMA boxes if there are several, rows, columns of a box.
    Only the declaration is emitted.
    """
    shape = layout.allocation_shape
    alignment = layout.alignment if align is None else align
    if alignment % layout.alignment:
        raise SharedMemoryError(
            f"{layout!r} must start at a multiple of {layout.alignment} bytes, got align={alignment}",
            help=f"leave align= out\n{layout.picture()}",
        )
    allocated = alloc_with_layout(
        layout.dtype, shape, layout.swizzle, alignment, name, gmma_layout=layout, gmma_major=layout.major
    )
    tiles_of(active("smem.tile"))[allocated.name] = layout
    return allocated


def wgmma_tile(
    dtype: PtxType, shape: Sequence[int], major: Major | str = "K", *, align: int | None = None, name: str | None = None
) -> SharedAlloc:
    """Allocate an operand of a warpgroup MMA with the widest swizzle: `tile(SharedTile(dtype, shape, major=major))`."""
    word = major if isinstance(major, str) else major.name
    return tile(SharedTile(dtype, shape, major=word), align, name)


def mbarrier(count: int, name: str | None = None) -> MbarrierArray:
    """Allocate `count` uninitialized mbarrier objects in shared memory."""
    trace = active("smem.mbarrier")
    number = as_count(count)
    if number is None or number < 1:
        raise SharedMemoryError(f"cannot allocate {count!r} barriers")
    size = number * BARRIER_BYTES
    region = trace.memories.shared.allocate(trace, size, BARRIER_BYTES, name=name, stem="mbar")
    return MbarrierArray(region, number, trace)


def base(name: str | None = None) -> Reg:
    """Emit one `mov` of the address of the kernel's dynamic shared memory (`extern_smem=`), or of the symbol `name`."""
    trace = active("smem.base")
    symbol = name or trace.memories.shared.base_symbol
    if symbol is None and trace.has_symbol("smem"):
        symbol = "smem"
    if symbol is None:
        raise SharedMemoryError(
            f"kernel {trace.name!r} declares no dynamic shared memory",
            help="use @kernel(extern_smem=True, smem=<bytes>), or pass a symbol: smem.base('name')",
        )
    result = trace.fresh(u32)
    trace.emit(("mov", "u32"), (result, tree.Symbol(symbol)))
    return result


def apply_swizzle(logical_offset: object, swizzle: str) -> Reg:
    """Emit three instructions that swizzle a byte offset (a 32-bit register) in a shared memory tile."""
    trace = active("smem.apply_swizzle")
    pattern = find_swizzle(swizzle)
    if pattern is None:
        raise SharedMemoryError("apply_swizzle needs a swizzle", help='pass "32B", "64B" or "128B"')
    return pattern.emit(trace, logical_offset)


def _alignment(given: object, default: int) -> int:
    if given is None:
        return default
    alignment = as_integer(given)
    if alignment is None or alignment < 1 or alignment & (alignment - 1):
        raise SharedMemoryError(f"the alignment must be a power of two, got {given!r}")
    return alignment


def _dimensions(shape: Sequence[int] | int) -> tuple[int, ...]:
    given = as_items(shape)
    sizes = [as_count(size) for size in ([shape] if given is None else given)]
    result = tuple(size for size in sizes if size is not None and size > 0)
    if not result or len(result) != len(sizes):
        raise SharedMemoryError(f"invalid shape {shape!r}", help="use positive integers")
    return result
