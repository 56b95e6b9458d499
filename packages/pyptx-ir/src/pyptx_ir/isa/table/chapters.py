"""All chapters of the instruction table."""

from __future__ import annotations

from pyptx_ir.isa.table import (
    async_copy,
    atomics,
    barriers,
    caches,
    comparison,
    control_flow,
    conversion,
    conversion_packed,
    data_movement,
    fences,
    floating_point,
    integer,
    logic,
    matrix_moves,
    mbarrier,
    memory,
    mixed_precision,
    mma,
    mma_sparse,
    textures,
    video,
    votes,
    wmma,
)

CHAPTERS = (
    integer,
    floating_point,
    mixed_precision,
    comparison,
    logic,
    data_movement,
    memory,
    caches,
    conversion,
    conversion_packed,
    async_copy,
    control_flow,
    barriers,
    fences,
    atomics,
    votes,
    mbarrier,
    matrix_moves,
    mma,
    mma_sparse,
    wmma,
    video,
    textures,
)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
