"""The instruction set: targets, the instruction table, checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow, ptx, row
    from pyptx_ir.isa.targets import TARGETS, TargetError, TargetRow, default_version, find_target, includes
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            **dict.fromkeys(("InstructionRow", "ptx", "row"), "rows"),
            **dict.fromkeys(
                ("TARGETS", "TargetError", "TargetRow", "default_version", "find_target", "includes"), "targets"
            ),
        },
    )

__all__ = [
    "TARGETS",
    "InstructionRow",
    "TargetError",
    "TargetRow",
    "default_version",
    "find_target",
    "includes",
    "ptx",
    "row",
]
