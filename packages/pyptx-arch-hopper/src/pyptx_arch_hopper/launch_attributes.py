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
        "scheduling policy of clusters",
        _HOPPER,
        ("default", "spread", "load_balancing"),
    ),
    LaunchAttribute(
        "programmatic_stream_serialization",
        6,
        "flag",
        "the kernel may start before its prerequisite grids complete, and waits with griddepcontrol.wait",
        _HOPPER,
    ),
    LaunchAttribute(
        "memory_synchronization_domain",
        10,
        "choice",
        "memory synchronization domain: fences wait for writes of this domain",
        _HOPPER,
        ("default", "remote"),
    ),
)
