"""elect.sync, griddepcontrol, setmaxnreg."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^setmaxnreg\S*\.s32": ("the manual has .u32 alone; ptxas takes .s32, which means nothing else"),
}

LAXER: dict[str, str] = {}
