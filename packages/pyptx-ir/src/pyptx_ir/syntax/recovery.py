"""Where reading goes on after a statement that is wrong."""

from __future__ import annotations

import re

# One lexeme of text that is being stepped over; an unclosed comment takes all that is left.
_STEP = re.compile(
    r"""(?P<comment>//[^\n]*+ | /\*(?s:.*?)\*/)
      | (?P<open>/\*(?s:.*))
      | (?P<line>\n\s*+)
      | \s++
      | (?P<mark>[;{}()])
      | "[^"\n]*+" | [^\s;{}()"/]++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
# What begins a line and can't be the middle of a statement.
_BEGINNING = re.compile(
    r"""@!?[%\w] | \.[a-z] | [{}]
      | [A-Za-z_$%][\w$]*+\s*+:(?!:)
      | [a-z]\w*+(?:\.\w++)++
      | (?:ret|exit|trap|brkpt|call|bra)\b
    """,
    re.ASCII | re.VERBOSE,
)

# A vector goes on behind its brace; a block begins a new line.
_OPENS_BLOCK = re.compile(r"[ \t\r]*+(?://[^\n]*+)?+\n")


def resume(text: str, start: int, fault: int) -> int:
    """Return where the wrong statement at `start` ends, which the parser refused at `fault`.

    That is behind its `;`, or in front of what can only be another statement: a line that begins like one, a brace. It
    always lies behind `start`.
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
    """What is known while text is stepped over: where the last lexeme ended, open parentheses and braces."""

    __slots__ = ("braces", "directive", "end", "fresh", "parens")

    def __init__(self, text: str, start: int, fault: int, end: int) -> None:
        self.directive = text.startswith(".", start)
        # The parameters of a function stand in lines of their own that look like declarations.
        self.parens = text.count("(", start, fault) - text.count(")", start, fault) if self.directive else 0
        self.braces = 0 if self.directive else text.count("{", start, fault) - text.count("}", start, fault)
        self.end = end
        self.fresh = "\n" in text[end:fault]

    def begins_statement(self, text: str, at: int, start: int) -> bool:
        return self.fresh and self.end > start and self.parens <= 0 and _BEGINNING.match(text, at) is not None

    def stops(self, text: str, found: re.Match[str], start: int) -> bool:
        """Tell whether a brace ends the statement: it closes a block around it, or opens one behind it."""
        mark = found["mark"]
        if self.end <= start or mark not in {"{", "}"}:
            return False
        if mark == "}":
            return self.braces <= 0
        return self.directive or _OPENS_BLOCK.match(text, found.end()) is not None

    def over(self, found: re.Match[str]) -> None:
        mark, comment = found["mark"], found.lastgroup == "comment"
        self.parens += (mark == "(") - (mark == ")")
        self.braces += (mark == "{") - (mark == "}")
        self.fresh = found.lastgroup == "line" or (self.fresh and comment)
        if found[0].strip() and not comment:
            self.end = found.end()


def _matching(text: str, start: int) -> int:
    """Return where the block that opens at `start` ends."""
    depth, at = 0, start
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            break
        at = found.end()
        depth += (found["mark"] == "{") - (found["mark"] == "}")
        if depth == 0:
            break
    return at


def _last(text: str, start: int, fault: int) -> int:
    """Return where the last lexeme in front of `fault` ends."""
    end = at = start
    while at < fault:
        found = _STEP.match(text, at)
        if found is None:
            break
        at = found.end()
        if found[0].strip() and found.lastgroup != "comment":
            end = at
    return min(end, fault)
