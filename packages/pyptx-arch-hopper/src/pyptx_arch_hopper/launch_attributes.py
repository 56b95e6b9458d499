"""Launch attributes of compute capability 9.0. CUDA driver API: "CUlaunchAttributeID"."""

from __future__ import annotations

from typing import Final

from pyptx_ir.plugins.rows import LaunchAttribute

_HOPPER = (9, 0)

ROWS: Final = (
    LaunchAttribute(
        "cluster_scheduling_policy",
        5,
        "choice",
        "how clusters are placed",
        _HOPPER,
        ("default", "spread", "load_balancing"),
    ),
    LaunchAttribute(
        "programmatic_stream_serialization",
        6,
        "flag",
        "the kernel may start before the one in front of it has ended, and waits with griddepcontrol.wait",
        _HOPPER,
    ),
    LaunchAttribute(
        "memory_synchronization_domain", 10, "choice", "whose writes fences wait for", _HOPPER, ("default", "remote")
    ),
)
