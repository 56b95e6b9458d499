"""How often the registers of a body are written and read: which of them hold one value, and are worth a name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree
from pyptx_transpile.rules.expression_trees import registers

if TYPE_CHECKING:
    from pyptx_ir.syntax import nodes
    from pyptx_transpile.rows import Body, Row

__all__ = ["Uses", "uses_of"]

_FEWEST = 2  # uses of a name
_NO_RESULTS = frozenset({"st", "red", "bar", "bra", "call", "brx"})  # what reads its first operand


@dataclass(slots=True)
class Uses:
    """How often registers are written and read in a body, and which are read in front of what writes them."""

    written: Counter[str] = field(default_factory=Counter[str])
    read: Counter[str] = field(default_factory=Counter[str])
    early: set[str] = field(default_factory=set[str])

    def take(self, node: nodes.Instruction) -> None:
        """Count the registers of the next instruction."""
        results = () if node.opcode[0] in _NO_RESULTS else node.operands[:1]
        written = [name for each in results if not isinstance(each, tree.Address) for name in registers(each)]
        read = [name for each in node.operands for name in registers(each)][len(written) :]
        read += [] if node.guard is None else [node.guard.register]
        self.read.update(read)
        self.early.update([name for name in read if name not in self.written])
        self.written.update(written)

    def is_known(self, name: str) -> bool:
        """Tell whether a register holds one value wherever it is read."""
        return self.written[name] == 1 and name not in self.early

    def is_one_value(self, name: str) -> bool:
        """Tell whether a register holds one value, which is read often enough to be worth a name."""
        return self.is_known(name) and self.read[name] >= _FEWEST


class _Counted:
    """The uses of the bodies of a module that were asked for."""

    def __init__(self, _row: Row) -> None:
        self._known: dict[int, Uses] = {}

    def of(self, body: Body) -> Uses:
        if body.start not in self._known:
            uses = self._known[body.start] = Uses()
            for at in range(body.start, body.end):
                node = body.instruction(at)
                if node is not None:
                    uses.take(node)
        return self._known[body.start]


def uses_of(body: Body) -> Uses:
    """Return the uses of the registers of a function's body, which are counted once."""
    return body.row.derived(_Counted).of(body)
