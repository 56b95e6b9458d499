"""Draw the register layout of a matrix as a table."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.fragments.layout import Fragment, Stride

Range: TypeAlias = tuple[int, int]


def draw(fragment: Fragment) -> str:
    """Return the table of a matrix; cell `T5.r2` is in register 2 of lane 5, the first element in the low bits.

    Neighbors that always share a register are drawn as one cell; `+` marks elements with copies in other locations.
    """
    whole = [holders(fragment, product) for product in range(fragment.products)]
    rows = together([[line[row] for line in whole[0]] for row in range(fragment.rows)])
    columns = together(whole[0])
    tables = [_table(holders, rows, columns) for holders in whole]
    named = [f"MMA {number}\n{text}" for number, text in enumerate(tables)] if fragment.products > 1 else tables
    return "\n\n".join([head_of(fragment), *named])


def head_of(fragment: Fragment) -> str:
    """Return `m16n8k16 a .bf16: 16 x 16, 4 registers per lane`."""
    noun = "register" if fragment.registers == 1 else "registers"
    return f"{fragment.title}: {fragment.rows} x {fragment.columns}, {fragment.registers} {noun} per lane"


def steps_of(fragment: Fragment) -> tuple[str, str]:
    """Return two lines that define a layout: the step in the matrix for each bit of lane and element, low bit first."""
    return f"lane bits:    {_steps(fragment.lanes)}", f"element bits: {_steps(fragment.elements)}"


def _steps(strides: Sequence[Stride]) -> str:
    return ", ".join(map(_step, strides)) or "none"


def _step(stride: Stride) -> str:
    parts = [(stride.row, "row"), (stride.column, "column"), (stride.product, "MMA")]
    named = [f"+{count} {noun}{'s' * (count > 1)}" for count, noun in parts if count]
    return " ".join(named) or "a copy"


def holders(fragment: Fragment, product: int) -> list[list[str]]:
    """Return, for each matrix column, the lane and register of the element in each row."""

    def name(row: int, column: int) -> str:
        first, *others = fragment.places(row, column, product)
        return f"T{first.lane}.r{first.register}" + ("+" if others else "")

    return [[name(row, column) for row in range(fragment.rows)] for column in range(fragment.columns)]


def together(lines: Sequence[Sequence[str]]) -> list[Range]:
    """Return the first and last index of each run of neighboring rows or columns that share their registers."""
    groups = (list(each) for _, each in groupby(range(len(lines)), key=lambda number: tuple(lines[number])))
    return [(group[0], group[-1]) for group in groups]


def _table(holders: list[list[str]], rows: list[Range], columns: list[Range]) -> str:
    lines = [["", *map(span, columns)]]
    lines += [[span(row), *(holders[first][row[0]] for first, _ in columns)] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def span(group: Range) -> str:
    """Return a run of indices as text: `4`, or `4-7`."""
    first, last = group
    return str(first) if first == last else f"{first}-{last}"
