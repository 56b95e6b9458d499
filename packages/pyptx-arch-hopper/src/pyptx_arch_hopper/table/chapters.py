"""All subjects of Hopper's table."""

from __future__ import annotations

from pyptx_arch_hopper.table import wgmma

CHAPTERS = (wgmma,)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
