"""LLVM's comments in debug sections: the field and the entry that begin at each line.

DWARF 4, sections 7.5.3 (abbreviations), 7.5.4 (attributes) and 7.5.1 (headers of units). LLVM writes one value per
line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.lexemes import INTEGER, integer
from pyptx_ir.syntax.nodes import Section, SectionData
from pyptx_ir.syntax.operands import Immediate
from pyptx_ir.syntax.style.dwarf_names import ATTRIBUTES, FORMS, SIZES, TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.style.items import Item

EXPLAINED = "Explained"
_WIDTHS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "byte": 1, "4byte": 4, "quad": 8}

_Abbreviation = tuple[int, bool, tuple[tuple[int, int], ...]]


class _Lost(Exception):  # noqa: N818 - internal to this file: the lines are not in LLVM's format
    pass


def explain(row: Sequence[Item]) -> None:
    """Set the comment of each data line that begins a field, as far as the section can be parsed."""
    known: dict[int, _Abbreviation] = {}
    for at, item in enumerate(row):
        if (
            item.kind == "Section"
            and isinstance(item.node, Section)
            and item.node.name in {".debug_abbrev", ".debug_info"}
        ):
            lines = _Lines(row, at + 1)
            try:
                if item.node.name == ".debug_abbrev":
                    _abbreviations(lines, known)
                else:
                    _unit(lines, known)
            except _Lost:
                continue


class _Lines:
    """Reader of the fields of a debugging section, line by line."""

    def __init__(self, row: Sequence[Item], at: int) -> None:
        self._row, self._at = row, at
        self.offset = 0

    @property
    def item(self) -> Item:
        """Next unread line of the debugging section."""
        return self._row[self._at]

    def remark(self, text: str) -> None:
        """Set the comment of the next unread line, if it is a data line."""
        if isinstance(self.item.node, SectionData):
            say(self.item, text)

    def line(self) -> int:
        """Take a data line; return its value, or 0 if the value is a symbol."""
        while self.item.kind == "Label":
            self._at += 1
        node = self.item.node
        if not isinstance(node, SectionData) or len(node.values) != 1:
            raise _Lost
        self._at += 1
        self.offset += _WIDTHS[node.type]
        value = node.values[0]
        return integer(value.text) if isinstance(value, Immediate) and INTEGER.fullmatch(value.text) else 0

    def skip(self, size: int) -> None:
        """Take data lines of `size` bytes in total."""
        end = self.offset + size
        while self.offset < end:
            self.line()

    def leb128(self) -> int:
        """Take the lines of a variable-length number (LEB128), and return the number."""
        value = shift = 0
        while True:
            byte = self.line()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def named(self, prefix: str, names: dict[int, str]) -> int:
        """Take a LEB128 number that DWARF names, and set its name as the comment."""
        first = self.item
        value = self.leb128()
        say(first, f"{prefix}_{names.get(value, '')}")
        return value


def say(item: Item, text: str) -> None:
    """Set LLVM's comment on a data line, and name the line `EXPLAINED`, a name with style rules of its own."""
    item.kind = item.name = EXPLAINED
    item.remark = text


def _abbreviations(lines: _Lines, known: dict[int, _Abbreviation]) -> None:
    while True:
        first = lines.item
        code = lines.leb128()
        say(first, "Abbreviation Code" if code else "EOM(3)")
        if not code:
            return
        tag = lines.named("DW_TAG", TAGS)
        first = lines.item
        children = bool(lines.line())
        say(first, "DW_CHILDREN_yes" if children else "DW_CHILDREN_no")
        known[code] = tag, children, _attributes(lines)


def _attributes(lines: _Lines) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    while True:
        first = lines.item
        attribute = lines.named("DW_AT", ATTRIBUTES)
        second = lines.item
        form = lines.named("DW_FORM", FORMS)
        if not attribute:
            say(first, "EOM(1)")
            say(second, "EOM(2)")
            return tuple(found)
        found.append((attribute, form))


def _unit(lines: _Lines, known: dict[int, _Abbreviation]) -> None:
    for text, size in (
        ("Length of Unit", 4),
        ("DWARF version number", 2),
        ("Offset Into Abbrev. Section", 4),
        ("Address Size (in bytes)", 1),
    ):
        lines.remark(text)
        lines.skip(size)
    opened: list[tuple[Item, int, int, int]] = []
    while True:
        first, start = lines.item, lines.offset
        code = lines.leb128()
        if code:
            tag, children, attributes = known.get(code) or _lost()
            for attribute, form in attributes:
                lines.remark(f"DW_AT_{ATTRIBUTES.get(attribute, '')}")
                _field(lines, form)
            opened.append((first, start, code, tag))
            if children:
                continue
        else:
            say(first, "End Of Children Mark")
        if not opened:
            return
        first, start, code, tag = opened.pop()
        say(first, f"Abbrev [{code}] 0x{start:x}:0x{lines.offset - start:x} DW_TAG_{TAGS.get(tag, '')}")
        if not opened:
            return


def _field(lines: _Lines, form: int) -> None:
    name = FORMS.get(form)
    if name == "string":
        while lines.line():
            pass
    elif name == "block1":
        lines.skip(lines.line())
    elif name in {"exprloc", "block"}:
        lines.skip(lines.leb128())
    elif name in {"sdata", "udata"}:
        lines.leb128()
    elif name in SIZES:
        lines.skip(SIZES[name])
    else:
        _lost()


def _lost() -> _Abbreviation:
    raise _Lost
