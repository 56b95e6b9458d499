"""Open braces, and the statements that they become when closed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pyptx_ir.syntax.nodes import Block, Function, Section, Statement
from pyptx_ir.values import draft

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Invalid, Label, SectionData

_BlockDraft = draft(Block)
# Comparing and copying a tree are recursive; compilers nest blocks a dozen deep.
DEEPEST_BLOCK = 100


@dataclass(slots=True)
class OpenBrace:
    """An open brace: leading trivia, position, preceding header, and the statements read so far."""

    lead: str
    at: int
    header: Function | Section | None = None
    items: list[Statement] = field(default_factory=list[Statement])

    def closed(self, close_lead: str) -> Statement:
        """Return one statement for the closed brace and its header."""
        header = self.header
        if isinstance(header, Section):
            # The parser accepts only these in a section.
            lines = cast("tuple[SectionData | Label | Invalid, ...]", tuple(self.items))
            return replace(header, body=lines, close_lead=close_lead)
        block = _block(tuple(self.items), close_lead, self.lead)
        if header is None:
            return block
        # Only the parser has a reference to this header, so this mutation is part of its construction.
        object.__setattr__(header, "body", block)
        return header


def _block(body: tuple[Statement, ...], close_lead: str, lead: str) -> Block:
    node: Any = _BlockDraft()
    node.lead = lead
    node.raw = None
    node.body = body
    node.close_lead = close_lead
    node.__class__ = Block
    done: Block = node
    return done
