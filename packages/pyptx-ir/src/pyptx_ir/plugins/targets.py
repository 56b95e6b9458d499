"""Lookup of targets by their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.isa.target_rows import TargetRow


@until_plugins_change()
def find_target(name: str) -> TargetRow:
    """Return the target called `name`, NVIDIA's or a plugin's; raise TargetError with the closest names if unknown.

    NVIDIA's targets are core data: looking one up loads no plugin.
    """
    from pyptx_ir.isa.target_rows import TARGETS

    own = next((target for target in TARGETS if target.name == name), None)
    if own is not None:
        return own
    from pyptx_ir.plugins.manager import manager

    return manager().target(name)
