"""Pointing at the user's Python from an instruction that came out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame


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
