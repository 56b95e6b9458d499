"""Special registers and their types. Manual: chapter "Special Registers"."""

from __future__ import annotations

import functools

from pyptx_ir.isa.table.special_registers import ROWS, SpecialRegisterRow


@functools.cache
def special_registers() -> dict[str, str]:
    """Return the type of every special register, including vector components."""
    return {row.name: row.type for row in ROWS}


@functools.cache
def special_register_rows() -> dict[str, SpecialRegisterRow]:
    """Return the table row of each special register by name; a whole vector, `%tid`, has its first component's row."""
    whole = {row.name.removesuffix(".x"): row for row in ROWS if row.name.endswith(".x")}
    return {row.name: row for row in ROWS} | whole
