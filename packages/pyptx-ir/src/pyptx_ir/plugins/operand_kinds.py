"""All operand kinds: NVIDIA's and those of plugins."""

from __future__ import annotations

from pyptx_ir.isa.kinds.kind import Kinds
from pyptx_ir.plugins.caches import until_plugins_change


@until_plugins_change(maxsize=1)
def operand_kinds() -> Kinds:
    """Return all operand kinds by name, NVIDIA's and those of plugins, and the element types."""
    from pyptx_ir.plugins.manager import manager

    return Kinds(manager().operand_kinds(), manager().elements())
