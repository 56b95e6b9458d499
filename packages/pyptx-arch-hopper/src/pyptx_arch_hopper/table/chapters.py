"""Hopper's part of the instruction table, by chapter of the manual."""

from __future__ import annotations

from pyptx_arch_hopper.table import (
    async_stores,
    bulk_copy,
    clusters,
    control,
    fences,
    multimem,
    stmatrix,
    tensor_copy,
    tensor_map,
    wgmma,
)

CHAPTERS = (
    wgmma,
    stmatrix,
    clusters,
    control,
    fences,
    bulk_copy,
    tensor_copy,
    async_stores,
    multimem,
    tensor_map,
)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
