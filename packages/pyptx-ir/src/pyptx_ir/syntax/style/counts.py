"""Counters in compilers' comments: the calls, and the basic blocks of a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from pyptx_ir.syntax.nodes import Function, Label
from pyptx_ir.syntax.style.items import TO_LINE

if TYPE_CHECKING:
    from pyptx_ir.syntax.style.items import Item

# Opcodes of instructions that end a basic block.
_BRANCHES = frozenset({"bra", TO_LINE, "brx", "ret", "exit", "trap"})
_LABEL = re.compile(r"BB(?:[0-9]+_)?([0-9]{1,9})\Z", re.ASCII)
_BLOCK = re.compile(r"// %bb\.([0-9]{1,9}):", re.ASCII)
_CALL = re.compile(r"// callseq ([0-9]{1,9})(, )?", re.ASCII)


class Counts:
    """Counters of calls and basic blocks over the statements of a module, in text order.

    Compilers do not always emit code in the order of their numbering. Their comments then contain the numbers, and
    counting continues from there.
    """

    def __init__(self) -> None:
        """Start both counters, of calls and of basic blocks, at 0."""
        self._calls = self._block = 0
        self._last = ""

    def enter(self, item: Item) -> None:
        """Set `item.calls`, the number of preceding calls, and `item.block`, LLVM's number of the basic block."""
        kind, last, name = item.node.__class__, self._last, item.name
        if last == "call":
            self._calls += 1
        if kind is Function:
            self._block = 0
        elif kind is Label:
            found = _LABEL.search(cast("Label", item.node).name)
            self._block = int(found[1]) if found else self._block
        elif last in _BRANCHES and name not in _BRANCHES:
            self._block += 1
        item.calls, item.block = self._calls, self._block
        self._last = name

    def hear(self, leading_trivia: str) -> None:
        """Set the counters to the call and block numbers in comments of leading trivia."""
        for block in _BLOCK.finditer(leading_trivia):
            self._block = int(block[1])
        for call in _CALL.finditer(leading_trivia):
            self._calls = int(call[1]) + (call[2] is None)
