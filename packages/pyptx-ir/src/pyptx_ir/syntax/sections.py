"""`.section name { … }`: DWARF data lines and labels, by the hundred thousand in a debug build."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax.failure import Failure
from pyptx_ir.syntax.lexer import TRIVIA_PATTERN, Cursor
from pyptx_ir.syntax.operand_parser import expression

if TYPE_CHECKING:
    from pyptx_ir.syntax.fast import OperandTable

NAME = re.compile(r"\.?[A-Za-z_$][\w$.]*+", re.ASCII)
DATA_TYPES = frozenset({".b8", ".b16", ".b32", ".b64", ".u8", ".u16", ".u32", ".u64"})
# A data line whose values are plain numbers or names; what follows decides that no comma continues it.
DATA_LINE = re.compile(
    rf"({TRIVIA_PATTERN})(\.([bu](?:8|16|32|64))[ \t]++([\w$%]++(?:[ \t]*+,[ \t]*+[\w$%]++)*+))(?=[ \t]*+\r?\n)", re.ASCII
)


def section(cursor: Cursor, start: int, lead: str, operands: OperandTable) -> n.Section:
    """Parse a section behind the word `.section`."""
    source = cursor.source
    behind = cursor.last
    name = NAME.match(source, cursor.start)
    if name is None:
        raise cursor.failure("expected a section's name")
    cursor.move_to(name.end())
    if cursor.text != "{":
        raise cursor.failure("expected '{' behind the section's name")
    head = source[behind : cursor.start]
    body: list[n.SectionData | n.Label] = []
    at = cursor.end
    while True:
        at = _plain_lines(source, at, body, operands)
        cursor.move_to(at)
        item_lead = source[at : cursor.start]
        if cursor.text == "}":
            cursor.advance()
            return n.Section(name.group(), tuple(body), head=head, close_lead=item_lead, lead=lead)
        if not cursor.text:
            raise Failure("this section is never closed", start, start + len(".section"), "close it with }")
        body.append(_item(cursor, item_lead))
        at = cursor.last


def _plain_lines(source: str, at: int, body: list[n.SectionData | n.Label], operands: OperandTable) -> int:
    """Append the plain data lines that stand at `at` in a row."""
    while (match := DATA_LINE.match(source, at)) is not None:
        lead, raw, kind, values = match.groups()
        body.append(n.SectionData(kind, operands.split(values), lead=lead, raw=raw))
        at = match.end()
    return at


def _item(cursor: Cursor, lead: str) -> n.SectionData | n.Label:
    start = cursor.start
    if cursor.kind == "name":
        name = cursor.advance()
        cursor.expect(":")
        return n.Label(name, lead=lead, raw=cursor.source[start : cursor.last])
    if cursor.text not in DATA_TYPES:
        raise cursor.failure("expected a data line such as '.b8 1, 2', a label, or '}'")
    kind = cursor.advance()[1:]
    values = [expression(cursor, 0)]
    while cursor.accept(","):
        values.append(expression(cursor, 0))
    return n.SectionData(kind, tuple(values), lead=lead, raw=cursor.source[start : cursor.last])
