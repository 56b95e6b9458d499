"""Blackwell's namespaces and functions in `ptx`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.bulk_stores import st_bulk
from pyptx_arch_blackwell.ptx.launch_control import clusterlaunchcontrol
from pyptx_arch_blackwell.ptx.tcgen05 import tcgen05
from pyptx_arch_blackwell.ptx.tmem import tmem

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names that this plugin adds directly to the `ptx` namespace, for type checkers.
__all__ = ["clusterlaunchcontrol", "st_bulk", "tcgen05", "tmem"]

NAMESPACES: Mapping[str, object] = {
    "clusterlaunchcontrol": clusterlaunchcontrol,
    "st_bulk": st_bulk,
    "tcgen05": tcgen05,
    "tmem": tmem,
}
