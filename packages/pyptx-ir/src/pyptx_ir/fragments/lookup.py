"""Finding a fragment by the name of its instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment


@until_plugins_change()
def fragment_of(instruction: str, shape: str, operand: str, element: str, order: str = "") -> Fragment:
    """Return the layout of an operand: `fragment_of("mma", "m16n8k16", "a", "bf16")`.

    `instruction` is the name of a row that a plugin hands in: `mma`, `mma.sp`, `wmma`, with pyptx-arch-hopper `wgmma`.
    `operand` is its name in the instruction table, and `order` (`row`, `col`) that of its elements in memory, where a
    layout depends on it. Raise MissingPluginError for an instruction without fragments, ValueError for a matrix that
    it does not have.
    """
    from pyptx_ir.plugins.manager import manager

    return manager().fragments_of(instruction).layout(shape, operand, element, order)
