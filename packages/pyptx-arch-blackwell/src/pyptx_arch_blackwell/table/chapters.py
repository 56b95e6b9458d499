"""Blackwell's part of the instruction table, by chapter of the manual."""

from __future__ import annotations

from pyptx_arch_blackwell.table import (
    bulk_stores,
    fabric,
    fences,
    launch_control,
    mma,
    mma_block_scaled,
    sparsity,
    tensor_memory,
)

CHAPTERS = (
    tensor_memory,
    mma,
    mma_block_scaled,
    fences,
    launch_control,
    bulk_stores,
    fabric,
    sparsity,
)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
