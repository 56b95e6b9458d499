"""Look up the fragment layouts of MMAs by instruction name, those of `ldmatrix` and `stmatrix` by modifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment
    from pyptx_ir.isa.matrix_rows import MatrixMove


@until_plugins_change()
def fragment_of(instruction: str, shape: str, operand: str, element: str, order: str = "") -> Fragment:
    """Return the layout of an operand: `fragment_of("mma", "m16n8k16", "a", "bf16")`.

    `instruction` is the name in a plugin's `Fragments` row: `mma`, `mma.sp`, `wmma`, with pyptx-arch-hopper `wgmma`.
    `operand` is the operand's name in the instruction table. `order` (`row`, `col`) is the order of the matrix in
    memory, if the layout depends on it. Raise MissingPluginError for an instruction without fragments, ValueError for a
    shape, operand or element type that the instruction does not have.
    """
    from pyptx_ir.plugins.manager import manager

    return manager().fragments_of(instruction).layout(shape, operand, element, order)


@until_plugins_change()
def move_of(shape: str, *types: str, transposed: bool = False) -> MatrixMove:
    """Return the `MatrixMove` of an `ldmatrix` or `stmatrix` form: `move_of("m8n8", "b16", transposed=True)`.

    Raise ValueError if no plugin defines the move.
    """
    from pyptx_ir.plugins.manager import manager

    for move in manager().matrix_moves():
        if (move.shape, move.types, move.transposed) == (shape, types, transposed):
            return move
    raise ValueError(f"unknown matrix move {shape} .{'.'.join(types)}{' transposed' if transposed else ''}")
