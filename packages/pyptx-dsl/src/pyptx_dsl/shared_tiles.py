"""Deprecated, for one release: see `pyptx_dsl.shared_memory.tiles`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["SharedTile", "widest_swizzle"]

if TYPE_CHECKING:
    from pyptx_dsl.shared_memory.tiles import SharedTile, widest_swizzle
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.shared_memory.tiles.{name}" for name in __all__})
