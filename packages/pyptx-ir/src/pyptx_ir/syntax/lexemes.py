"""Lexemes of PTX, as regular expressions. Manual: "Syntax".

Beyond the manual, as in ptxas 13.0: line markers, `# 1 "kernel.cu"`, are trivia anywhere; strings have no escapes;
whitespace may separate an opcode from its modifiers. In addition, the lines that `cuobjdump -ptx` prints before each
module are trivia, so that its listing parses.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SPACE = r"[ \t\r\n\f]++"
# No group here backtracks: before Python 3.11.5, re mishandled backtracking inside possessive groups (gh-106052).
COMMENT_TEXT = r"//[^\n\0]*+|/\*[^*\0]*+\*++(?:[^*/\0][^*\0]*+\*++)*+/"
_LINE_MARKER = r'#[ \t]*+(?:line[ \t]++)?+[0-9]++[ \t]++"[^"\\\n\0]*+"(?:[ \t]++[0-9])*+[ \t\r]*+(?=\n)'
_LISTING = (
    r"(?m:^)Fatbin \w++ code:[^\n\0]*+\n=++\r?\n(?:(?:compressed|[A-Za-z_][\w ]*+ ?= )[^\n\0]*+(?:\n|\Z))*+"
    r"|(?m:^)member [^\n\0]*+:(?=\r?\n)"
)
TRIVIA_TEXT = rf"(?:{_SPACE}|{COMMENT_TEXT}|{_LINE_MARKER}|{_LISTING})*+"
# Frequent patterns list their characters: `re` tests a list with a bitmap, but `\w` with a call per character.
WORD, BLANK = "A-Za-z0-9_", r" \t\r\n\f"
NAME_TEXT = rf"(?:[A-Za-z][{WORD}$]*+|[_$%][{WORD}$]++)"
_FIRST = r"[.@A-Za-z_$%{}]"
# A statement without `;` ends if the next line begins with a word, a guard or a brace.
END_OF_LINE_TEXT = rf"(?=\n\t?{_FIRST}|[ \t\r]*+(?://[^\n\0]*+)?+\n(?:[{BLANK}]++|//[^\n\0]*+)*+{_FIRST})"
# Number of binary digits in 64 bits. Python accepts at most 4300 decimal digits; ptxas is limited to 64 bits.
MOST_DIGITS = 64
_SOME = rf"{{1,{MOST_DIGITS}}}+"
DIGITS_TEXT = rf"[0-9]{_SOME}"
INTEGER_TEXT = rf"(?:0[xX][0-9a-fA-F]{_SOME}|0[bB][01]{_SOME}|{DIGITS_TEXT})U?"

# All patterns are ASCII: `\w` is a letter, digit or underscore as in the manual.
TRIVIA = re.compile(TRIVIA_TEXT, re.ASCII)
NAME = re.compile(NAME_TEXT, re.ASCII)
COMPONENT = re.compile(r"\.[A-Za-z_]\w*+", re.ASCII)
SECTION_NAME = re.compile(r"\.[A-Za-z][\w$]*+", re.ASCII)
DOTTED_NAME = re.compile(rf"\.[A-Za-z_][\w.$]*+|{NAME_TEXT}", re.ASCII)
OPCODE = re.compile(r"[A-Za-z]\w*+", re.ASCII)
MODIFIER = re.compile(r"\.(\w++(?:::(?:[0-9]++:[0-9]++|\w++))*+(?:(?<=const)\[[0-9]++\])?)", re.ASCII)
KEYWORD = re.compile(r"\.([A-Za-z_]\w*+(?:::\w++)*+(?:(?<=const)\[[0-9]++\])?)", re.ASCII)
INTEGER = re.compile(rf"{INTEGER_TEXT}(?![\w$.])", re.ASCII)
NUMBER = re.compile(
    rf"""(?: 0[fF][0-9a-fA-F]{{8}}
           | 0[dD][0-9a-fA-F]{{16}}
           | (?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+
           | [0-9]++[eE][+-]?[0-9]++
           | {INTEGER_TEXT}
         )(?![\w$])""",
    re.ASCII | re.VERBOSE,
)
SECTION = re.compile(r"\.section(?![\w$])", re.ASCII)
TOO_LONG = re.compile(rf"(?:0[xXbB])?+[0-9a-fA-F]{{{MOST_DIGITS + 1}}}", re.ASCII)
VERSION = re.compile(rf"({DIGITS_TEXT})\.({DIGITS_TEXT})(?![\w$.])", re.ASCII)
STRING = re.compile(r'"([^"\n\0]*+)"')
TARGET_NAME = re.compile(r"\w++", re.ASCII)
# A `%` before a letter begins a register name.
OPERATOR = re.compile(r"\|\||&&|==|!=|<=|>=|<<|>>|%(?![\w$])|[|^&<>+\-*/?]", re.ASCII)
UNIFIED = re.compile(r"\.unified(?![\w$])", re.ASCII)
CAST = re.compile(r"\.[su]64(?!\w)", re.ASCII)
FOUND = re.compile(rf"{NUMBER.pattern}|[\w$%.]++|::|[|&=<>!]=|<<|>>|&&|\|\||.", re.ASCII | re.VERBOSE | re.DOTALL)


@lru_cache(maxsize=4096)
def integer(text: str) -> int:
    """Return the value of an integer literal: decimal, hexadecimal, binary or octal, with or without suffix `U`."""
    digits = text.rstrip("U")
    if digits[:2].lower() in {"0x", "0b"}:
        return int(digits, 0)
    octal = len(digits) > 1 and digits[0] == "0" and "8" not in digits and "9" not in digits
    return int(digits, 8 if octal else 10)
