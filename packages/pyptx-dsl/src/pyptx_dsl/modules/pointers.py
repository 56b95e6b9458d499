"""Pointer parameters of a kernel: element types and writes, inferred from its instructions."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Pointer", "instructions", "pointers"]

_CARRY = frozenset({"mov", "cvta", "add", "sub", "mad", "selp"})  # opcodes whose result is a pointer if a source is one
_ELSEWHERE = frozenset({"param", "shared", "local", "const"})
_WRITE = frozenset({"st", "red", "atom"})
_ROUNDS = 2  # passes over the kernel's body: the second pass sees pointers that later instructions of a loop set


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer parameter: element type in global memory (`b8` if unknown), and whether the kernel writes elements."""

    name: str
    element: str
    written: bool


class _Accesses:
    """Dataflow of pointer parameters through the registers of a kernel, in text order."""

    def __init__(self, kernel: nodes.Function) -> None:
        self._names = {each.name for each in kernel.parameters or ()}
        self._of: dict[tree.Operand, str] = {}
        self.types: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.written: set[str] = set()

    def take(self, node: nodes.Instruction) -> None:
        """Record that an instruction copies a pointer parameter to a register, or accesses memory through a copy."""
        match node:
            case nodes.Instruction(("ld", "param", "u64" | "b64"), (result, tree.Address(tree.Symbol(name)))):
                if name in self._names:
                    self._of[result] = name
            case nodes.Instruction((word, *_), (result, *sources)) if word in _CARRY and result not in self._of:
                found = next((self._of[each] for each in sources if each in self._of), None)
                if found is not None:
                    self._of[result] = found
            case _:
                self._access(node)

    def _access(self, node: nodes.Instruction) -> None:
        if "global" not in node.opcode and not _ELSEWHERE.isdisjoint(node.opcode):
            return
        for number, operand in enumerate(node.operands):
            name = self._of.get(operand.base) if isinstance(operand, tree.Address) else None
            if name is None:
                continue
            plain = node.opcode[0] in _WRITE or node.opcode[0] == "ld"
            self.types[name][node.opcode[-1] if plain else ""] += 1
            if node.opcode[0] in _WRITE or (number == 0 and not plain):
                self.written.add(name)


def pointers(kernel: nodes.Function) -> dict[str, Pointer]:
    """Return the parameters of a kernel that point to global memory, by name."""
    found = _Accesses(kernel)
    for _ in range(_ROUNDS):
        found.types.clear()
        for node in instructions(kernel.body):
            found.take(node)
    return {name: Pointer(name, _element(types), name in found.written) for name, types in found.types.items()}


def instructions(block: nodes.Block | None) -> Iterator[nodes.Instruction]:
    """Yield the instructions of a function body, including those in nested `{ }` scopes."""
    for node in () if block is None else block.body:
        if isinstance(node, nodes.Instruction):
            yield node
        elif isinstance(node, nodes.Block):
            yield from instructions(node)


def _element(types: Counter[str]) -> str:
    """Return the type of most accesses through a pointer; `.b` for an integer type, whose signedness is unknown."""
    known = [name for name, _ in types.most_common() if name in BY_NAME]
    if not known:
        return "b8"
    return known[0] if BY_NAME[known[0]].is_float else f"b{BY_NAME[known[0]].bits}"
