"""Line breaking of Python expressions: one line if the expression fits, else lines as a formatter breaks them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH = 120  # maximum columns of a printed line of Python


@dataclass(frozen=True, slots=True)
class Group:
    """Python list `[…]` or call `f(…)` that may span lines: opening text, element expressions, closing text."""

    opening: str
    items: tuple[Expression, ...]
    closing: str

    def __str__(self) -> str:
        """Return the Python expression on one line."""
        return f"{self.opening}{', '.join(map(str, self.items))}{self.closing}"


@dataclass(frozen=True, slots=True)
class Text:
    """Python string that may span lines: the text `before`, then literals that Python concatenates."""

    before: str
    whole: str
    pieces: tuple[str, ...]

    def __str__(self) -> str:
        """Return the Python expression on one line."""
        return f"{self.before}{self.whole}"


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Python expression in parentheses that may span lines, with the text before the opening parenthesis."""

    before: str
    inner: str

    def __str__(self) -> str:
        """Return the Python expression on one line."""
        return f"{self.before}({self.inner})"


Expression: TypeAlias = "str | Group | Text | Bracketed"


def lines(expression: Expression, indent: int, before: str = "", behind: str = "") -> Iterator[str]:
    """Yield the Python lines of a statement that is an expression, indented by `indent` blocks.

    `before` starts the first line and `behind` ends the last line. An expression without a list to break is one line.
    """
    margin = "    " * indent
    whole = f"{margin}{before}{expression}{behind}"
    if len(whole) <= WIDTH or isinstance(expression, str):
        yield whole
        return
    if isinstance(expression, Bracketed):
        yield from (f"{margin}{before}{expression.before}(", f"{margin}    {expression.inner}", f"{margin}){behind}")
        return
    if isinstance(expression, Text) and expression.before.endswith("=") and len(expression.pieces) > 1:
        first, *others = expression.pieces
        yield f"{margin}{before}{expression.before}{first}"
        yield from (f"{margin}{piece}" for piece in others[:-1])
        yield f"{margin}{others[-1]}{behind}"
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
    is_call = expression.opening[-1] == "(" and expression.opening[-2:-1] not in {"", " ", "="}
    if is_call and len(margin) + 4 + len(inner) <= WIDTH:
        yield f"{margin}    {inner}"
    else:
        for item in expression.items:
            yield from lines(item, indent + 1, behind=",")
    yield f"{margin}{expression.closing.lstrip(',')}{behind}"


def call(function: str, arguments: Sequence[Expression]) -> Group:
    """Return a Python call as an expression that may span lines."""
    return Group(f"{function}(", tuple(arguments), ")")


def listed(items: Sequence[Expression]) -> Group:
    """Return a Python list as an expression that may span lines."""
    return Group("[", tuple(items), "]")


def text(value: str, literal: Callable[[str], str]) -> Expression:
    """Return a string expression that may be split into one literal per line of text; `literal` quotes a line.

    A blank line shares a literal with the next line; text after the last line end shares the last literal.
    """
    pieces = [""]
    for line in value.splitlines(keepends=True):
        pieces[-1] += line
        if not pieces[-1].isspace():
            pieces.append("")
    *told, rest = pieces
    if len(told) > 1:
        told[-1] += rest
    return literal(value) if len(told) < 2 else Text("", literal(value), tuple(map(literal, told)))


def keyword(name: str, value: Expression, sign: str = "=") -> Expression:
    """Return a keyword argument `name=value`; with `sign` `: `, a dictionary item."""
    match value:
        case Group(opening, items, closing):
            return Group(f"{name}{sign}{opening}", items, closing)
        case Text(before, whole, pieces):
            return Text(f"{name}{sign}{before}", whole, pieces)
        case _:
            return f"{name}{sign}{value}"


_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_PIECES = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[(\[{)\]}]|, )""", re.ASCII)
_OPERANDS = re.compile(r"([(\[{)\]}]| [-+*/<>&|^=!]+ )", re.ASCII)
_ASSIGNMENT = re.compile(r"(\S[^\"'(]*? = )(.*)", re.ASCII)
# Matches the start of a call or list in printed Python.
_OPENING = re.compile(r"(?:(?:with|for [\w, ()]+ in) )?(?:[\w.=]*\(|(?:\w+=)?\[)", re.ASCII)


def parsed(line: str) -> tuple[str, Expression, str]:
    """Return a Python statement in three parts: assignment target with `=`, expression, and the colon of a block."""
    assignment = _ASSIGNMENT.fullmatch(line)
    if assignment is not None:
        return assignment[1], *assigned(assignment[2])
    behind = ":" if line.endswith(":") else ""
    return "", _parsed(line.removesuffix(behind)), behind


def assigned(text: str) -> tuple[Expression, str]:
    """Return an assigned expression in a form that may span lines, and the text after its closing bracket.

    With one operator, the second operand is broken at its brackets, or the first if the second has none. Any other
    expression is put in brackets.
    """
    (first, *others), operators = _operands(text)
    if not others and isinstance(call := _parsed(text), Group):
        return call, ""
    if len(others) == 1:
        if (second := _broken(f"{first}{operators[0]}", others[0])) is not None:
            return second, ""
        if (one := _broken("", first)) is not None:
            return one, f"{operators[0]}{others[0]}"
    return Text("", text, (text,)), ""


def _broken(before: str, operand: str) -> Expression | None:
    """Return `before` + `operand` as an expression that may span lines; None if neither a call nor in brackets."""
    expression = _parsed(operand)
    if isinstance(expression, Group):
        return Group(f"{before}{expression.opening}", expression.items, expression.closing)
    return Bracketed(before, operand[1:-1]) if operand[0] == "(" else None


def _operands(text: str) -> tuple[list[str], list[str]]:
    """Return the operands and the operators at the top level of a Python expression."""
    depth, found, operators = 0, [""], list[str]()
    for number, piece in enumerate(_OPERANDS.split(text)):
        depth += _BRACKETS.get(piece, 0)
        if number % 2 and depth == 0 and piece[0] == " ":
            operators.append(piece)
            found.append("")
        else:
            found[-1] += piece
    return found, operators


def _parsed(text: str) -> Expression:
    """Return the text of a list or call as a `Group` of its items; any other expression unchanged."""
    opening = _OPENING.match(text)
    if opening is None or text[-1] not in ")]":
        return text
    depth, items, item = 1, list[str](), ""
    for piece in _PIECES.split(text[opening.end() : -1]):
        depth += _BRACKETS.get(piece, 0)
        if depth == 0:  # text after the closing bracket: the line is not a single call or list
            return text
        if piece == ", " and depth == 1:
            items.append(item)
            item = ""
        else:
            item += piece
    # Parentheses around a single expression, neither a call nor a tuple.
    if not items and opening[0][-2:] in {"(", "=(", " ("}:
        return text
    return Group(opening[0], tuple(map(_parsed, [*items, item])), text[-1])
