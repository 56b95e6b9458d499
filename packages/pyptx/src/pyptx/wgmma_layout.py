"""Shared memory layouts of matrices for TMA and wgmma: `SharedTile`, and functions named as in the older pyptx."""

from typing import TYPE_CHECKING

from pyptx_dsl.shared_memory.tiles import Major, SharedTile
from pyptx_ir.plugins.front_door import provided_names

if TYPE_CHECKING:
    from pyptx_arch_hopper.wgmma_layout import GmmaLayout, LayoutType, layout_for_a, layout_for_b, pick_gmma_layout
else:
    __getattr__, __dir__ = provided_names(
        __name__, "wgmma.layouts", ("GmmaLayout", "LayoutType", "layout_for_a", "layout_for_b", "pick_gmma_layout")
    )

__all__ = ["GmmaLayout", "LayoutType", "Major", "SharedTile", "layout_for_a", "layout_for_b", "pick_gmma_layout"]
