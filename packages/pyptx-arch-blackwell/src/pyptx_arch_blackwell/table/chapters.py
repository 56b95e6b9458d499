"""All subjects of Blackwell's table."""

from __future__ import annotations

from pyptx_arch_blackwell.table import tensor_memory, tensor_products

CHAPTERS = (tensor_memory, tensor_products)

ROWS = tuple(row for chapter in CHAPTERS for row in chapter.ROWS)
