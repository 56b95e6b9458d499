"""What is said of one statement alone: its white space, its spelling, whether it is checked."""

from __future__ import annotations

import re

from pyptx_dsl.errors import ControlFlowError, SpellingError
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.drafts import rewritten
from pyptx_ir.values import Value, value


@value
class Deviation(Value):
    """`lead` stands in front of the statement, `spelling` is its text; None is what canonical text has there."""

    lead: str | None = None
    spelling: str | None = None
    unchecked: bool = False

    def behind(self, comment: str, usual: str) -> str:
        """Return what stands in front of the statement: the comments, and the lead that was said or is usual."""
        lead = usual if self.lead is None else self.lead
        return comment + lead if comment else lead

    def of(self, node: nodes.Statement, comment: str = "") -> nodes.Statement:
        """Return the statement as it is to be written, behind its comments.

        Raise SpellingError for a spelling that does not read as the same statement.
        """
        raw = None if self.spelling is None else spelled(node, self.spelling)
        return rewritten(node, self.behind(comment, nodes.lead_of(node)), node.raw if raw is None else raw)


AS_USUAL = Deviation()


_GAP = re.compile(r"[ \t]+")


class NextStatement:
    """What has been said of the statement, or the brace, that comes next; `waiting` tells whether there is anything."""

    __slots__ = ("_comment", "_deviation", "waiting")

    def __init__(self) -> None:
        """Start with nothing."""
        self.waiting = False
        self._comment = ""
        self._deviation = AS_USUAL

    def comment(self, text: str) -> None:
        """Put lines of comment in front of it, with their white space."""
        self._comment += text
        self.waiting = True

    def deviate(self, deviation: Deviation) -> None:
        """Say how it is written; raise ControlFlowError if that has been said of it."""
        if self._deviation is not AS_USUAL:
            raise ControlFlowError("no statement has come since the last `written`", hint="say all of one in one call")
        self._deviation = deviation
        self.waiting = True

    @property
    def unchecked(self) -> bool:
        """Whether it is written unchecked."""
        return self._deviation.unchecked

    def take_spelling(self) -> str | None:
        """Take the spelling alone, for a statement that is not complete when it comes."""
        spelling = self._deviation.spelling
        if spelling is not None:
            self._deviation = Deviation(self._deviation.lead, None, self._deviation.unchecked)
        return spelling

    def end(self) -> str:
        """Return the comments behind the last statement; raise ControlFlowError for what is said of no statement."""
        if self._deviation is not AS_USUAL:
            raise ControlFlowError("no statement has come since the last `written`", hint="write it, or say nothing")
        return self._comment

    def take(self) -> tuple[str, Deviation]:
        """Return the comments and how it is written, of the statement that comes now."""
        said = self._comment, self._deviation
        self._comment, self._deviation, self.waiting = "", AS_USUAL, False
        return said


def spelled(node: nodes.Statement, spelling: str, behind: str = "") -> str:
    """Return a spelling that, with `behind`, reads as exactly this statement; raise SpellingError for any other."""
    from pyptx_ir.syntax import PtxSyntaxError, parse_statements, spell

    if _GAP.sub(" ", spelling) == spell(node) and '"' not in spelling:
        return spelling  # other gaps than canonical text has, between the same words and marks: most spellings
    try:
        statements = parse_statements(spelling + behind, "<spelling>")
    except PtxSyntaxError as error:
        raise SpellingError(f"the spelling {spelling!r} is no PTX: {error.message}", hint=error.hint) from None
    if statements == (node,):
        return spelling
    raise SpellingError(
        f"the spelling {spelling!r} reads as another statement", hint=f"the statement is: {spell(node).strip()}"
    )


def lost(deviation: Deviation) -> ControlFlowError:
    """Return the error for what is said of a statement that does not come."""
    said = "unchecked=True" if deviation.spelling is None else f"the spelling {deviation.spelling!r}"
    hint = "ptx.written stands in front of the statement that it is about"
    return ControlFlowError(f"no statement follows for {said}", hint=hint)
