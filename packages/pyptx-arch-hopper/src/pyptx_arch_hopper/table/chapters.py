"""All subjects of Hopper's table."""

from __future__ import annotations

from pyptx_arch_hopper.table import (
    bulk_copy,
    clusters,
    control,
    fences,
    stmatrix,
    tensor_copy,
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
)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
