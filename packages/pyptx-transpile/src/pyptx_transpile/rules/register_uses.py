"""Counts of reads and writes of a body's registers, to find registers that hold one value and deserve a name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree
from pyptx_transpile.reading.operand_registers import registers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax import nodes
    from pyptx_transpile.reading.rows import Body

__all__ = ["Uses", "uses_of"]

_FEWEST = 2  # minimum instructions that read a register with a name
# Opcodes of instructions whose first operand is read, not written.
_NO_RESULTS = frozenset({"st", "red", "bar", "bra", "call", "brx"})


@dataclass(slots=True)
class Uses:
    """Number of writes and reads of each register in a body.

    `early`: registers read before the instruction that writes them. `once`: registers that are the first operand of one
    instruction and occur in one other place.
    """

    written: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    read: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    early: set[str] = field(default_factory=set[str])
    once: set[str] = field(default_factory=set[str])

    def take(self, node: nodes.Instruction, names: Sequence[str], first: int) -> None:
        """Count the next instruction's registers `names`, of which the first `first` are those of its first operand."""
        if node.opcode[0] in _NO_RESULTS or not first or type(node.operands[0]) is tree.Address:
            first = 0
        for name in names[first:] if node.guard is None else (*names[first:], node.guard.register):
            self.read[name] += 1
            if name not in self.written:
                self.early.add(name)
        for name in names[:first]:
            self.written[name] += 1

    def is_known(self, name: str) -> bool:
        """Return whether a register holds one value at all its reads."""
        return self.written.get(name) == 1 and name not in self.early

    def is_one_value(self, name: str) -> bool:
        """Return whether a register holds one value that is read often enough to be worth a name."""
        return self.is_known(name) and self.read.get(name, 0) >= _FEWEST


def uses_of(body: Body) -> Uses:
    """Return the register uses of a function's body, counted once."""
    return body.derived(_counted)


def _counted(body: Body) -> Uses:
    uses = Uses()
    first: defaultdict[str, int] = defaultdict(int)
    named: defaultdict[str, int] = defaultdict(int)
    for _, node in body.instructions():
        names, count = registers_of(node)
        uses.take(node, names, count)
        if node.operands and type(node.operands[0]) is tree.Register:
            first[names[0]] += 1
        for name in names if node.guard is None else (*names, node.guard.register):
            named[name] += 1
    uses.once = {name for name, times in first.items() if times == 1 and named[name] == 2}
    return uses
