"""Deprecated, for one release: see `pyptx_dsl.shared_memory.swizzle`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["SWIZZLES", "Swizzle", "find_swizzle"]

if TYPE_CHECKING:
    from pyptx_dsl.shared_memory.swizzle import SWIZZLES, Swizzle, find_swizzle
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.shared_memory.swizzle.{name}" for name in __all__})
