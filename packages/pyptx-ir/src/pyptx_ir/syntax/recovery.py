"""Where reading goes on after a statement that is wrong."""

from __future__ import annotations

import re

# A piece of text that is being stepped over; an unclosed comment takes all that is left. A run of opening braces is one
# but for its last, behind which a block may begin.
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
    """Return where the block that opens at `start` ends."""
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
    """Return where the last lexeme in front of `fault` ends."""
    end = at = start
    while at < fault:
        found = _STEP.match(text, at)
        if found is None:
            break
        at = found.end()
        if found.lastgroup not in _TRIVIA:
            end = at
    return min(end, fault)
