"""Launch attributes of compute capability 10.0. CUDA driver API: "CUlaunchAttributeID"."""

from __future__ import annotations

from typing import Final

from pyptx_ir.plugins.rows import LaunchAttribute

ROWS: Final = (
    LaunchAttribute(
        "preferred_cluster", 11, "size", "preferred cluster size, used if the device has room for it", (10, 0)
    ),
)
