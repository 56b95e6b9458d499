"""Words of PTX: trivia, tokens, and a cursor that walks over them.

Manual: "Syntax". Identifiers are ASCII; bytes beyond it can stand in comments and strings only. The quantifiers are
possessive, so that no text makes a match backtrack.
"""

from __future__ import annotations

import re

from pyptx_ir.syntax.failure import Failure

TRIVIA_PATTERN = r"(?:[ \t\r\n\f\v]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
TRIVIA = re.compile(TRIVIA_PATTERN)

IDENTIFIER_PATTERN = r"[A-Za-z%_$][\w$]*+"
COMPONENT_PATTERN = r"(?:\.(?:[xyzwrgba]|[bh][0-7])(?![\w$]))?"

TOKEN = re.compile(
    rf"""
      (?P<name>{IDENTIFIER_PATTERN}{COMPONENT_PATTERN})
    | (?P<number>0[fF][0-9a-fA-F]{{8}}(?![\w.]) | 0[dD][0-9a-fA-F]{{16}}(?![\w.]) | 0[xX][0-9a-fA-F]++U? | 0[bB][01]++U?
        | \d++\.\d*+(?:[eE][+-]?\d++)? | \d++[eE][+-]?\d++ | \.\d++(?:[eE][+-]?\d++)? | \d++U?)
    | (?P<word>\.[A-Za-z_][\w$]*+(?:::\w++)*+)
    | (?P<string>"(?:[^"\\\n]|\\.)*+")
    | (?P<mark><<|>>|<=|>=|==|!=|&&|\|\||.)
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

OPCODE = re.compile(r"[A-Za-z_][\w$]*+(?:\.[\w:]++)*+", re.ASCII)
MODIFIERS = re.compile(r"(?:\.[\w:]++)++", re.ASCII)


class Cursor:
    """One token of look-ahead over a text.

    `text` is the current token's text ("" at the end), `kind` its group in `TOKEN`, `start` and `end` its offsets;
    `last` is the end of the token before it.
    """

    __slots__ = ("end", "kind", "last", "source", "start", "text")

    def __init__(self, source: str, at: int = 0) -> None:
        """Stand on the first token at or behind `at`."""
        self.source = source
        self.last = self.end = at
        self.move_to(at)

    def move_to(self, at: int) -> None:
        """Stand on the first token at or behind `at`."""
        trivia = TRIVIA.match(self.source, at)
        self.start = trivia.end() if trivia else at
        token = TOKEN.match(self.source, self.start)
        if token is None:
            self.text = self.kind = ""
            self.end = self.start
            return
        self.text = token.group()
        self.kind = token.lastgroup or ""
        self.end = token.end()

    def advance(self) -> str:
        """Step over the current token and return its text."""
        text = self.text
        self.last = self.end
        self.move_to(self.end)
        return text

    def accept(self, text: str) -> bool:
        """Step over the current token if it is `text`."""
        if self.text != text:
            return False
        self.advance()
        return True

    def expect(self, text: str, hint: str | None = None) -> None:
        """Step over `text`, or fail."""
        if not self.accept(text):
            raise self.failure(f"expected '{text}'", hint)

    def expect_kind(self, kind: str, what: str) -> str:
        """Step over a token of `kind`, called `what` in the message, and return it."""
        if self.kind != kind:
            raise self.failure(f"expected {what}")
        return self.advance()

    def integer(self, what: str = "an integer") -> int:
        """Step over an integer literal and return its value."""
        if self.kind != "number" or not (self.text[:1].isdigit() and self.text.replace("U", "").isalnum()):
            raise self.failure(f"expected {what}")
        text = self.advance().rstrip("U")
        try:
            return int(text, 8 if len(text) > 1 and text[0] == "0" and text.isdigit() else 0)
        except ValueError:
            raise Failure(f"expected {what}, not {text}", self.last - len(text), self.last) from None

    def failure(self, message: str, hint: str | None = None) -> Failure:
        """Make a failure that points at the current token and says what stands there."""
        if not self.text:
            return Failure(f"{message}, but the text ends", self.start, self.start + 1, hint)
        if self.source.startswith("/*", self.start):
            return Failure("this comment is never closed", self.start, self.start + 2, "close it with */")
        if self.text == '"':
            return Failure("this string is never closed", self.start, self.end, 'close it with " on the same line')
        if not self.text.isprintable():
            code = ord(self.text[0])
            return Failure(f"{message}, not the character U+{code:04X}", self.start, self.end, hint)
        found = self.text if len(self.text) <= 40 else self.text[:37] + "..."  # noqa: PLR2004 - a readable length
        return Failure(f"{message}, not '{found}'", self.start, self.end, hint)
