"""Lookup of CTA memories by state space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.memory_rows import MEMORIES
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.isa.memory_rows import Memory


@until_plugins_change()
def find_memory(space: str) -> Memory:
    """Return the memory called `space`, NVIDIA's or a plugin's; raise MissingPluginError if none has it.

    NVIDIA's memories are core data: looking one up loads no plugin.
    """
    own = next((memory for memory in MEMORIES if memory.space == space), None)
    if own is not None:
        return own
    from pyptx_ir.plugins.manager import manager

    return manager().memory(space)
