"""Relocation of static shared variables into one dynamic symbol: `name` becomes `symbol+offset` in all operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

Places = Mapping[str, tuple[str, int]]

_PLAIN: frozenset[type] = frozenset({tree.Register, tree.Immediate})  # classes of PTX operands that contain no symbol


def rebase(instruction: nodes.Instruction, places: Places) -> nodes.Instruction:
    """Return the instruction with each symbol of `places` replaced by `symbol+offset`; unchanged if it has none."""
    operands = _all_moved(instruction.operands, places)
    return instruction if operands is instruction.operands else replace(instruction, operands=operands, raw=None)


def _all_moved(operands: tuple[tree.Operand, ...], places: Places) -> tuple[tree.Operand, ...]:
    """Return the operands with every symbol of `places` replaced; the same tuple if they have none."""
    for operand in operands:
        if operand.__class__ not in _PLAIN and _moved(operand, places) is not operand:
            return tuple([_moved(each, places) for each in operands])
    return operands


def _moved(operand: tree.Operand, places: Places) -> tree.Operand:
    match operand:
        case tree.Symbol(name=name) if name in places:
            return _plus(*places[name])
        case tree.Binary(op="+", left=tree.Symbol(name=name), right=tree.Immediate(text=text)) if name in places:
            symbol, offset = places[name]
            return _plus(symbol, offset + int(text, 0))
        case tree.Index(base=tree.Symbol(name=name), index=tree.Immediate(text=text)) if name in places:
            symbol, offset = places[name]
            return _plus(symbol, offset + int(text, 0))
        case tree.Address(base=base, offset=inner):
            return _moved_address(operand, base, inner, places)
        case tree.Unified(address=address):
            moved_address = _moved(address, places)
            return operand if moved_address is address else tree.Unified(moved_address)
        case tree.Vector(elements=parts) | tree.CallList(elements=parts) | tree.TensorAddress(elements=parts):
            moved = _all_moved(parts, places)
            return operand if moved is parts else replace(operand, elements=moved)
        case _:
            return operand


def _moved_address(whole: tree.Address, base: tree.Operand, inner: tree.Operand | None, places: Places) -> tree.Operand:
    moved = _moved(base, places)
    if moved is base:
        return whole
    if not isinstance(moved, tree.Binary):
        return tree.Address(moved, inner)
    offset = moved.right
    if isinstance(inner, tree.Immediate) and isinstance(offset, tree.Immediate):
        return tree.Address(moved.left, tree.Immediate(str(int(inner.text, 0) + int(offset.text, 0))))
    return tree.Address(moved.left, offset if inner is None else tree.Binary("+", offset, inner))


def _plus(symbol: str, offset: int) -> tree.Operand:
    base = tree.Symbol(symbol)
    return tree.Binary("+", base, tree.Immediate(str(offset))) if offset else base
