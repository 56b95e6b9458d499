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


def resume(text: str, start: int, fault: int) -> int:
    """Return where the wrong statement at `start` ends, which the parser refused at `fault`.

    That is behind its `;`, or in front of what can only be another statement: a line that begins like one, a brace. It
    always lies behind `start`.
    """
    directive = text.startswith(".", start)
    depth = text.count("(", start, fault) - text.count(")", start, fault) if directive else 0
    end = _last(text, start, fault)
    at, fresh = fault, "\n" in text[end:fault]
    while at < len(text):
        if fresh and end > start and depth <= 0 and _BEGINNING.match(text, at):
            return end
        found = _STEP.match(text, at)
        if found is None:
            break
        kind, mark = found.lastgroup, found["mark"]
        if mark == ";":
            return found.end()
        if end > start and (mark == "}" or (mark == "{" and directive)):
            return end
        depth += (mark == "(") - (mark == ")")
        at = found.end()
        fresh = kind == "line" or (fresh and kind == "comment")
        if found[0].strip() and kind != "comment":
            end = at
    return max(end, start + 1)


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
