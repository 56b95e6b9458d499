"""Interpreter of one thread of integer PTX, for tests of control flow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_dsl.kernels.kernel import Kernel

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
COMBINE: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "xor": lambda a, b: a ^ b,
    "and": lambda a, b: a & b,
}


class Machine:
    """State of a PTX interpreter: registers, a log of stored values, and the number of branches taken."""

    def __init__(self, limit: int = 5_000) -> None:
        self.registers: dict[str, int] = {}
        self.log: list[int] = []
        self.branches = 0
        self.limit = limit

    def run(self, kernel: Kernel, inputs: Mapping[str, int] | None = None) -> list[int]:
        """Run a kernel's only entry; return its log: the values that `st` stored."""
        self.registers |= inputs or {}
        (entry,) = [node for node in kernel.module().body if isinstance(node, nodes.Function)]
        assert entry.body is not None
        body = [node for node in entry.body.body if isinstance(node, nodes.Instruction | nodes.Label)]
        labels = {node.name: at for at, node in enumerate(body) if isinstance(node, nodes.Label)}
        at = 0
        for _ in range(self.limit):
            if at == len(body):
                return self.log
            node = body[at]
            at += 1
            if isinstance(node, nodes.Label) or not self._active(node):
                continue
            if node.opcode[0] == "ret":
                return self.log
            if node.opcode[0] == "bra":
                self.branches += 1
                (target,) = node.operands
                assert isinstance(target, tree.Symbol)
                at = labels[target.name]
            else:
                self._execute(node)
        raise AssertionError("endless")

    def _active(self, node: nodes.Instruction) -> bool:
        return node.guard is None or bool(self.registers[node.guard.register]) != node.guard.negated

    def _execute(self, node: nodes.Instruction) -> None:
        opcode, word = node.opcode[0], node.opcode[-1]
        if opcode == "st":
            self.log.append(self._read(node.operands[1], word))
            return
        target, *sources = node.operands
        assert isinstance(target, tree.Register)
        a, *rest = [self._read(source, word if word != "pred" else "u8") for source in sources]
        self.registers[target.name] = wrapped(
            self._result(node.opcode, a, rest), "u8" if target.name.startswith("%p") else word
        )

    def _result(self, opcode: tuple[str, ...], a: int, rest: list[int]) -> int:
        match opcode:
            case ("mov", _) | ("cvt", _, _):
                return a
            case ("abs", _):
                return abs(a)
            case ("selp", _):
                return a if rest[1] else rest[0]
            case ("setp", relation, _):
                return COMPARE[relation](a, rest[0])
            case ("setp", relation, combine, _):
                return COMBINE[combine](COMPARE[relation](a, rest[0]), bool(rest[1]))
            case ("or", "pred"):
                return bool(a) or bool(rest[0])
            case (name, _):
                return ARITHMETIC[name](a, rest[0])
            case _:
                raise AssertionError(opcode)

    def _read(self, operand: tree.Operand, word: str) -> int:
        match operand:
            case tree.Immediate(text=text):
                return wrapped(int(text, 0), word)
            case tree.Register(name=name):
                return wrapped(self.registers[name], word) if not name.startswith("%p") else self.registers[name]
            case tree.Negated(operand=tree.Register(name=name)):
                return not self.registers[name]
            case _:
                raise AssertionError(operand)


def wrapped(value: int, word: str) -> int:
    """Return a value wrapped to the range of a PTX type."""
    bits = int(re.sub(r"\D", "", word))
    value &= (1 << bits) - 1
    return value - (1 << bits) if word[0] == "s" and value >> (bits - 1) else value
