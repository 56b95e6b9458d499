"""The ordinary statements of compilers, one regular expression match each.

Every statement here is one that the careful parser reads to the same node; whatever is unusual is left to it. The
bounds on repetition keep hostile text linear: no match looks further ahead than a few thousand characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.cursor import Cursor, Fault
from pyptx_ir.syntax.drafts import draft
from pyptx_ir.syntax.lexemes import NAME_TEXT, TRIVIA_TEXT, integer
from pyptx_ir.syntax.nodes import (
    Declarator,
    InlinedAt,
    Instruction,
    Label,
    Loc,
    RegisterDeclaration,
    RegisterName,
    SectionData,
    Statement,
    Variable,
)
from pyptx_ir.syntax.tables import GuardTable, LineTable, OpcodeTable, OperandTable

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

_USUAL_LEAD = "\n\t"
# A statement without a `;` has ended if a line follows that begins with a word, a guard or a brace.
_END_OF_LINE = r"(?=[ \t\r]*+(?://[^\n\0]*+)?+\n(?:\s++|//[^\n\0]*+)*+[.@A-Za-z_$%{}])"
_GUARD = rf"(?:@(!?{NAME_TEXT})[ \t]++)?+"
# A dot behind the opcode begins a modifier.
_OPERANDS = r"(?:[ \t]++(?!\s*+\.)([\w$%.,+\-\[\]{}()|!<>&^~*\s]{0,3000}+))?+"
_LABEL = rf"({NAME_TEXT}):(?!:)"
_NUMBER = r"[ \t]++([0-9]++)"
_PLACE = _NUMBER * 3
_INLINED = rf"(?:,[ ]function_name[ ]({NAME_TEXT})(?:\+([0-9]++))?+,[ ]inlined_at{_PLACE})?+"
# Groups: lead; raw, guard, opcode, operands; raw and name of a label; raw of a .loc, and its parts.
# The empty alternative ends the loop.
_ORDINARY = re.compile(
    rf"(?:\n\t|({TRIVIA_TEXT}))(?:"
    rf"({_GUARD}([a-z][\w.:]{{0,150}}+){_OPERANDS};)"
    rf"|({_LABEL})"
    rf"|(\.loc{_PLACE}{_INLINED}{_END_OF_LINE})"
    r")|",
    re.ASCII,
)
# Groups: lead; raw, type and values of a line of data; raw and name of a label.
_LINE = re.compile(
    rf"({TRIVIA_TEXT})(?:(\.(b8|b16|b32|b64)[ \t]++([\w$+\-., \t]*[\w$]){_END_OF_LINE})|({_LABEL}))|",
    re.ASCII,
)
# Groups: lead; raw, type, name and count of registers; raw, linking, space, alignment, type, name, dimensions and flat
# initialiser of a variable.
_TYPE = r"\.(pred|[bfsu][0-9]{1,3})"
_DECLARATION = re.compile(
    rf"({TRIVIA_TEXT})(?:"
    rf"(\.reg[ \t]++{_TYPE}[ \t]++({NAME_TEXT})(?:<([0-9]++)>)?+;)"
    rf"|((?:\.(extern|visible|weak|common)[ \t]++)?+\.(global|const|shared|local|param)[ \t]++"
    rf"(?:\.align[ \t]++([0-9]++)[ \t]++)?+{_TYPE}[ \t]++({NAME_TEXT})((?:\[[0-9]*+\]){{0,5}}+)"
    r"(?:[ \t]*+=[ \t]*+\{([\w.,\- \t\r\n]++)\})?+;))",
    re.ASCII,
)
_MARKS = frozenset({"{", "}", ";", ""})
_CALLS = frozenset({"call", "call.uni"})
# `lastindex` of their matches: the group that closes last is the raw.
_INSTRUCTION, _LABELLED, _DATA, _REGISTERS = 2, 6, 2, 2

_new = object.__new__
_InstructionDraft, _LocDraft, _DataDraft = draft(Instruction), draft(Loc), draft(SectionData)
_RegistersDraft = draft(RegisterDeclaration)


class SwiftReader:
    """Reads runs of ordinary statements of one text."""

    __slots__ = ("_guards", "_leads", "_line_values", "_lines", "_opcodes", "_operands")

    def __init__(self) -> None:
        self._operands = OperandTable()
        self._opcodes = OpcodeTable()
        self._guards = GuardTable()
        self._line_values = LineTable()
        self._lines: dict[str, tuple[str, str, tuple[Operand, ...]]] = {}
        self._leads: dict[str, str] = {}

    def statements(self, cursor: Cursor, items: list[Statement]) -> None:
        """Append the statements of a body to `items`, and stop in front of the first that is unusual."""
        text = cursor.text
        while True:
            self._run(cursor, items)
            first = text[cursor.skip() : cursor.at + 1]
            if first in _MARKS:
                return
            try:
                items.append(self._declaration(cursor) if first == "." else self._instruction(cursor))
                while text.startswith(".reg", cursor.skip()):  # they come in groups
                    items.append(self._declaration(cursor))
            except Fault:
                return  # the careful parser reads this one, or says what is wrong with it

    def _instruction(self, cursor: Cursor) -> Instruction:
        """Read an instruction that needs a closer look at its commas and parentheses."""
        found = _ORDINARY.match(cursor.text, cursor.end)
        if found is None or found.lastindex != _INSTRUCTION:
            raise Fault("no usual instruction", cursor.end, cursor.end)
        lead, raw, guard, opcode, listed = found.group(1, 2, 3, 4, 5)
        call = opcode in _CALLS
        if listed is None:
            operands: tuple[Operand, ...] = ()
        else:
            operands = self._operands.split_call(listed) if call else self._operands.split(listed)
        words = tuple(opcode.split(".")) if call else self._opcodes[opcode]
        cursor.at = cursor.end = found.end()
        return Instruction(
            opcode=words,
            operands=operands,
            guard=None if guard is None else self._guards[guard],
            lead=_USUAL_LEAD if lead is None else self._leads.setdefault(lead, lead),
            raw=raw,
        )

    def _declaration(self, cursor: Cursor) -> Statement:
        found = _DECLARATION.match(cursor.text, cursor.end)
        if found is None:
            raise Fault("no usual declaration", cursor.end, cursor.end)
        node = self._registers(found) if found.lastindex == _REGISTERS else self._variable(found)
        cursor.at = cursor.end = found.end()
        return node

    def _registers(self, found: re.Match[str]) -> RegisterDeclaration:
        lead, raw, kind, name, count = found.group(1, 2, 3, 4, 5)
        node: Any = _new(_RegistersDraft)
        node.lead = self._leads.setdefault(lead, lead)
        node.raw = raw
        node.type = kind
        node.names = (RegisterName(name, None if count is None else integer(count)),)
        node.vector = node.alignment = None
        node.__class__ = RegisterDeclaration
        done: RegisterDeclaration = node
        return done

    def _variable(self, found: re.Match[str]) -> Variable:
        lead = self._leads.setdefault(found[1], found[1])
        raw, linking, space, alignment, kind, name, dimensions, listed = found.group(6, 7, 8, 9, 10, 11, 12, 13)
        sizes = tuple([self._operands[size] if size else None for size in dimensions[1:-1].split("][")])
        initializer = None if listed is None else self._operands[f"{{{listed}}}"]
        return Variable(
            space=space,
            type=kind,
            declarators=(Declarator(name, sizes if dimensions else (), initializer),),
            linking=linking,
            alignment=None if alignment is None else integer(alignment),
            lead=lead,
            raw=raw,
        )

    def _run(self, cursor: Cursor, items: list[Statement]) -> None:
        add, keep = items.append, self._leads.setdefault
        guards, opcodes, operand, split = self._guards, self._opcodes, self._operands.__getitem__, self._operands.split
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
                    if listed is None:
                        node.operands = ()
                    else:
                        node.operands = split(listed) if "{" in listed else tuple(map(operand, listed.split(", ")))
                    node.guard = None if guard is None else guards[guard]
                    node.__class__ = Instruction
                    add(node)
                at = found.end()
        except Fault:
            pass  # as above
        cursor.at = cursor.end = at

    def lines(self, cursor: Cursor, items: list[Statement]) -> None:
        """Append the lines of a debugging section to `items`, and stop in front of the first that is unusual."""
        add, keep, known = items.append, self._leads.setdefault, self._lines
        at = cursor.end
        try:
            for found in _LINE.finditer(cursor.text, at):
                kind = found.lastindex
                if kind is None:
                    break
                lead, raw = found.group(1, 2)
                lead = keep(lead, lead)
                if kind != _DATA:
                    add(Label(found[6], lead=lead, raw=found[5]))
                else:
                    node: Any = _new(_DataDraft)
                    node.lead = lead
                    node.raw, node.type, node.values = known.get(raw) or self._line(found)
                    node.__class__ = SectionData
                    add(node)
                at = found.end()
        except Fault:
            pass  # as above
        cursor.at = cursor.end = at

    def _line(self, found: re.Match[str]) -> tuple[str, str, tuple[Operand, ...]]:
        raw, width, listed = found.group(2, 3, 4)
        table = self._line_values
        line = self._lines[raw] = raw, width, tuple([table[text.strip()] for text in listed.split(",")])
        return line


def _label(lead: str, found: re.Match[str]) -> Label:
    return Label(found[7], lead=lead, raw=found[6])


def _loc(lead: str, found: re.Match[str]) -> Loc:
    node: Any = _new(_LocDraft)
    node.lead = lead
    node.raw, file, line, column, label, offset, *place = found.groups()[7:]
    node.file = integer(file)
    node.line = integer(line)
    node.column = integer(column)
    node.inlined_at = label and InlinedAt(label, integer(offset or "0"), *map(integer, place))
    node.__class__ = Loc
    done: Loc = node
    return done
