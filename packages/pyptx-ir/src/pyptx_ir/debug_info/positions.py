"""Positions of the user's code, for messages and reports, from the source lines of an instruction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyptx_ir.debug_info.libraries import user_frame
from pyptx_ir.paths import displayed_path
from pyptx_ir.reports import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame

SOURCE_LINE: Final = "source line"
"""Label of the source line of a position in PTX."""


def position_of(frames: Sequence[Frame], label: str = "") -> Position:
    """Return the user's position in one or more frames, with the calls of libraries inside it, and its callers."""
    positions = [Position(displayed_path(each.file), each.line, function=each.function) for each in frames]
    user = frames.index(user_frame(frames))
    calls, callers = tuple(positions[:user][::-1]), tuple(positions[user + 1 :])
    return replace(positions[user], label=label, calls=calls, callers=callers)
