"""All chapters of the instruction table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

ROWS: tuple[InstructionRow, ...] = ()
