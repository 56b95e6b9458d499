"""Opcodes that Python operators emit in a module: for `+` on b32 registers, `add.s32` or `add.u32`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.registers.exact import operation_of
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_transpile.reading.rows import Body, Row

OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "rem": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "neg": "-",
    "not": "~",
}
"""Python operators by PTX operation; for `setp` by relation."""

_UNARY = frozenset({"neg", "not"})
_NUMBER_FIRST = frozenset({"sub", "shl", "shr"})  # opcodes whose constant first operand stays first, as in `5 - r`


@dataclass(frozen=True, slots=True)
class Banks:
    """Register groups that a body declares at its outermost level: type and count, by group name (`%r`)."""

    types: dict[str, tuple[str, int]]
    _known: dict[str, str | None] = field(default_factory=dict[str, "str | None"])

    def type_of(self, operand: tree.Operand) -> str | None:
        """Return the type of a group register; None for every other operand."""
        if not isinstance(operand, tree.Register):
            return None
        name = operand.name
        if name not in self._known:
            self._known[name] = self._type_of(name)
        return self._known[name]

    def _type_of(self, name: str) -> str | None:
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        bank = self.types.get(stem)
        if bank is None or not digits or (digits[0] == "0" and digits != "0") or int(digits) >= bank[1]:
            return None
        return bank[0]


def banks_of(body: Body) -> Banks:
    """Return the register groups of a body, except those whose names an inner scope redeclares."""
    return body.derived(_banks)


def _banks(body: Body) -> Banks:
    found: dict[str, tuple[str, int]] = {}
    hidden: set[str] = set()
    for item in body.items[body.declared : body.end]:
        if isinstance(item.node, nodes.RegisterDeclaration):
            for each in item.node.names:
                if item.depth > 1 or each.count is None or each.name in found:
                    hidden.add(each.name.rstrip("0123456789"))
                elif item.node.type in BY_NAME and item.node.vector is None:
                    found[each.name] = item.node.type, each.count
    return Banks({name: bank for name, bank in found.items() if name not in hidden})


@dataclass(frozen=True, slots=True)
class Operations:
    """Operators usable in one body: the types of its registers, and the module's opcode for each operation."""

    banks: Banks
    spelled: dict[str, dict[str, str]]

    def operator(self, node: nodes.Instruction) -> str | None:
        """Return the operation of an instruction if a Python operator emits exactly its opcode; else None."""
        found = operation(node, self.banks)
        if found is None or self.spelled[found[1]].get(found[0]) != ".".join(node.opcode):
            return None
        return found[0]


@lru_cache(maxsize=4096)
def _operation_of(opcode: tuple[str, ...]) -> str | None:
    return operation_of(".".join(opcode))


def operation(node: nodes.Instruction, banks: Banks) -> tuple[str, str] | None:
    """Return an instruction's operation and operand type if a Python operator may emit the operation; else None."""
    name = _operation_of(node.opcode)
    if name not in OPERATORS or node.guard is not None or len(node.operands) != 3 - (name in _UNARY):
        return None
    destination, *sources = node.operands
    types = [banks.type_of(each) for each in sources]
    if banks.type_of(destination) is None or "pred" in types:
        return None
    for source, dtype in zip(sources, types, strict=True):
        if dtype is None and not isinstance(source, tree.Immediate):
            return None
    if types[0] is None and name not in _NUMBER_FIRST:
        return None
    dtype = types[0] or types[1]
    if dtype is None or (None not in types and types[0] != types[-1] and name not in {"shl", "shr"}):
        return None
    return name, dtype


def spelled(row: Row) -> dict[str, dict[str, str]]:
    """Return a module's most frequent opcode for each register type and operation."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for body in row.bodies():
        banks = banks_of(body)
        for _, node in body.instructions():
            found = operation(node, banks)
            if found is not None:
                counts[found[1], found[0]][".".join(node.opcode)] += 1
    table: dict[str, dict[str, str]] = {}
    for (dtype, name), opcodes in sorted(counts.items()):
        table.setdefault(dtype, {})[name] = max(sorted(opcodes), key=lambda opcode: opcodes[opcode])
    return table
