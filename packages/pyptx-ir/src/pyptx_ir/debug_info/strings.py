"""Function names of inlined calls: the strings of `.debug_str`. Manual: "Debugging Directives: .loc"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.syntax.lexemes import INTEGER, integer
from pyptx_ir.syntax.nodes import Label, Section, SectionData
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.nodes import Statement
    from pyptx_ir.syntax.operands import Operand

_WIDTHS: Final = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "byte": 1, "4byte": 4, "quad": 8}
"""Bytes per value of a section's data line."""


class DebugStrings:
    """Contents of a module's `.debug_str` sections, and the offsets of their labels."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        """Read the `.debug_str` sections among the statements of a module; without one, `at` returns None."""
        self._data = bytearray()
        self._labels: dict[str, int] = {}
        for node in statements:
            if isinstance(node, Section) and node.name == ".debug_str":
                self._read(node)

    def at(self, label: str, offset: int) -> str | None:
        """Return the string at `label` + `offset`, without its terminating zero byte; None for an invalid address."""
        start = self._labels.get(label)
        if start is None or not 0 <= start + offset < len(self._data):
            return None
        return self._data[start + offset :].partition(b"\0")[0].decode(errors="replace")

    def _read(self, section: Section) -> None:
        for line in section.body:
            if isinstance(line, Label):
                self._labels[line.name] = len(self._data)
            elif isinstance(line, SectionData):
                width = _WIDTHS[line.type]
                for operand in line.values:
                    self._data += (_number(operand) % (1 << 8 * width)).to_bytes(width, "little")


def _number(operand: Operand) -> int:
    """Return the value of an integer; 0 for an address, which only linking determines."""
    text = operand.text if isinstance(operand, Immediate) else ""
    digits = text.removeprefix("-")
    if not INTEGER.fullmatch(digits):
        return 0
    return -integer(digits) if text.startswith("-") else integer(digits)
