"""What compilers count in their comments: calls, and the basic blocks of a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Function, Label
from pyptx_ir.syntax.style.items import TO_LINE

if TYPE_CHECKING:
    from pyptx_ir.syntax.style.items import Item

# What ends a basic block.
_BRANCHES = frozenset({"bra", TO_LINE, "brx", "ret", "exit", "trap"})
_LABEL = re.compile(r"BB(?:[0-9]+_)?([0-9]{1,9})\Z", re.ASCII)
_BLOCK = re.compile(r"// %bb\.([0-9]{1,9}):", re.ASCII)
_CALL = re.compile(r"// callseq ([0-9]{1,9})(, )?", re.ASCII)


class Counts:
    """Counts along a row of items, in the order of the text.

    Where compilers do not lay code out in the order in which they have counted, their comments say so: what is counted
    goes on from there.
    """

    def __init__(self) -> None:
        """Begin a module."""
        self._calls = self._block = 0
        self._last = ""

    def enter(self, item: Item) -> None:
        """Let an item know how many calls and, as LLVM numbers them, basic blocks are before it."""
        node = item.node
        if isinstance(node, Function):
            self._block = 0
        elif isinstance(node, Label):
            found = _LABEL.search(node.name)
            self._block = int(found[1]) if found else self._block
        elif self._last in _BRANCHES and item.name not in _BRANCHES:
            self._block += 1
        item.calls, item.block = self._calls, self._block
        self._last = item.name

    def leave(self, lead: str) -> None:
        """Go on behind the item that was entered, by what stands in front of it."""
        if "//" in lead:
            for block in _BLOCK.finditer(lead):
                self._block = int(block[1])
            for call in _CALL.finditer(lead):
                self._calls = int(call[1]) + (call[2] is None)
        self._calls += self._last == "call"
