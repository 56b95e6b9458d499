"""What Blackwell adds to `ptx`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.launch_control import clusterlaunchcontrol
from pyptx_arch_blackwell.ptx.tcgen05 import tcgen05
from pyptx_arch_blackwell.ptx.tensor_memory import tmem

if TYPE_CHECKING:
    from collections.abc import Mapping

# What stands behind `ptx.` itself: type checkers take these names from here.
__all__ = ["clusterlaunchcontrol", "tcgen05", "tmem"]

NAMESPACES: Mapping[str, object] = {"clusterlaunchcontrol": clusterlaunchcontrol, "tcgen05": tcgen05, "tmem": tmem}
