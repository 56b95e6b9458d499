"""The ordinary statements of compilers, one regular expression match each.

Every statement here is one that the careful parser reads to the same node; whatever is unusual is left to it. The bounds
on repetition keep hostile text linear: no match looks further ahead than a few thousand characters.
"""

from __future__ import annotations

import re
from typing import Any

from pyptx_ir.syntax.cursor import Cursor, Fault
from pyptx_ir.syntax.drafts import draft
from pyptx_ir.syntax.lexemes import NAME_TEXT, TRIVIA_TEXT, integer
from pyptx_ir.syntax.nodes import Instruction, Label, Loc, SectionData, Statement
from pyptx_ir.syntax.operands import Operand
from pyptx_ir.syntax.tables import GuardTable, LineTable, OpcodeTable, OperandTable

_USUAL_LEAD = "\n\t"
# A statement without a `;` has ended if a line follows that begins with a word, a guard or a brace.
_END_OF_LINE = r"(?=[ \t\r]*+(?://[^\n\0]*+)?+\n\s*+[.@A-Za-z_$%{}])"
_GUARD = rf"(?:@(!?{NAME_TEXT})[ \t]++)?+"
_OPERANDS = r"(?:[ \t]++([\w$%.,+\-\[\]{}()|!<>&^~*\s]{0,3000}+))?+"
_LABEL = rf"({NAME_TEXT}):(?!:)"
_NUMBER = r"[ \t]++([0-9]++)"
# Groups: lead; raw, guard, opcode, operands; raw and name of a label; raw and numbers of a .loc.
# The empty alternative ends the loop.
_ORDINARY = re.compile(
    rf"(?:\n\t|({TRIVIA_TEXT}))(?:"
    rf"({_GUARD}([a-z][\w.:]{{0,150}}+){_OPERANDS};)"
    rf"|({_LABEL})"
    rf"|(\.loc{_NUMBER}{_NUMBER}{_NUMBER}{_END_OF_LINE})"
    r")|",
    re.ASCII,
)
# Groups: lead; raw, type and values of a line of data; raw and name of a label.
_LINE = re.compile(
    rf"({TRIVIA_TEXT})(?:(\.(b8|b16|b32|b64)[ \t]++([\w$+\-., \t]*[\w$]){_END_OF_LINE})|({_LABEL}))|",
    re.ASCII,
)

# `lastindex` of their matches: the group that closes last is the raw.
_INSTRUCTION, _LABELLED, _DATA = 2, 6, 2

_new = object.__new__
_InstructionDraft, _LocDraft, _DataDraft = draft(Instruction), draft(Loc), draft(SectionData)


class SwiftReader:
    """Reads runs of ordinary statements of one text."""

    __slots__ = ("_guards", "_leads", "_line_values", "_opcodes", "_operands", "_raws", "_values")

    def __init__(self) -> None:
        self._operands = OperandTable()
        self._opcodes = OpcodeTable()
        self._guards = GuardTable()
        self._line_values = LineTable()
        self._values: dict[str, tuple[Operand, ...]] = {}
        self._leads: dict[str, str] = {}
        self._raws: dict[str, str] = {}

    def statements(self, cursor: Cursor, items: list[Statement]) -> None:
        """Append the statements of a body to `items`, and stop in front of the first that is unusual."""
        add, keep = items.append, self._leads.setdefault
        guards, opcodes, operands = self._guards, self._opcodes, self._operands.split
        at = cursor.end
        try:
            for found in _ORDINARY.finditer(cursor.text, at):
                kind = found.lastindex
                if kind is None:
                    break
                lead, raw, guard, opcode, listed = found.group(1, 2, 3, 4, 5)
                lead = _USUAL_LEAD if lead is None else keep(lead, lead)
                if kind != _INSTRUCTION:
                    add(_label(lead, found) if kind == _LABELLED else _loc(lead, found))
                else:
                    node: Any = _new(_InstructionDraft)
                    node.lead = lead
                    node.raw = raw
                    node.opcode = opcodes[opcode]
                    node.operands = () if listed is None else operands(listed)
                    node.guard = None if guard is None else guards[guard]
                    node.__class__ = Instruction
                    add(node)
                at = found.end()
        except Fault:
            pass  # the careful parser reads this one, or says what is wrong with it
        cursor.at = cursor.end = at

    def lines(self, cursor: Cursor, items: list[Statement]) -> None:
        """Append the lines of a debugging section to `items`, and stop in front of the first that is unusual."""
        add, keep, same = items.append, self._leads.setdefault, self._raws.setdefault
        at = cursor.end
        try:
            for found in _LINE.finditer(cursor.text, at):
                kind = found.lastindex
                if kind is None:
                    break
                lead, raw, width, listed = found.group(1, 2, 3, 4)
                lead = keep(lead, lead)
                if kind != _DATA:
                    add(Label(found[6], lead=lead, raw=found[5]))
                else:
                    node: Any = _new(_DataDraft)
                    node.lead = lead
                    node.raw = same(raw, raw)
                    node.type = same(width, width)
                    node.values = self._line(listed)
                    node.__class__ = SectionData
                    add(node)
                at = found.end()
        except Fault:
            pass  # as above
        cursor.at = cursor.end = at

    def _line(self, listed: str) -> tuple[Operand, ...]:
        values = self._values.get(listed)
        if values is None:
            table = self._line_values
            values = self._values[listed] = tuple([table[text.strip()] for text in listed.split(",")])
        return values


def _label(lead: str, found: re.Match[str]) -> Label:
    return Label(found[7], lead=lead, raw=found[6])


def _loc(lead: str, found: re.Match[str]) -> Loc:
    node: Any = _new(_LocDraft)
    node.lead = lead
    node.raw, file, line, column = found.group(8, 9, 10, 11)
    node.file = integer(file)
    node.line = integer(line)
    node.column = integer(column)
    node.inlined_at = None
    node.__class__ = Loc
    return node  # type: ignore[no-any-return] # a draft until the line above
