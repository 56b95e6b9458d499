"""Sparse operand A, of which half of the elements are stored. Manual: "Sparse Matrices" of tcgen05."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_blackwell.datapath import LANES
from pyptx_arch_blackwell.layouts.sparsity import CODES, positions
from pyptx_arch_blackwell.sim.tensor_memory import COLUMNS, WORD, columns_of, lanes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_arch_blackwell.layouts.sparsity import Metadata
    from pyptx_arch_blackwell.sim.mma.batch import MmaBatch
    from pyptx_sim.extension import Array, IntArray

__all__ = ["dense"]

_CODE_BITS = 4
_CODES = 1 << _CODE_BITS


@lru_cache(maxsize=64)
def _where(metadata: Metadata) -> tuple[IntArray, NDArray[np.uint32]]:
    """Return the tensor memory word of each metadata code, `[copies, rows, codes per row]`, and its first bit there."""
    places = [[metadata.place(row, chunk) for chunk in range(metadata.chunks)] for row in range(metadata.rows)]
    words = [[[lane * COLUMNS + place.column for lane in place.lanes] for place in line] for line in places]
    shifts = [[place.shift for place in line] for line in places]
    return np.moveaxis(np.array(words, np.int64), -1, 0), np.array(shifts, np.uint32)


@lru_cache(maxsize=16)
def _positions(kind: str) -> IntArray:
    """Return the positions of stored elements in a chunk by metadata code; valid positions for invalid codes, too."""
    known = {code: positions(kind, code) for code in CODES[kind]}
    usual = next(iter(known.values()))
    return np.array([known.get(code, usual) for code in range(_CODES)], np.int64)


def dense(products: MmaBatch, stored: Array, addresses: IntArray) -> Array:
    """Return A with zeros for omitted elements, `[n, m, k]`, from the stored elements, `[n, m, k / 2]`."""
    plan = products.plan
    kind, depth = plan.descriptor.kind, plan.descriptor.depth
    codes = _codes(products, plan.metadata, addresses)
    meaningless = ~np.isin(codes, CODES[kind])
    if meaningless.any():
        known = ", ".join(f"{code:#06b}" for code in CODES[kind])
        products.report(
            "tcgen05-mma",
            f"invalid sparsity metadata {int(codes[meaningless][0]):#06b} for kind::{kind}",
            f"use one of {known}",
            int(np.count_nonzero(meaningless)),
        )
    # Position of each stored element within its chunk of A, `[n, m, chunks along K, stored elements per chunk]`.
    inside = _positions(kind)[codes]
    chunks = codes.shape[-1]
    columns: IntArray = np.arange(chunks)[:, None] * (depth // chunks) + inside
    found = np.zeros((*stored.shape[:2], depth), stored.dtype)
    np.put_along_axis(found, columns.reshape(stored.shape), stored, axis=-1)
    return found


def _codes(products: MmaBatch, metadata: Metadata, addresses: IntArray) -> IntArray:
    """Return the metadata codes of all rows of A, `[n, m, chunks]`, with the parts of a CTA pair concatenated."""
    tensor = products.tensor
    parts: list[IntArray] = []
    words, shifts = _where(metadata)
    start = lanes_of(addresses) * COLUMNS + columns_of(addresses)
    for block in range(products.plan.opcode.blocks):
        at = ((products.blocks + block) * LANES * COLUMNS + start)[:, None, None, None] + words
        found = tensor.words.reshape(-1).take(at) >> shifts & np.uint32(_CODES - 1)
        known = tensor.arena.written(at * WORD, WORD)
        if known is not None and not known.all():
            message = "tcgen05.mma reads uninitialized sparsity metadata"
            help = "copy the metadata with tcgen05.cp before the MMA"
            products.report("uninitialized-memory", message, help, int(np.count_nonzero(~known)))
        elif (found != found[:, :1]).any():
            message = "sparsity metadata differs between lane groups that compute the same rows"
            products.report(
                "tcgen05-mma", message, "write the metadata of a row to every lane group that computes this row"
            )
        parts.append(found[:, 0].astype(np.int64))
    return np.concatenate(parts, axis=1)
