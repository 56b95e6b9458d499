"""Python lines that emitted a kernel's PTX: the kernel's function, and the functions that it called."""

from __future__ import annotations

import ast
import inspect
import linecache
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyptx_ir.plugins.rows import Frame


class PythonLine(NamedTuple):
    """A line of a Python file."""

    file: str
    number: int

    @property
    def place(self) -> str:
        """The name of the file, and the number of the line: `gemm.py:12`."""
        return f"{PurePath(self.file).name}:{self.number}"


class Extent(NamedTuple):
    """Lines `first` to `last` of a file, both inclusive: a function, or a line outside all functions."""

    file: str
    first: int
    last: int

    def has(self, line: PythonLine) -> bool:
        """Return whether a line is inside."""
        return line.file == self.file and self.first <= line.number <= self.last


def extents(function: Callable[..., object], stacks: Iterable[Sequence[Frame]]) -> list[Extent]:
    """Return the extent of a kernel's function, then those of the functions of frames, in order of first appearance."""
    found = list(_own(function))
    for stack in stacks:
        for frame in reversed(stack):
            line = PythonLine(frame.file, frame.line)
            if not any(extent.has(line) for extent in found):
                found.append(_around(line))
    return found


def _own(function: Callable[..., object]) -> Iterator[Extent]:
    """Yield the extent of a function with its decorators, if its source is available."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError):
        return
    yield Extent(function.__code__.co_filename, first, first + len(lines) - 1)


def _around(line: PythonLine) -> Extent:
    """Return the innermost function around a line, or the line alone outside all functions and without source."""
    inside = [each for each in _functions(line.file) if each.has(line)]
    return max(inside, key=lambda each: each.first, default=Extent(line.file, line.number, line.number))


@cache
def _functions(file: str) -> tuple[Extent, ...]:
    """Return the extents of the functions of a file, without decorators; none if the file cannot be parsed."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        Extent(file, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
