"""Lines of Python for a call: on one line if it fits, else as formatters break it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH = 120  # columns


@dataclass(frozen=True, slots=True)
class Group:
    """A list of expressions between two texts: `[`, items, `]`, or `f(`, arguments, `)`."""

    opening: str
    items: tuple[Expression, ...]
    closing: str

    def __str__(self) -> str:
        """Return it on one line."""
        return f"{self.opening}{', '.join(map(str, self.items))}{self.closing}"


@dataclass(frozen=True, slots=True)
class Text:
    """A string of several lines, which may stand in pieces: `before` and its literals."""

    before: str
    whole: str
    pieces: tuple[str, ...]

    def __str__(self) -> str:
        """Return it on one line."""
        return f"{self.before}{self.whole}"


Expression: TypeAlias = "str | Group | Text"


def lines(expression: Expression, indent: int, before: str = "", behind: str = "") -> Iterator[str]:
    """Yield the lines of a statement that consists of an expression, indented by `indent` blocks.

    `before` and `behind` stand on its first and its last line. An expression that has no list to break is one line.
    """
    margin = "    " * indent
    whole = f"{margin}{before}{expression}{behind}"
    if len(whole) <= WIDTH or isinstance(expression, str):
        yield whole
        return
    if isinstance(expression, Text):
        fits = len(margin) + 4 + len(expression.whole) <= WIDTH
        yield f"{margin}{before}{expression.before}("
        yield from (f"{margin}    {piece}" for piece in ((expression.whole,) if fits else expression.pieces))
        yield f"{margin}){behind}"
        return
    if not expression.items:
        yield whole
        return
    yield f"{margin}{before}{expression.opening}"
    inner = ", ".join(map(str, expression.items))
    is_call = expression.opening[-2:-1].isalnum()
    if is_call and len(margin) + 4 + len(inner) <= WIDTH:
        yield f"{margin}    {inner}"
    else:
        for item in expression.items:
            yield from lines(item, indent + 1, behind=",")
    yield f"{margin}{expression.closing.lstrip(',')}{behind}"


def call(function: str, arguments: Sequence[Expression]) -> Group:
    """Return a call."""
    return Group(f"{function}(", tuple(arguments), ")")


def listed(items: Sequence[Expression]) -> Group:
    """Return a list."""
    return Group("[", tuple(items), "]")


def text(value: str, literal: Callable[[str], str]) -> Expression:
    """Return a string, which may stand in pieces that end where its lines do; `literal` writes one."""
    lines_of = value.splitlines(keepends=True)
    return literal(value) if len(lines_of) < 2 else Text("", literal(value), tuple(map(literal, lines_of)))


def keyword(name: str, value: Expression, sign: str = "=") -> Expression:
    """Return a keyword argument or, with another sign, an item of a dictionary."""
    match value:
        case Group(opening, items, closing):
            return Group(f"{name}{sign}{opening}", items, closing)
        case Text(before, whole, pieces):
            return Text(f"{name}{sign}{before}", whole, pieces)
        case _:
            return f"{name}{sign}{value}"


_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_PIECES = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[(\[{)\]}]|, )""", re.ASCII)


def parsed(line: str) -> tuple[str, Expression]:
    """Return what stands in front of the call that a line ends with, nothing as a rule, and the call."""
    head, opening, rest = line.partition("(")
    if not opening or not rest.endswith(")"):
        return "", line
    depth, arguments, argument = 0, list[Expression](), ""
    for piece in _PIECES.split(rest[:-1]):
        depth += _BRACKETS.get(piece, 0)
        if piece == ", " and depth == 0:
            arguments.append(argument)
            argument = ""
        else:
            argument += piece
    before, _, function = head.rpartition(" = ")
    return f"{before} = " if before else "", Group(f"{function}(", (*arguments, argument), ")")
