"""What is said of one statement alone: its white space, its spelling, whether it is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_dsl.errors import SpellingError
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from pyptx_ir.syntax import nodes


@value
class Deviation(Value):
    """`lead` stands in front of the statement, `spelling` is its text; None is what canonical text has there."""

    lead: str | None = None
    spelling: str | None = None
    unchecked: bool = False

    def of(self, node: nodes.Statement, before: str = "") -> nodes.Statement:
        """Return the statement as it is to be written, with `before`, a comment, in front of its lead.

        Raise SpellingError for a spelling that does not read as the same statement.
        """
        raw = None if self.spelling is None else spelled(node, self.spelling)
        lead = before + (node.lead if self.lead is None else self.lead)
        return replace(node, lead=lead, raw=node.raw if raw is None else raw)


def spelled(node: nodes.Statement, spelling: str, behind: str = "") -> str:
    """Return a spelling that, with `behind`, reads as exactly this statement; raise SpellingError for any other."""
    from pyptx_ir.syntax import PtxSyntaxError, parse_statements, spell

    try:
        statements = parse_statements(spelling + behind, "<spelling>")
    except PtxSyntaxError as error:
        raise SpellingError(f"the spelling {spelling!r} is no PTX: {error.message}", hint=error.hint) from None
    if statements == (node,):
        return spelling
    raise SpellingError(
        f"the spelling {spelling!r} reads as another statement", hint=f"the statement is: {spell(node).strip()}"
    )
