"""The statements of one `{ … }` while they are recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.tracing.deviations import spelled
from pyptx_ir.syntax.drafts import rewritten

if TYPE_CHECKING:
    from pyptx_dsl.origin import Site
    from pyptx_dsl.registers.offsets import OffsetSlot
    from pyptx_ir.syntax import nodes


class Scope:
    """The statements of one `{ … }` while it is open; `sites[i]` is the code position that emitted `nodes[i]`."""

    __slots__ = ("closing_trivia", "indent", "leading_trivia", "nodes", "sites")

    def __init__(self, indent: int, leading_trivia: str) -> None:
        """Start an empty scope: `indent` tabs before its statements, `leading_trivia` before each of its braces."""
        self.indent = indent
        self.leading_trivia = leading_trivia
        self.nodes: list[nodes.Statement | OffsetSlot | Scope] = []
        self.sites: list[Site] = []
        self.closing_trivia = leading_trivia

    def spell(self, node: nodes.Instruction, spelling: str) -> None:
        """Set the source text of an instruction; raise SpellingError if the text parses to another statement."""
        index = next(index for index in range(len(self.nodes) - 1, -1, -1) if self.nodes[index] is node)
        self.nodes[index] = rewritten(node, node.leading_trivia, spelled(node, spelling))
