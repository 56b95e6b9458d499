"""All subjects of Hopper's table."""

from __future__ import annotations

from pyptx_arch_hopper.table import clusters, control, fences, wgmma

CHAPTERS = (wgmma, clusters, control, fences)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
