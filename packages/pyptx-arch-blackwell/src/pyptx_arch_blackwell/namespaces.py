"""What Blackwell adds to `ptx`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.launch_control import clusterlaunchcontrol

if TYPE_CHECKING:
    from collections.abc import Mapping

# What stands behind `ptx.` itself: type checkers take these names from here.
__all__ = ["clusterlaunchcontrol"]

NAMESPACES: Mapping[str, object] = {"clusterlaunchcontrol": clusterlaunchcontrol}
