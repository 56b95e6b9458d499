"""The instruction set: targets, the instruction table, checks.

Each public name is imported at first use: code that emits PTX needs only scalar types; only a kernel needs targets.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow, ptx, row
    from pyptx_ir.isa.target_rows import TARGETS, TargetError, TargetRow
    from pyptx_ir.isa.targets import default_version, includes
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "TARGETS": "target_rows",
            "InstructionRow": "rows",
            "TargetError": "target_rows",
            "TargetRow": "target_rows",
            "default_version": "targets",
            "includes": "targets",
            "ptx": "rows",
            "row": "rows",
        },
    )

__all__ = [
    "TARGETS",
    "InstructionRow",
    "TargetError",
    "TargetRow",
    "default_version",
    "includes",
    "ptx",
    "row",
]
