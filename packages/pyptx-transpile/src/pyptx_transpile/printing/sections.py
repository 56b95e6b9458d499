"""Printing of debug sections: one call emits many data lines, with a type before the values of that type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.printing.declarations import constant, kind
from pyptx_transpile.printing.layout import WIDTH, Group, call, listed
from pyptx_transpile.printing.values import WHOLE, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDEST = WIDTH - len("    module.lines()")
# Minimum and maximum characters of a run of .section data bytes that is printed as a bytes literal.
_SHORTEST, _LONGEST = 3, 60
_TEXT = range(32, 127)


def is_tabled(node: object) -> bool:
    """Return whether a statement is a data line that `module.lines` can emit: its type has a Python name."""
    return isinstance(node, nodes.SectionData) and node.type in BY_NAME


def data_calls(lines: Sequence[nodes.SectionData]) -> Iterator[Group]:
    """Yield the calls that emit these data lines, each on one line of Python."""
    row: list[str] = []
    width, last = 0, ""
    for dtype, value in _values(lines):
        if row and width + len(", ") + len(value) + (len(", ") + len(dtype)) * (dtype != last) > _WIDEST:
            yield _call(row)
            row, width, last = [], 0, ""
        added = [value] if dtype == last else [dtype, value]
        row += added
        width += sum(len(", ") + len(each) for each in added)
        last = dtype
    if row:
        yield _call(row)


def _call(row: Sequence[str]) -> Group:
    return call("module.lines", row)


def _values(lines: Sequence[nodes.SectionData]) -> Iterator[tuple[str, str]]:
    """Yield a type and a Python value for each data line, or for each null-terminated text of byte lines."""
    at = 0
    while at < len(lines):
        node = lines[at]
        text = _text(lines, at)
        if text:
            yield kind(node.type), f"{'b' + quoted(text)[:-1]}\\0{quoted(text)[-1]}"
            at += len(text) + 1
            continue
        values = [constant(each) for each in node.values]
        yield kind(node.type), str(values[0] if len(values) == 1 else listed(values))
        at += 1


def _text(lines: Sequence[nodes.SectionData], at: int) -> str:
    """Return the null-terminated text that starts at a data line; "" if no text starts there or it is too short."""
    found = ""
    while at < len(lines) and len(found) <= _LONGEST:
        byte = _byte(lines[at])
        if byte not in _TEXT:
            return found if byte == 0 and len(found) >= _SHORTEST else ""
        found += chr(byte)
        at += 1
    return ""


def _byte(node: nodes.SectionData) -> int:
    """Return the byte of a `.b8` data line with one number; -1 for any other line."""
    match node.values:
        case (tree.Immediate(text),) if node.type == "b8" and WHOLE.match(text):
            return int(text)
        case _:
            return -1
