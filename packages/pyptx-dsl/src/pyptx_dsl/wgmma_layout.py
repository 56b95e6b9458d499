"""Deprecated, for one release: see `pyptx_dsl.shared_memory.wgmma_layout`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["GmmaLayout", "LayoutType", "Major", "layout_for_a", "layout_for_b", "pick_gmma_layout"]

if TYPE_CHECKING:
    from pyptx_dsl.shared_memory.wgmma_layout import (
        GmmaLayout,
        LayoutType,
        Major,
        layout_for_a,
        layout_for_b,
        pick_gmma_layout,
    )
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.shared_memory.wgmma_layout.{name}" for name in __all__})
