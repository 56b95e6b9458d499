"""Options of `ptx.formatted` for one statement: leading whitespace, source text, disabled checks."""

from __future__ import annotations

import re

from pyptx_dsl.errors import ControlFlowError, SpellingError
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.drafts import rewritten
from pyptx_ir.values import Value, value


@value
class Deviation(Value):
    """Formatting of a statement: `leading_trivia` and source text `spelling`, each None if formatted as usual."""

    leading_trivia: str | None = None
    spelling: str | None = None
    unchecked: bool = False

    def behind(self, comment: str, usual: str) -> str:
        """Return the leading trivia of a statement: its comments, and the explicit or `usual` whitespace."""
        leading_trivia = usual if self.leading_trivia is None else self.leading_trivia
        return comment + leading_trivia if comment else leading_trivia

    def of(self, node: nodes.Statement, comment: str = "") -> nodes.Statement:
        """Return the statement with its formatting, after its comments.

        Raises SpellingError for a text that does not parse to the same statement.
        """
        raw = None if self.spelling is None else spelled(node, self.spelling)
        return rewritten(node, self.behind(comment, nodes.trivia_of(node)), node.raw if raw is None else raw)


AS_USUAL = Deviation()


_GAP = re.compile(r"[ \t]+")


class NextStatement:
    """Comments and formatting for the next statement or brace; `waiting`: whether any are set."""

    __slots__ = ("_comment", "_deviation", "waiting")

    def __init__(self) -> None:
        """Start without comments and formatting for the next statement."""
        self.waiting = False
        self._comment = ""
        self._deviation = AS_USUAL

    def comment(self, text: str) -> None:
        """Append comment lines, with their leading whitespace, to the comments before the next statement."""
        self._comment += text
        self.waiting = True

    def deviate(self, deviation: Deviation) -> None:
        """Set the formatting of the next statement; raise ControlFlowError if it is already set."""
        if self._deviation is not AS_USUAL:
            raise ControlFlowError(
                "no statement follows the previous ptx.formatted", help="pass all options to one ptx.formatted"
            )
        self._deviation = deviation
        self.waiting = True

    @property
    def unchecked(self) -> bool:
        """Whether checks are disabled for the next statement."""
        return self._deviation.unchecked

    def take_spelling(self) -> str | None:
        """Return and reset only the source text of the next statement, for a statement that is completed later."""
        spelling = self._deviation.spelling
        if spelling is not None:
            self._deviation = Deviation(self._deviation.leading_trivia, None, self._deviation.unchecked)
        return spelling

    def end(self) -> str:
        """Return the comments after the last statement; raise ControlFlowError for formatting without a statement."""
        if self._deviation is not AS_USUAL:
            raise ControlFlowError(
                "no statement follows the previous ptx.formatted",
                help="emit a statement after ptx.formatted, or remove it",
            )
        return self._comment

    def take(self) -> tuple[str, Deviation]:
        """Return and reset the comments and the formatting of the next statement."""
        said = self._comment, self._deviation
        self._comment, self._deviation, self.waiting = "", AS_USUAL, False
        return said


def spelled(node: nodes.Statement, spelling: str, behind: str = "") -> str:
    """Return `spelling` if, followed by `behind`, it parses to exactly this statement; else raise SpellingError."""
    from pyptx_ir.syntax import PtxSyntaxError, parse_statements, spell

    if _GAP.sub(" ", spelling) == spell(node) and '"' not in spelling:
        return spelling  # fast path: `spelling` differs from the canonical text only in spaces and tabs
    try:
        statements = parse_statements(spelling + behind, "<spelling>")
    except PtxSyntaxError as error:
        raise SpellingError(
            f"the source text {spelling!r} is not valid PTX: {error.message}", help=error.help
        ) from None
    if statements == (node,):
        return spelling
    raise SpellingError(
        f"the source text {spelling!r} parses as another statement", help=f"the statement is: {spell(node).strip()}"
    )


def lost(deviation: Deviation) -> ControlFlowError:
    """Return the error for formatting that no statement follows."""
    said = "unchecked=True" if deviation.spelling is None else f"the source text {deviation.spelling!r}"
    help = "put ptx.formatted before the statement that it formats"
    return ControlFlowError(f"ptx.formatted: no statement follows {said}", help=help)
