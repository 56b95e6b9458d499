"""All subjects of Blackwell's table."""

from __future__ import annotations

from pyptx_arch_blackwell.table import fences, launch_control, mma_block_scaled, tensor_memory, tensor_products

CHAPTERS = (tensor_memory, tensor_products, mma_block_scaled, fences, launch_control)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
