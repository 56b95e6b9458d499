"""The instruction set: targets, the instruction table, checks."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.targets import TARGETS, TargetError, TargetRow, default_version, find_target, includes

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
