"""Open braces while parsing, and the statements that they become when closed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pyptx_ir.syntax.nodes import Block, Function, Section, Statement
from pyptx_ir.values import draft

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Invalid, Label, SectionData

_BlockDraft = draft(Block)
# Maximum depth of blocks: comparing and copying a tree are recursive; compilers nest blocks a dozen deep.
DEEPEST_BLOCK = 100


@dataclass(slots=True)
class OpenBrace:
    """An open brace: leading trivia, position, preceding header, and the statements read so far."""

    leading_trivia: str
    at: int
    header: Function | Section | None = None
    items: list[Statement] = field(default_factory=list[Statement])

    def closed(self, closing_trivia: str) -> Statement:
        """Return the statement for a closed brace: a block, or the header with its body."""
        header = self.header
        if isinstance(header, Section):
            # The parser accepts only these statement classes in a section.
            lines = cast("tuple[SectionData | Label | Invalid, ...]", tuple(self.items))
            return replace(header, body=lines, closing_trivia=closing_trivia)
        block = _block(tuple(self.items), closing_trivia, self.leading_trivia)
        if header is None:
            return block
        # Set the body of a frozen `Function` node, which nothing but the parser refers to yet.
        object.__setattr__(header, "body", block)
        return header


def _block(body: tuple[Statement, ...], closing_trivia: str, leading_trivia: str) -> Block:
    node: Any = _BlockDraft()
    node.leading_trivia = leading_trivia
    node.raw = None
    node.body = body
    node.closing_trivia = closing_trivia
    node.__class__ = Block
    done: Block = node
    return done
