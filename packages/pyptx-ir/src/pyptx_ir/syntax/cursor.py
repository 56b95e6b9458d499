"""A position in PTX text that advances lexeme by lexeme."""

from __future__ import annotations

import re
from typing import NoReturn, TypedDict

from pyptx_ir.syntax.lexemes import FOUND, INTEGER, MOST_DIGITS, NAME, STRING, TOO_LONG, TRIVIA, integer

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SHOWN = 40
BYTE_ORDER_MARK = "\ufeff"


class SyntaxFault(Exception):  # noqa: N818 - internal to the parser, which converts it to a PtxSyntaxError
    """A syntax error: message, position and hint."""

    def __init__(self, message: str, start: int, end: int, help: str | None = None) -> None:
        super().__init__(message)
        self.message, self.start, self.end, self.help = message, start, end, help


class Spelling(TypedDict):
    """Leading trivia and source text of one parsed statement."""

    leading_trivia: str
    raw: str


class Cursor:
    """Reads one lexeme at a time and skips the trivia before each.

    `at` is the start of the next lexeme or of its leading trivia; `end` is the end of the last lexeme.
    `leading_trivia` and `start` belong to the current statement.
    """

    __slots__ = ("_clean", "at", "end", "leading_trivia", "start", "text")

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = self.end = self.start = at
        self.leading_trivia = ""
        self._clean: int = -1

    def begin(self) -> str:
        """Start a statement: take its leading trivia, and return its first character (empty at the end of the text)."""
        at = self.skip()
        self.leading_trivia = self.text[self.end : at]
        self.start = self.end = at
        return self.text[at : at + 1]

    def spelling(self) -> Spelling:
        """Return the leading trivia and the source text of the statement, from its start to the last lexeme."""
        return {"leading_trivia": self.leading_trivia, "raw": self.text[self.start : self.end]}

    def skip(self) -> int:
        """Skip trivia, and return the offset of the next lexeme."""
        at = self.at
        if at != self._clean:
            found = TRIVIA.match(self.text, at)
            if found is not None:
                at = found.end()
            self._clean = self.at = at
        return at

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take the next lexeme if it matches `pattern`, and return the match."""
        found = pattern.match(self.text, self.skip())
        if found is not None:
            self.at = self.end = found.end()
        return found

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Take the next lexeme if it matches `pattern`, and return its text."""
        found = self.find(pattern)
        return None if found is None else found[0]

    def sees(self, mark: str) -> bool:
        """Return whether the next lexeme begins with `mark`."""
        return self.text.startswith(mark, self.skip())

    def eat(self, mark: str) -> bool:
        """Take `mark` if it is the next lexeme; return whether it was."""
        if not self.text.startswith(mark, self.skip()):
            return False
        self.at = self.end = self.at + len(mark)
        return True

    def need(self, mark: str, help: str | None = None) -> None:
        """Take `mark`; raise a `SyntaxFault` if the next lexeme is another."""
        if not self.eat(mark):
            self.refuse(f"'{mark}'", help)

    def name(self, what: str = "a name", help: str | None = None) -> str:
        """Take an identifier and return it; raise a `SyntaxFault` if the next lexeme is another."""
        return self.take(NAME) or self.refuse(what, help)

    def number(self, what: str = "an integer") -> int:
        """Take an integer literal and return its value; raise a `SyntaxFault` if the next lexeme is another."""
        return integer(self.take(INTEGER) or self.refuse(what))

    def string(self) -> str:
        """Take a string literal and return it without quotes; raise a `SyntaxFault` if the next lexeme is another."""
        found = self.find(STRING)
        return self.refuse("a string") if found is None else found[1]

    def refuse(self, expected: str, help: str | None = None) -> NoReturn:
        """Raise a `SyntaxFault` at the next lexeme, which is not the `expected` one."""
        at = self.skip()
        rest = self.text[at : at + _SHOWN]
        if not rest:
            raise SyntaxFault(f"expected {expected}, found the end of the text", at, at, help)
        if _CONTROL.match(rest):
            raise SyntaxFault(f"control character {rest[0]!r} in the text", at, at + 1, "remove it")
        if rest[0] == BYTE_ORDER_MARK:
            raise SyntaxFault("byte-order mark: ptxas does not accept it", at, at + 1, "remove the byte-order mark")
        if rest.startswith("/*"):
            raise SyntaxFault("comment is never closed", at, at + 2, "close the comment with '*/'")
        if rest[0] == '"' and not STRING.match(self.text, at):
            raise SyntaxFault("string is never closed", at, at + 1, "close the string with '\"' on the same line")
        if rest[0].isdecimal() and TOO_LONG.match(self.text, at):
            raise SyntaxFault(f"number of more than {MOST_DIGITS} digits", at, at + len(rest), "shorten the number")
        found = FOUND.match(rest)
        word = rest[0] if found is None else found[0]
        raise SyntaxFault(f"expected {expected}, found {word!r}", at, at + len(word), help)
