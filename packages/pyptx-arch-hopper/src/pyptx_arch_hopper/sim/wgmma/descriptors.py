"""Matrix descriptors of wgmma: decoding, and checks.

Manual: "Matrix Descriptor Format", "Shared Memory Matrix Layout".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx_dsl.instructions.groups.matrix_descriptors import FIELD_BITS, UNIT_BYTES
from pyptx_sim.extension.shared_matrices import CHUNK, Extent, SharedMatrix, places

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension import Array, ExecutionContext, IntArray, Operands, Warpgroups
    from pyptx_sim.extension.shared_matrices import Located

Bits: TypeAlias = NDArray[np.uint64]

_MASK = (1 << FIELD_BITS) - 1
_LEADING, _STRIDE, _BASE, _SWIZZLE = 16, 32, 49, 62
_WIDTHS = (16, 128, 64, 32)  # bytes of a swizzle row, by the descriptor's swizzle field


@lru_cache(maxsize=1024)
def read_descriptor(bits: int) -> SharedMatrix:
    """Return the matrix that a descriptor describes; `pyptx_arch_hopper.descriptors` has the fields."""
    return SharedMatrix(
        start=(bits & _MASK) * UNIT_BYTES,
        leading=(bits >> _LEADING & _MASK) * UNIT_BYTES,
        stride=(bits >> _STRIDE & _MASK) * UNIT_BYTES,
        swizzle=_WIDTHS[bits >> _SWIZZLE & 3],
        base=bits >> _BASE & 7,
    )


def located(bits: Bits, blocks: IntArray) -> list[Located]:
    """Return the matrices that descriptors describe, each in its CTA's shared memory."""
    return [(read_descriptor(each), block) for each, block in zip(bits.tolist(), blocks.tolist(), strict=True)]


def reading(operands: Operands, name: str, extent: Extent) -> Callable[[ExecutionContext, Warpgroups], Bits | None]:
    """Return a function that reads each warpgroup's descriptor, or returns None for an unusable matrix."""
    source = operands.source(name, "u64")

    def read(turn: ExecutionContext, warpgroups: Warpgroups) -> Bits | None:
        values = turn.read(source)
        if turn.checked:
            _check_uniform(turn, warpgroups, values)
        bits: Bits = warpgroups.leaders(values)
        for each in dict.fromkeys(bits.tolist()):
            if not _is_sound(turn, read_descriptor(each), extent):
                return None
        return bits

    return read


def _check_uniform(turn: ExecutionContext, warpgroups: Warpgroups, values: Array) -> None:
    if not any(values.strides):
        return  # all strides are 0 (a broadcast array): all threads have the same descriptor
    all_values = warpgroups.threads(values)
    if (all_values != all_values[:, :1]).any():
        turn.fault(
            "wgmma-descriptor",
            "matrix descriptor is not uniform across the warpgroup",
            "compute the descriptor from values shared by all 128 threads",
        )


def _is_sound(turn: ExecutionContext, matrix: SharedMatrix, extent: Extent) -> bool:
    """Report a descriptor with an invalid address or strides; return whether the MMA can read its matrix."""
    memory = turn.wave.shared
    problem = _problem(memory.start, memory.end, matrix, extent)
    if problem is None:
        return True
    rule, message, help, usable = problem
    turn.fault(rule, message, help, turn.count)
    return usable


@lru_cache(maxsize=512)
def _problem(start: int, end: int, matrix: SharedMatrix, extent: Extent) -> tuple[str, str, str, bool] | None:
    """Return rule, fault, remedy, and whether the MMA can read the matrix; None for a valid descriptor."""
    where = places(matrix, extent)
    low, high = int(where.min()), int(where.max()) + CHUNK
    if low < start or high > end:
        message = (
            f"{extent.mn} x {extent.k} matrix covers {low:#x} to {high - 1:#x}, "
            f"outside shared memory ({start:#x} to {end - 1:#x})"
        )
        return "out-of-bounds", message, "check the descriptor's address and strides", False
    if np.unique(where).size != where.size:
        message = (
            f"invalid matrix descriptor: {extent.mn} x {extent.k} matrix overlaps itself "
            f"(LBO {matrix.leading}, SBO {matrix.stride})"
        )
        return "wgmma-descriptor", message, "build the descriptor and the TMA box from one SharedTile", True
    return None
