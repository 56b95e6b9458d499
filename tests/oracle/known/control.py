"""elect.sync, griddepcontrol, setmaxnreg."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^setmaxnreg\S*\.s32": ("the manual has setmaxnreg with .u32 only; ptxas accepts .s32 as equivalent"),
}

LAXER: dict[str, str] = {}
