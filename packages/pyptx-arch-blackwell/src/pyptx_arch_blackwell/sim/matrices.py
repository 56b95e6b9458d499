"""Matrices in shared memory, decoded from descriptors. Manual: "Shared memory descriptor"."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_blackwell.descriptors import SharedDescriptor
from pyptx_ir.errors import PyptxError
from pyptx_sim.extension.shared_matrices import CHUNK, SharedMatrix, offsets, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.extension import ExecutionContext, IntArray
    from pyptx_sim.extension.shared_matrices import Extent, Located

__all__ = ["RULE", "located", "matrix_of", "readable", "said", "unwritten"]

RULE = "tcgen05-descriptor"
_HELP = "build the descriptor and the TMA box from one SharedTile"


_VERSION = 46  # lowest bit of the matrix descriptor's constant field, which must be 0b001


def lacks_version(bits: int) -> bool:
    """Return whether a descriptor's bits 46-48 are 0, not 0b001; devices accept published kernels with these bits 0."""
    return bits >> _VERSION & 7 == 0


@lru_cache(maxsize=4096)
def matrix_of(bits: int) -> SharedMatrix:
    """Return the matrix of a descriptor; raise ValueError for an invalid descriptor."""
    it = SharedDescriptor.decode(bits | 1 << _VERSION if lacks_version(bits) else bits)
    second = it.leading if it.absolute_leading else None
    return SharedMatrix(it.start, it.leading, it.stride, it.swizzle or CHUNK, it.base_offset, it.atom, second)


def located(bits: NDArray[np.uint64], blocks: IntArray, stride: int) -> list[Located]:
    """Return the matrices that descriptors describe, each in its CTA's shared memory, `stride` bytes per CTA."""
    return [(matrix_of(each), block * stride) for each, block in zip(bits.tolist(), blocks.tolist(), strict=True)]


def said(error: ValueError) -> tuple[str, tuple[str, ...]]:
    """Return the message of a DescriptorError, and its help as a note of the finding."""
    if not isinstance(error, PyptxError):
        return str(error), ()
    return error.message, () if error.help is None else (error.help,)


@lru_cache(maxsize=512)
def _reach(matrix: SharedMatrix, extent: Extent) -> tuple[int, int, bool]:
    """Return the first shared memory address of a matrix, the address past its end, and whether it overlaps itself."""
    where = places(matrix, extent)
    return int(where.min()), int(where.max()) + CHUNK, np.unique(where).size != where.size


def readable(turn: ExecutionContext, bits: int, name: str, extent: Extent) -> bool:
    """Report an invalid shared memory descriptor; return whether its matrix can be read."""
    memory = turn.wave.shared
    try:
        matrix = matrix_of(bits)
    except ValueError as error:
        message, notes = said(error)
        message = f"invalid shared memory descriptor of {name}: {message}"
        turn.fault(RULE, message, _HELP, turn.count, notes=(*notes, _noted(bits)))
        return False
    if lacks_version(bits):
        message = f"shared memory descriptor of {name}: bits 46-48 are zero, must be 0b001"
        turn.report(RULE, message, notes=(_noted(bits),), help=_HELP, count=turn.count, severity="note")
    start, end, overlaps = _reach(matrix, extent)
    shape = f"{extent.mn} x {extent.k}"
    if start < memory.start or end > memory.end:
        message = (
            f"{name} ({shape}) covers {start:#x} to {end - 1:#x}, "
            f"outside shared memory ({memory.start:#x} to {memory.end - 1:#x})"
        )
        turn.fault("out-of-bounds", message, "check the descriptor's address and strides", turn.count)
        return False
    if overlaps:
        strides = f"LBO {matrix.leading}, SBO {matrix.stride}"
        message = f"invalid descriptor of {name}: {shape} matrix overlaps itself ({strides})"
        turn.report(RULE, message, notes=(_noted(bits),), help=_HELP)
    return True


def _noted(bits: int) -> str:
    return f"descriptor {bits:#018x}"


def unwritten(
    turn: ExecutionContext, bits: NDArray[np.uint64], blocks: IntArray, extent: Extent, user: str, *, used: int = CHUNK
) -> None:
    """Report uninitialized bytes that `user` reads from shared memory matrices: the first `used` bytes of each 16."""
    memory = turn.wave.shared
    where = offsets(located(bits, blocks, memory.stride), extent)
    known = memory.arena.written(where, CHUNK) if used == CHUNK else memory.arena.written_in(where, list(range(used)))
    if known is not None and not known.all():
        missing = where[~known]
        first = int(missing[0])
        what = f"{used} bytes at {memory.describe_offset(first)}"
        turn.undefined("shared", first, what, len(missing), label=f"read by {user}")
