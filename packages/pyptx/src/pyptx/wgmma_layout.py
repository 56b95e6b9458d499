"""How matrices lie in shared memory for TMA and wgmma: `SharedTile`, and the names that users know."""

from pyptx_dsl.shared_memory.wgmma_layout import (
    GmmaLayout,
    LayoutType,
    Major,
    SharedTile,
    layout_for_a,
    layout_for_b,
    pick_gmma_layout,
)

__all__ = ["GmmaLayout", "LayoutType", "Major", "SharedTile", "layout_for_a", "layout_for_b", "pick_gmma_layout"]
