"""Minimum size of a kernel's dynamic shared memory, from the constant offsets that its instructions access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.modules.pointers import instructions
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax import nodes

__all__ = ["bytes_reached"]

_MOVES, _SUMS = frozenset({"mov", "cvta"}), frozenset({"add", "or"})
_ROUNDS = 2  # passes over the kernel's body: the second pass sees offsets that later instructions of a loop set
_WIDEST = 16  # bytes of the widest PTX access, which is assumed at the highest offset


def bytes_reached(kernel: nodes.Function, symbols: Iterable[str]) -> int:
    """Return the end in bytes of an access at the highest constant offset from a variable in `symbols`, or 0.

    Indices in registers are not known, so the result is a lower bound.
    """
    offsets: dict[tree.Operand, int] = {tree.Symbol(name): 0 for name in symbols}
    most = 0
    for _ in range(_ROUNDS):
        for node in instructions(kernel.body):
            if node.opcode[0] in _MOVES | _SUMS and len(node.operands) > 1:
                result, *sources = node.operands
                found = _sum(sources, offsets)
                if found is not None:
                    offsets[result] = max(found, offsets.get(result, 0))
                    most = max(most, offsets[result])
            for operand in node.operands:
                if isinstance(operand, tree.Address):
                    most = max(most, _sum([operand.base, *_given(operand.offset)], offsets) or 0)
    return most + _WIDEST if most else 0


def _given(offset: tree.Operand | None) -> list[tree.Operand]:
    return [] if offset is None else [offset]


def _sum(operands: Iterable[tree.Operand], offsets: dict[tree.Operand, int]) -> int | None:
    """Return the sum of the operands' known offsets and constants; None if no operand has a known offset."""
    total, found = 0, False
    for operand in operands:
        match operand:
            case tree.Binary("+", left, tree.Immediate(text)) if left in offsets and text.isdecimal():
                total, found = total + offsets[left] + int(text), True
            case tree.Immediate(text) if text.isdecimal():
                total += int(text)
            case _ if operand in offsets:
                total, found = total + offsets[operand], True
            case _:
                pass
    return total if found else None
