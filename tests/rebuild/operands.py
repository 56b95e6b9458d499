"""Operands as Python expressions of public names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax import spell

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = re.compile(r"(0|-?[1-9]\d*)\Z", re.ASCII)
_FLOATS = frozenset({"f32", "f64", "f32x2"})
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d*)\Z", re.ASCII)


class Registers:
    """Which Python expression holds a register, scope by scope."""

    def __init__(self) -> None:
        """Start outside of all functions."""
        self._scopes: list[dict[str, tuple[str, int | None]]] = [{}]

    def enter(self) -> None:
        """Open a scope."""
        self._scopes.append({})

    def leave(self) -> None:
        """Close a scope."""
        self._scopes.pop()

    def declare(self, name: str, count: int | None, variable: str) -> None:
        """Note that a variable holds a register, or a bank."""
        self._scopes[-1][name] = (variable, count)

    def find(self, name: str) -> str | None:
        """Return the expression of a register, or None."""
        for scope in reversed(self._scopes):
            if (held := scope.get(name)) and held[1] is None:
                return held[0]
            for stem, number in _split(name):
                held = scope.get(stem)
                if held and held[1] is not None and number < held[1]:
                    return f"{held[0]}[{number}]"
        return None

    def expression(self, operand: tree.Operand, opcode: tuple[str, ...] = ()) -> str:
        """Return what is written for an operand of an instruction."""
        match operand:
            case tree.Register(name) | tree.Symbol(name):
                return self.find(name) or repr(name)
            case tree.Immediate(text):
                return text if WHOLE.match(text) and _FLOATS.isdisjoint(opcode) else repr(text)
            case tree.Vector(elements):
                return f"[{self.expressions(elements, opcode)}]"
            case tree.CallList(elements):
                return f"({self.expressions(elements, opcode)}{',' if len(elements) == 1 else ''})"
            case tree.Pair(first, second):
                return f"reg.pair({self.expression(first)}, {self.expression(second)})"
            case tree.Negated(tree.Register(name) | tree.Symbol(name)):
                found = self.find(name)
                return f"~{found}" if found else repr(f"!{name}")
            case tree.Address(base=tree.Register() | tree.Symbol() as base, offset=offset):
                more = "" if offset is None else f", {self.expression(offset)}"
                return f"ptx.addr({self.expression(base)}{more})"
            case tree.TensorAddress(elements):
                return f"ptx.tensor_addr({self.expressions(elements)})"
            case tree.Unified(address):
                return f"ptx.unified({self.expression(address)})"
            case _:
                return repr(spell(operand))

    def expressions(self, operands: Iterable[tree.Operand], opcode: tuple[str, ...] = ()) -> str:
        """Return operands with commas between them."""
        return ", ".join([self.expression(each, opcode) for each in operands])


def _split(name: str) -> Iterable[tuple[str, int]]:
    """Yield the banks that a name may belong to: of `%r12`, the 12th of `%r` and the second of `%r1`."""
    digits = len(name) - len(name.rstrip("0123456789"))
    for length in range(digits, 0, -1):
        number = name[-length:]
        if number == "0" or number[0] != "0":
            yield name[:-length], int(number)


def constant(operand: tree.Operand | str | None) -> str:
    """Return what is written for a constant of a declaration; a dimension that is left open is 0."""
    match operand:
        case None:
            return "0"
        case str():
            return repr(f'"{operand}"')
        case tree.Immediate(text) if WHOLE.match(text):
            return text
        case tree.Vector(elements) if any(isinstance(each, tree.Binary) and each.op == "=" for each in elements):
            return f"{{{', '.join(f'{spell(each.left)!r}: {constant(each.right)}' for each in elements)}}}"
        case tree.Vector(elements):
            return f"[{', '.join(map(constant, elements))}]"
        case _:
            return repr(spell(operand))
