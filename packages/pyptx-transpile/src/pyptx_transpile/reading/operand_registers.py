"""Extraction of register names from operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_ir.syntax import nodes

__all__ = ["registers", "registers_of"]


def registers(operand: tree.Operand) -> tuple[str, ...]:
    """Return the register names in an operand, in text order, including names of variables."""
    match operand:
        case tree.Register(name) | tree.Symbol(name):
            return (name,)
        case tree.Immediate():
            return ()
        case tree.Vector(parts) | tree.CallList(parts) | tree.TensorAddress(parts):
            return tuple([name for part in parts for name in registers(part)])
        case tree.Pair(first, second):
            return registers(first) + registers(second)
        case tree.Address(base=inner) | tree.Negated(inner) | tree.Unified(inner):
            return registers(inner)
        case _:
            return ()


def registers_of(node: nodes.Instruction) -> tuple[tuple[str, ...], int]:
    """Return the register names of an instruction's operands, and how many of these names the first operand has."""
    names: list[str] = []
    first = None
    for operand in node.operands:
        if type(operand) is tree.Register or type(operand) is tree.Symbol:  # fast path: most operands are plain names
            names.append(operand.name)
        elif type(operand) is not tree.Immediate:
            names += registers(operand)
        if first is None:
            first = len(names)
    return tuple(names), first or 0
