"""Lines of Python for a call: on one line if it fits, else as formatters break it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH = 120  # columns
_LONG = 80  # characters of a string of several lines that stays in one piece


@dataclass(frozen=True, slots=True)
class Group:
    """A list of expressions between two texts: `[`, items, `]`, or `f(`, arguments, `)`.

    `comma` is what stands between two of them; pieces of one string have none.
    """

    opening: str
    items: tuple[Expression, ...]
    closing: str
    comma: str = ","

    def __str__(self) -> str:
        """Return it on one line."""
        return f"{self.opening}{f'{self.comma} '.join(map(str, self.items))}{self.closing}"


Expression: TypeAlias = "str | Group"


def lines(expression: Expression, indent: int, before: str = "", behind: str = "") -> Iterator[str]:
    """Yield the lines of a statement that consists of an expression, indented by `indent` blocks.

    `before` and `behind` stand on its first and its last line. An expression that has no list to break is one line.
    """
    margin = "    " * indent
    whole = f"{margin}{before}{expression}{behind}"
    if len(whole) <= WIDTH or isinstance(expression, str) or not expression.items:
        yield whole
        return
    yield f"{margin}{before}{expression.opening}"
    inner = f"{expression.comma} ".join(map(str, expression.items))
    if expression.comma and len(margin) + 4 + len(inner) <= WIDTH:
        yield f"{margin}    {inner}"
    else:
        for item in expression.items:
            yield from lines(item, indent + 1, behind=expression.comma)
    yield f"{margin}{expression.closing.lstrip(',')}{behind}"


def call(function: str, arguments: Sequence[Expression]) -> Group:
    """Return a call."""
    return Group(f"{function}(", tuple(arguments), ")")


def listed(items: Sequence[Expression]) -> Group:
    """Return a list."""
    return Group("[", tuple(items), "]")


def text(value: str, literal: Callable[[str], str]) -> Expression:
    """Return a string, in pieces that end where its lines do if it is long; `literal` writes one."""
    if len(value) <= _LONG or "\n" not in value[:-1]:
        return literal(value)
    return Group("(", tuple(map(literal, value.splitlines(keepends=True))), ")", comma="")


def keyword(name: str, value: Expression) -> Expression:
    """Return a keyword argument."""
    if isinstance(value, str):
        return f"{name}={value}"
    return Group(f"{name}={value.opening}", value.items, value.closing, value.comma)


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
