"""Parse instructions and labels, lexeme by lexeme. Manual: "Instruction Statements"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.lexemes import MODIFIER, NAME, OPCODE
from pyptx_ir.syntax.nodes import Guard, Instruction, Label
from pyptx_ir.syntax.operand_parser import OperandParser

if TYPE_CHECKING:
    from pyptx_ir.syntax.cursor import Cursor
    from pyptx_ir.syntax.operands import Operand


def instruction_or_label(cursor: Cursor) -> Instruction | Label:
    """Read a label `name:` or an instruction `@guard opcode operands;`."""
    guard = _guard(cursor) if cursor.eat("@") else None
    if guard is None:
        label = _label(cursor)
        if label is not None:
            return label
    opcode = _opcode(cursor)
    operands: tuple[Operand, ...] = ()
    if not cursor.eat(";"):
        operands = OperandParser(cursor).operands(call=opcode[0] == "call")
        if not cursor.eat(";"):
            cursor.refuse("',' or ';'", "end the instruction with ';'")
    return Instruction(opcode, operands, guard, **cursor.spelling())


def _guard(cursor: Cursor) -> Guard:
    negated = cursor.eat("!")
    return Guard(cursor.name("a predicate register", "write a guard as '@%p1' or '@!%p1'"), negated)


def _label(cursor: Cursor) -> Label | None:
    name = cursor.take(NAME)
    if name is not None and cursor.sees(":") and not cursor.sees("::"):
        cursor.eat(":")
        return Label(name, **cursor.spelling())
    cursor.at = cursor.end = cursor.start
    return None


def _opcode(cursor: Cursor) -> tuple[str, ...]:
    words = [
        cursor.take(OPCODE)
        or cursor.refuse("a statement", "write for example 'add.s32 %r1, %r2, %r3;', '.reg .b32 %r1;' or 'L:'")
    ]
    while modifier := cursor.find(MODIFIER):
        words.append(modifier[1])
    return tuple(words)
