"""Find the position at which parsing resumes after an invalid statement."""

from __future__ import annotations

import re

# A lexeme in text that the parser skips after an error; an unclosed comment extends to the end of the text. A run of
# opening braces is one match, except its last brace, which may open a block.
_STEP = re.compile(
    r"""(?P<comment>//[^\n]*+ | /\*(?s:.*?)\*/)
      | (?P<open>/\*(?s:.*))
      | (?P<line>\n\s*+)
      | (?P<blank>[^\S\n]++)
      | (?P<mark>[;}] | \(++ | \)++ | \{+(?=\{) | \{)
      | (?:"[^"\n]*+" | [^\s;{}()"/]++ | /(?![/*]))++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_TRIVIA = frozenset({"comment", "line", "blank"})
# Matches the start of a line that cannot continue the previous statement.
_BEGINNING = re.compile(
    r"""@!?[%\w] | \.[a-z] | [{}]
      | [A-Za-z_$%][\w$]*+\s*+:(?!:)
      | [a-z]\w*+(?:\.\w++)++
      | (?:ret|exit|trap|brkpt|call|bra)\b
    """,
    re.ASCII | re.VERBOSE,
)

# Text after an opening brace: a block continues on a new line, a vector on the same line.
_OPENS_BLOCK = re.compile(r"[ \t\r]*+(?://[^\n]*+)?+\n")


def resume(text: str, start: int, fault: int) -> int:
    """Return the end of the invalid statement at `start`, given the parser's error position `fault`.

    It is after the statement's `;`, or before text that must be another statement: a line with a statement's beginning,
    or a brace. It is always greater than `start`.
    """
    if text.startswith("{", start):
        return _matching(text, start)
    end = _last(text, start, fault)
    steps = _Steps(text, start, fault, end)
    at = fault
    while at < len(text):
        if steps.begins_statement(text, at, start):
            return steps.end
        found = _STEP.match(text, at)
        if found is None:
            break
        if found["mark"] == ";":
            return found.end()
        if steps.stops(text, found, start):
            return steps.end
        steps.over(found)
        at = found.end()
    return max(steps.end, start + 1)


class _Steps:
    """State while invalid text is skipped: the end of the last lexeme, open parentheses and braces."""

    __slots__ = ("braces", "directive", "end", "fresh", "parens")

    def __init__(self, text: str, start: int, fault: int, end: int) -> None:
        self.directive = text.startswith(".", start)
        # Each parameter of a function may be on a line of its own, which looks like a declaration.
        self.parens = text.count("(", start, fault) - text.count(")", start, fault) if self.directive else 0
        self.braces = 0 if self.directive else text.count("{", start, fault) - text.count("}", start, fault)
        self.end = end
        self.fresh = "\n" in text[end:fault]

    def begins_statement(self, text: str, at: int, start: int) -> bool:
        return self.fresh and self.end > start and self.parens <= 0 and _BEGINNING.match(text, at) is not None

    def stops(self, text: str, found: re.Match[str], start: int) -> bool:
        """Return whether a brace ends the invalid statement: it closes an enclosing block, or opens one after it."""
        mark = found["mark"]
        if self.end <= start or mark is None or mark[0] not in "{}":
            return False
        if mark == "}":
            return self.braces <= 0
        return self.directive or _OPENS_BLOCK.match(text, found.end()) is not None

    def over(self, found: re.Match[str]) -> None:
        kind = found.lastgroup
        if kind == "line":
            self.fresh = True
        elif kind not in _TRIVIA:
            self.fresh = False
            self.end = found.end()
        if kind == "mark":
            mark = found[0]
            self.parens += mark.count("(") - mark.count(")")
            self.braces += mark.count("{") - mark.count("}")


def _matching(text: str, start: int) -> int:
    """Return the end of the block that opens at offset `start`."""
    depth, at = 0, start
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            break
        at = found.end()
        if found.lastgroup == "mark":
            depth += found[0].count("{") - found[0].count("}")
        if depth == 0:
            break
    return at


def _last(text: str, start: int, fault: int) -> int:
    """Return the end of the last lexeme before the offset `fault`."""
    end = at = start
    while at < fault:
        found = _STEP.match(text, at)
        if found is None:
            break
        at = found.end()
        if found.lastgroup not in _TRIVIA:
            end = at
    return min(end, fault)
