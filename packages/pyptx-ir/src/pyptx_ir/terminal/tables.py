"""Tables in text: columns are aligned, and wrapped on a terminal that is too narrow for them."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Final

from pyptx_ir.terminal.color import colored, plain, styled

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TextIO

_BETWEEN: Final = 2  # spaces between columns


def table(
    rows: Sequence[Sequence[str]],
    headings: Sequence[str] = (),
    *,
    right: Collection[int] = (),
    stream: TextIO | None = None,
) -> str:
    """Return a table with a line per row, which end with newlines; cells may contain styled text.

    `right` are the indices of the columns that are aligned to the right. `stream` is where the text will be written
    (default: standard output). If it is a terminal with shorter lines, cells are wrapped, which needs rich; without
    rich the terminal wraps the lines.
    """
    stream = stream or sys.stdout
    heads = [[styled(name, "heading", stream) for name in headings]] if headings else []
    lines = aligned([*heads, *rows], right)
    if stream.isatty() and find_spec("rich") is not None:
        width = shutil.get_terminal_size().columns
        if max((len(plain(line)) for line in lines), default=0) > width:
            return _wrapped([*heads, *rows], right, width, colors=colored(stream))
    return "".join(f"{line}\n" for line in lines)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return a line per row, with two spaces between columns; the columns `right` are aligned to the right."""
    widths = [max(len(plain(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return [(" " * _BETWEEN).join(map(_padded, row, widths, _sides(row, right))).rstrip() for row in rows]


def _sides(row: Sequence[str], right: Collection[int]) -> list[bool]:
    return [column in right for column in range(len(row))]


def _padded(cell: str, width: int, to_right: bool) -> str:  # noqa: FBT001 - an argument of `map`
    blanks = " " * (width - len(plain(cell)))
    return blanks + cell if to_right else cell + blanks


def _wrapped(rows: Sequence[Sequence[str]], right: Collection[int], width: int, *, colors: bool) -> str:
    """Return the table with cells that are wrapped at words, so that no line is longer than `width`."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table.grid(padding=(0, _BETWEEN, 0, 0), pad_edge=False)
    for to_right in _sides(rows[0], right):
        drawn.add_column(justify="right" if to_right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text.from_ansi, row))
    written = StringIO()
    console = Console(file=written, width=width, force_terminal=colors, color_system="standard" if colors else None)
    console.print(drawn)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())
