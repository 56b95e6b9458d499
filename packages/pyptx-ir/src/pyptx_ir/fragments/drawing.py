"""Draw fragments as tables."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_ir.fragments.layout import Fragment, Place


def draw(fragment: Fragment) -> str:
    """Return the table of a matrix: `T5.r2` holds the cell in register 2 of lane 5.

    Columns that always lie in one register together are drawn as one, their elements from the register's low bits up.
    """
    groups = _column_groups(fragment)
    tables = [_table(fragment, groups, product) for product in range(fragment.products)]
    head = f"{fragment.title}: {fragment.rows} x {fragment.columns}, {fragment.registers} registers a lane"
    return "\n\n".join([head, *tables])


def _column_groups(fragment: Fragment) -> list[tuple[int, int]]:
    """Return the first and the last column of those that share registers."""
    holders = [_holder(fragment.places(0, column)) for column in range(fragment.columns)]
    groups: list[tuple[int, int]] = []
    for _, columns in groupby(range(fragment.columns), key=holders.__getitem__):
        together = list(columns)
        groups.append((together[0], together[-1]))
    return groups


def _holder(places: tuple[Place, ...]) -> str:
    first, *others = places
    name = f"T{first.lane}.r{first.register}"
    return name + "+" if others else name


def _table(fragment: Fragment, groups: list[tuple[int, int]], product: int) -> str:
    header = ["", *(str(low) if low == high else f"{low}-{high}" for low, high in groups)]
    lines = [header]
    for row in range(fragment.rows):
        cells = [_holder(fragment.places(row, low, product)) for low, _ in groups]
        lines.append([str(row), *cells])
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return f"product {product}\n{text}" if fragment.products > 1 else text
