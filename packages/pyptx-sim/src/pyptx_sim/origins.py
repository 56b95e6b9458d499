"""Pointing at the line of an instruction, and at the user's Python that it came out of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame


@dataclass(frozen=True, slots=True)
class Place:
    """A physical line of PTX (from 1); `module` is which of several linked modules has it (from 0), None of one."""

    line: int
    module: int | None = None

    def __str__(self) -> str:
        """Spell it."""
        return f"line {self.line}" if self.module is None else f"line {self.line} of modules[{self.module}]"


def point_at(frames: Sequence[Frame]) -> str:
    """Show the innermost frame: `file:line: in function`, the source line and a caret; then who called it, a line each.

    Empty where nothing is known, as for PTX that no Python wrote.
    """
    if not frames:
        return ""
    import linecache

    inner, *outer = frames
    source = linecache.getline(inner.file, inner.line).strip()
    shown = [f"    {source}", f"    {'^' * len(source)}"] if source else []
    callers = [f"called from {frame.file}:{frame.line}: in {frame.function}" for frame in outer]
    return "\n".join([f"{inner.file}:{inner.line}: in {inner.function}", *shown, *callers])
