"""The user's expression that was being evaluated when an error was raised, as a Python AST node.

The file is parsed only after an error, once per error.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["UNKNOWN", "ExpressionContext", "place_of"]

UNKNOWN = object()
"""Value of an expression that is not a name, attribute or constant, or whose name is unbound."""


@dataclass(frozen=True, slots=True)
class ExpressionContext:
    """A Python expression, its enclosing AST nodes (innermost first), and the frame that evaluates it."""

    node: ast.AST
    around: tuple[ast.AST, ...]
    frame: FrameType

    def value(self, node: ast.AST) -> object:
        """Return the value of a name, attribute or constant without evaluating calls; UNKNOWN for other expressions."""
        match node:
            case ast.Name(id=name):
                return _variable(self.frame, name)
            case ast.Attribute(value=inner, attr=name):
                owner = self.value(inner)
                return UNKNOWN if owner is UNKNOWN else getattr(owner, name, UNKNOWN)
            case ast.Constant(value=value):
                return value
            case _:
                return UNKNOWN

    def call(self) -> ast.Call | None:
        """Return the AST node that calls the expression or an attribute chain on it; None if neither is called."""
        inner = self.node
        for outer in (self.node, *self.around):
            if isinstance(outer, ast.Call):
                return outer if outer is self.node or outer.func is inner else None
            if outer is not inner and not (isinstance(outer, ast.Attribute) and outer.value is inner):
                return None
            inner = outer
        return None


def place_of(frame: FrameType, instruction: int) -> ExpressionContext | None:
    """Return the source expression of a frame's bytecode instruction; None without source."""
    position = next(islice(frame.f_code.co_positions(), instruction // 2, None), (None,) * 4)
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    module = _parsed(frame)
    if module is None:
        return None
    return _found(module, (line, column), (end_line, end_column), frame)


def _parsed(frame: FrameType) -> ast.AST | None:
    """Return the Python AST of a frame's file; of the frame's function only, if the file does not parse."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        pass
    first = frame.f_code.co_firstlineno
    try:
        block = inspect.getblock(lines[first - 1 :])
        head = "if True:\n" if block and block[0][:1].isspace() else "\n"
        return ast.increment_lineno(ast.parse(head + "".join(block)), first - 2)
    except (SyntaxError, ValueError):  # the source file has changed since Python imported it
        return None


def _found(module: ast.AST, start: tuple[int, int], end: tuple[int, int], frame: FrameType) -> ExpressionContext | None:
    """Return the innermost AST node that contains a range of (line, column) positions."""
    path: list[ast.AST] = []
    here: ast.AST | None = module
    while here is not None:
        path.append(here)
        here = next((child for child in ast.iter_child_nodes(here) if _holds(child, start, end)), None)
    return ExpressionContext(path[-1], tuple(path[-2::-1]), frame)


def _holds(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> bool:
    if not isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.keyword):
        return any(_holds(child, start, end) for child in ast.iter_child_nodes(node))
    first = (node.lineno, node.col_offset)
    last = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return first <= start and end <= last


def _variable(frame: FrameType, name: str) -> object:
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in names:
            return names[name]
    return UNKNOWN
