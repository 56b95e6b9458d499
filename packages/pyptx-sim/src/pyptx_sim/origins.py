"""Source locations of instructions: the PTX line, and the user's Python line that emitted the instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.paths import displayed_path
from pyptx_ir.syntax import Source, emit, positions
from pyptx_ir.syntax.nodes import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame
    from pyptx_ir.syntax.nodes import Module, Statement


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A physical line of PTX (from 1); `module` is the index (from 0) of the linked module, None without linking."""

    line: int
    module: int | None = None

    def __str__(self) -> str:
        """Return the location as text: `line 3 of modules[0]`."""
        return f"line {self.line}" if self.module is None else f"line {self.line} of modules[{self.module}]"


def place_of(statement: Statement, modules: Sequence[Module]) -> tuple[SourceLocation, str]:
    """Return the line of a declaration, and the text of that line.

    Linking splits a declaration of several variables; the line of a split declaration is found by its variable's name.
    """
    for number, module in enumerate(modules):
        source = Source(emit(module))
        for node, span in positions(module):
            if node is statement or _declares(node, statement):
                line = source.line_column(span.start)[0]
                return SourceLocation(line, number if len(modules) > 1 else None), source.text.splitlines()[
                    line - 1
                ].strip()
    return SourceLocation(1), ""


def _declares(node: Statement, statement: Statement) -> bool:
    if not (isinstance(node, Variable) and isinstance(statement, Variable)):
        return False
    name = statement.declarators[0].name
    return any(each.name == name or (each.count and name.startswith(each.name)) for each in node.declarators)


def point_at(frames: Sequence[Frame]) -> str:
    """Return the innermost frame (`file:line: in function`, the source line and a caret), then one line per caller.

    Empty without frames, as for PTX that was not emitted by Python.
    """
    if not frames:
        return ""
    import linecache

    inner, *outer = frames
    source = linecache.getline(inner.file, inner.line).strip()
    shown = [f"    {source}", f"    {'^' * len(source)}"] if source else []
    callers = [f"called from {displayed_path(frame.file)}:{frame.line}: in {frame.function}" for frame in outer]
    return "\n".join([f"{displayed_path(inner.file)}:{inner.line}: in {inner.function}", *shown, *callers])
