"""Fast path for the ordinary statements of compilers, one regular expression match each.

For every statement here the full parser returns the same node; other statements are left to it. The bounds on
repetition keep the time linear for hostile text: no match looks more than a few thousand characters ahead.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.cursor import SyntaxFault
from pyptx_ir.syntax.drafts import InstructionDraft
from pyptx_ir.syntax.fast_directives import DIRECTIVE_TEXT, directive
from pyptx_ir.syntax.fast_headers import header
from pyptx_ir.syntax.frames import DEEPEST_BLOCK, OpenBrace
from pyptx_ir.syntax.lexemes import BLANK, DIGITS_TEXT, END_OF_LINE_TEXT, NAME_TEXT, TRIVIA_TEXT, WORD, integer
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
from pyptx_ir.syntax.tables import shared_tables
from pyptx_ir.values import draft

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.cursor import Cursor
    from pyptx_ir.syntax.operands import Operand

_USUAL_TRIVIA = "\n\t"
_GUARD = rf"(?:@(!?{NAME_TEXT})[ \t]++)?+"
# Operands of an instruction; text after a blank and a dot is a modifier of the opcode, not an operand.
_OPERANDS = rf"(?:[{BLANK}]++(?!\.)([{WORD}{BLANK}$%.,+\-\[\]{{}}()|!<>&^~*]{{0,3000}}+))?+"
_LABEL = rf"({NAME_TEXT}):(?!:)"
_NUMBER = rf"[ \t]++({DIGITS_TEXT})"
_PLACE = _NUMBER * 3
_INLINED = rf"(?:,[ ]function_name[ ]({NAME_TEXT})(?:\+({DIGITS_TEXT}))?+,[ ]inlined_at{_PLACE})?+"
_TYPE = r"\.(pred|[bfsu][0-9]{1,3})"
_REGISTERS = rf"\.reg[ \t]++{_TYPE}[ \t]++({NAME_TEXT})(?:<({DIGITS_TEXT})>)?+;"
_VARIABLE = (
    r"(?:\.(extern|visible|weak|common)[ \t]++)?+\.(global|const|shared|local|param)[ \t]++"
    rf"(?:\.align[ \t]++({DIGITS_TEXT})[ \t]++)?+{_TYPE}[ \t]++({NAME_TEXT})((?:\[(?:{DIGITS_TEXT})?+\]){{0,5}}+)"
    r"(?:[ \t]*+=[ \t]*+\{([\w.,\- \t\r\n]++)\})?+;"
)
# Groups of the regular expression: 1 the leading trivia, unless usual; 2 an instruction, 3 its guard, 4 opcode, 5
# operands; 6 a label, 7 its name; 8 a .loc, 9-11 its position, 12-16 its inlining; 17 registers, 18 their type, 19
# name, 20 count; 21 a variable, 22 its linking, 23 space, 24 alignment, 25 type, 26 name, 27 dimensions, 28 flat
# initializer; 29 another directive; 30 and 31 braces. An empty match ends the loop.
_ORDINARY = re.compile(
    rf"(?:\n\t|({TRIVIA_TEXT}))(?:"
    rf"({_GUARD}([a-z][{WORD}.:]{{0,150}}+){_OPERANDS};)"
    rf"|({_LABEL})"
    rf"|(\.loc{_PLACE}{_INLINED}{END_OF_LINE_TEXT})"
    rf"|({_REGISTERS})"
    rf"|({_VARIABLE})"
    rf"|({DIRECTIVE_TEXT})"
    r"|(\{)|(\})"
    r")|",
    re.ASCII,
)
_VALUE = rf"[{WORD}$+\-.]++"
# Groups of the regular expression for a line in a .section: leading trivia; source text, type and values of a data
# line; source text and name of a label. A list of values ends after its last value, so that each of several statements
# on a line is scanned once.
_LINE = re.compile(
    rf"(\n|{TRIVIA_TEXT})(?:(\.(b8|b16|b32|b64)[ \t]++({_VALUE}(?:[ \t]*+,[ \t]*+{_VALUE})*+){END_OF_LINE_TEXT})"
    rf"|({_LABEL}))|",
    re.ASCII,
)
# `lastindex` of a match for an instruction and for `{`: the group that closes last contains the source text.
_INSTRUCTION, _OPEN = 2, 30

_LocDraft, _DataDraft = draft(Loc), draft(SectionData)
_RegistersDraft, _RegisterNameDraft = draft(RegisterDeclaration), draft(RegisterName)
_LabelDraft, _VariableDraft, _DeclaratorDraft = draft(Label), draft(Variable), draft(Declarator)


class FastReader:
    """Reader of runs of ordinary statements in one text."""

    __slots__ = ("_guards", "_line_values", "_lines", "_opcodes", "_trivia", "locs", "operands")

    def __init__(self) -> None:
        tables = shared_tables()
        self.operands, self._opcodes, self._guards = tables.operands, tables.opcodes, tables.guards
        self._line_values = tables.line_values
        # Statements without individual names repeat often; equal statements share one node per parsed text.
        self._lines: dict[str, SectionData | Label] = {}
        self.locs: dict[str, Loc] = {}
        self._trivia: dict[str, str] = {}

    def statements(self, cursor: Cursor, frames: list[OpenBrace]) -> None:
        """Add ordinary statements to the innermost open brace of `frames`; stop before the first unusual one."""
        self._run(cursor, frames)
        while header(cursor, frames):
            self._run(cursor, frames)

    def _run(self, cursor: Cursor, frames: list[OpenBrace]) -> None:
        add, keep = frames[-1].items.append, self._trivia.setdefault
        guards, opcodes, operands, split = self._guards, self._opcodes, self.operands, self._split
        last: re.Match[str] | None = None
        try:
            for found in _ORDINARY.finditer(cursor.text, cursor.end):
                kind = found.lastindex
                if kind is None:
                    break
                if kind == _INSTRUCTION:
                    trivia, raw, guard, opcode, listed = found.group(1, 2, 3, 4, 5)
                    node: Any = InstructionDraft()
                    node.leading_trivia = _USUAL_TRIVIA if trivia is None else keep(trivia, trivia)
                    node.raw = raw
                    node.guard = None if guard is None else guards[guard]
                    node.opcode = words = opcodes[opcode]
                    if listed is None:
                        node.operands = ()
                    elif "{" in listed or "(" in listed:
                        node.operands = split(words, listed)
                    else:
                        items = listed.split(", ")
                        try:
                            node.operands = itemgetter(*items)(operands) if len(items) > 1 else (operands[listed],)
                        except SyntaxFault:
                            node.operands = split(words, listed)
                    node.__class__ = Instruction
                    add(node)
                elif kind < _OPEN:
                    add(_OTHERS[kind](self, found))
                elif _braced(frames, self.leading_trivia(found), found):
                    add = frames[-1].items.append
                else:
                    break
                last = found
        except SyntaxFault:
            pass  # the full parser reads this statement or reports its error
        if last is not None:
            cursor.at = cursor.end = last.end()

    def leading_trivia(self, found: re.Match[str]) -> str:
        """Return the leading trivia in a regular expression's match of a statement; equal strings share one object."""
        trivia: str | None = found[1]
        return _USUAL_TRIVIA if trivia is None else self._trivia.setdefault(trivia, trivia)

    def _split(self, opcode: tuple[str, ...], listed: str) -> tuple[Operand, ...]:
        """Read operands, some of which contain commas or parentheses."""
        return self.operands.split_call(listed) if opcode[0] == "call" else self.operands.split(listed)

    def lines(self, cursor: Cursor, frames: list[OpenBrace]) -> None:
        """Read the lines of a debugging section, and stop before the first unusual line."""
        add, known = frames[-1].items.append, self._lines
        last: re.Match[str] | None = None
        try:
            for found in _LINE.finditer(cursor.text, cursor.end):
                if found.lastindex is None:
                    break
                text = found[0]
                node = known.get(text)
                if node is None:
                    node = known[text] = self._line(found)
                add(node)
                last = found
        except SyntaxFault:
            pass  # the full parser reads this line or reports its error
        if last is not None:
            cursor.at = cursor.end = last.end()

    def _line(self, found: re.Match[str]) -> SectionData | Label:
        raw, width, listed, label, name = found.group(2, 3, 4, 5, 6)
        if raw is None:
            return _labelled(name, self.leading_trivia(found), label)
        node: Any = _DataDraft()
        node.leading_trivia = self.leading_trivia(found)
        node.raw = raw
        node.type = width
        table = self._line_values
        node.values = tuple([table[text.strip()] for text in listed.split(",")])
        node.__class__ = SectionData
        done: SectionData = node
        return done


def _braced(frames: list[OpenBrace], leading_trivia: str, found: re.Match[str]) -> bool:
    """Open a block, or close the innermost block; return False if the full parser must handle the brace."""
    if found.lastindex == _OPEN:
        if len(frames) > DEEPEST_BLOCK:
            return False
        frames.append(OpenBrace(leading_trivia, found.end() - 1))
        return True
    if len(frames) == 1:
        return False
    closed = frames.pop().closed(leading_trivia)
    frames[-1].items.append(closed)
    return True


def _label(reader: FastReader, found: re.Match[str]) -> Label:
    return _labelled(found[7], reader.leading_trivia(found), found[6])


def _labelled(name: str, leading_trivia: str, raw: str) -> Label:
    node: Any = _LabelDraft()
    node.leading_trivia = leading_trivia
    node.raw = raw
    node.name = name
    node.__class__ = Label
    done: Label = node
    return done


def _loc(reader: FastReader, found: re.Match[str]) -> Loc:
    text = found[0]
    known = reader.locs.get(text)
    if known is None:
        known = reader.locs[text] = _new_loc(reader.leading_trivia(found), found)
    return known


def _new_loc(leading_trivia: str, found: re.Match[str]) -> Loc:
    node: Any = _LocDraft()
    node.leading_trivia = leading_trivia
    node.raw, file, line, column, label = found.group(8, 9, 10, 11, 12)
    node.file = integer(file)
    node.line = integer(line)
    node.column = integer(column)
    node.inlined_at = None if label is None else _inlined(found)
    node.__class__ = Loc
    done: Loc = node
    return done


def _inlined(found: re.Match[str]) -> InlinedAt:
    label, offset, file, line, column = found.group(12, 13, 14, 15, 16)
    return InlinedAt(label, integer(offset or "0"), integer(file), integer(line), integer(column))


def _registers(reader: FastReader, found: re.Match[str]) -> RegisterDeclaration:
    name: Any = _RegisterNameDraft()
    node: Any = _RegistersDraft()
    node.leading_trivia = reader.leading_trivia(found)
    node.raw, node.type, name.name, count = found.group(17, 18, 19, 20)
    name.count = None if count is None else integer(count)
    name.__class__ = RegisterName
    node.names = (name,)
    node.vector = node.alignment = None
    node.__class__ = RegisterDeclaration
    done: RegisterDeclaration = node
    return done


def _variable(reader: FastReader, found: re.Match[str]) -> Variable:
    raw, linking, space, alignment, kind, name, dimensions, listed = found.group(*range(21, 29))
    declarator: Any = _DeclaratorDraft()
    declarator.name = name
    declarator.count = None
    declarator.dimensions = ()
    if dimensions:
        sizes = dimensions[1:-1].split("][")
        declarator.dimensions = tuple([reader.operands[size] if size else None for size in sizes])
    declarator.initializer = None if listed is None else reader.operands[f"{{{listed}}}"]
    declarator.__class__ = Declarator
    node: Any = _VariableDraft()
    node.leading_trivia = reader.leading_trivia(found)
    node.raw = raw
    node.space = space
    node.type = kind
    node.declarators = (declarator,)
    node.linking = linking
    node.vector = None
    node.alignment = None if alignment is None else integer(alignment)
    node.attributes = ()
    node.__class__ = Variable
    done: Variable = node
    return done


def _directive(reader: FastReader, found: re.Match[str]) -> Statement:
    return directive(reader.leading_trivia(found), found[29])


_OTHERS: dict[int, Callable[[FastReader, re.Match[str]], Statement]] = {
    6: _label,
    8: _loc,
    17: _registers,
    21: _variable,
    29: _directive,
}
