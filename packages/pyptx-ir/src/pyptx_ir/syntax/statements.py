"""One statement at a time: the careful path, which knows every form and says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax.declarations import function_header, linking, variable
from pyptx_ir.syntax.directives import PARSERS
from pyptx_ir.syntax.failure import Failure
from pyptx_ir.syntax.lexer import MODIFIERS, OPCODE, TRIVIA, Cursor
from pyptx_ir.syntax.operand_parser import operand
from pyptx_ir.syntax.sections import section

if TYPE_CHECKING:
    from pyptx_ir.syntax.fast import OperandTable
    from pyptx_ir.syntax.operands import Operand

FUNCTIONS = {".entry": "entry", ".func": "func"}
SPACES = frozenset({".global", ".const", ".shared", ".shared::cta", ".shared::cluster", ".local", ".param", ".tex"})
OPCODE_HINT = "instructions look like 'add.s32 %r1, %r2, %r3;'"


def statement(source: str, start: int, lead: str, operands: OperandTable) -> tuple[n.Statement, int]:
    """Parse the statement that begins at `start`; return it and the offset behind it.

    A function with a body comes back as its header, with an empty body; the `{` is still to be read.
    """
    cursor = Cursor(source, start)
    if cursor.kind == "word":
        node = _directive(cursor, start, lead, operands)
    elif cursor.text == "@" or cursor.kind == "name":
        node = _instruction_or_label(cursor, start, lead)
    elif cursor.text == ";":
        cursor.advance()
        node = n.Empty(lead=lead, raw=";")
    else:
        raise cursor.failure("expected a statement", OPCODE_HINT)
    return node, cursor.last


def _directive(cursor: Cursor, start: int, lead: str, operands: OperandTable) -> n.Statement:
    if cursor.text == ".section":
        cursor.advance()
        return section(cursor, start, lead, operands)
    linked = linking(cursor)
    word = cursor.text
    if word in FUNCTIONS:
        return _function(cursor, start, lead, linked)
    if word in SPACES:
        cursor.advance()
        kind, fields = variable(cursor, word[1:], linked)
    elif linked is not None:
        raise cursor.failure(f"expected a function or a variable behind '.{linked}'")
    elif word in PARSERS:
        cursor.advance()
        kind, fields = PARSERS[word](cursor)
    else:
        raise _unknown_directive(cursor)
    return kind(**fields, lead=lead, raw=cursor.source[start : cursor.last])  # type: ignore[return-value]  # of the table's classes


def _unknown_directive(cursor: Cursor) -> Failure:
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    known = [*PARSERS, *SPACES, *FUNCTIONS, ".section"]
    close = get_close_matches(cursor.text, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else None
    return Failure(f"'{cursor.text}' is no directive of PTX", cursor.start, cursor.end, hint)


def _function(cursor: Cursor, start: int, lead: str, linked: str | None) -> n.Function:
    kind = FUNCTIONS[cursor.advance()]
    fields = function_header(cursor, linked)
    defined = cursor.text == "{"
    if not defined:
        cursor.advance()
    body = n.Block((), lead="") if defined else None
    return n.Function(kind, **fields, body=body, lead=lead, raw=cursor.source[start : cursor.last])


def _instruction_or_label(cursor: Cursor, start: int, lead: str) -> n.Instruction | n.Label:
    guard = _guard(cursor) if cursor.accept("@") else None
    if guard is None and _colon_follows(cursor):
        name = cursor.advance()
        cursor.advance()
        return n.Label(name, lead=lead, raw=cursor.source[start : cursor.last])
    opcode = _opcode(cursor)
    values = _operands(cursor, call=opcode[0] == "call")
    if cursor.text != ";":
        raise cursor.failure("expected ',' or ';' behind the operand" if values else "expected an operand or ';'", OPCODE_HINT)
    cursor.advance()
    return n.Instruction(opcode, values, guard, lead=lead, raw=cursor.source[start : cursor.last])


def _guard(cursor: Cursor) -> n.Guard:
    negated = cursor.accept("!")
    return n.Guard(cursor.expect_kind("name", "a predicate register behind '@'"), negated)


def _colon_follows(cursor: Cursor) -> bool:
    source = cursor.source
    trivia = TRIVIA.match(source, cursor.end)
    at = trivia.end() if trivia else cursor.end
    return source[at : at + 1] == ":" and source[at : at + 2] != "::"


def _opcode(cursor: Cursor) -> tuple[str, ...]:
    source = cursor.source
    first = OPCODE.match(source, cursor.start)
    if first is None:
        raise cursor.failure("expected an opcode", OPCODE_HINT)
    words = first.group()
    cursor.move_to(first.end())
    while cursor.kind in {"word", "number"} and cursor.text[0] == ".":
        more = MODIFIERS.match(source, cursor.start)
        if more is None:
            raise cursor.failure("expected a modifier")
        words += more.group()
        cursor.move_to(more.end())
    cursor.last = max(cursor.last, first.end())
    return tuple(words.split("."))


def _operands(cursor: Cursor, *, call: bool) -> tuple[Operand, ...]:
    if cursor.text == ";":
        return ()
    found = [operand(cursor, call=call)]
    while cursor.accept(","):
        found.append(operand(cursor, call=call))
    return tuple(found)
