"""Parse variables, registers and parameters. Manual: "State Spaces, Types, and Variables"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.cursor import Cursor, SyntaxFault
from pyptx_ir.syntax.drafts import immediate
from pyptx_ir.syntax.lexemes import BLANK, DIGITS_TEXT, KEYWORD, NAME, NAME_TEXT, integer
from pyptx_ir.syntax.nodes import (
    Attribute,
    Declarator,
    Parameter,
    Pointer,
    RegisterDeclaration,
    RegisterName,
    Variable,
)
from pyptx_ir.syntax.operand_parser import OperandParser
from pyptx_ir.values import draft

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

_ParameterDraft = draft(Parameter)
SPACES = frozenset({"global", "const", "shared", "local", "param", "tex", "sreg"})
LINKING = frozenset({"extern", "visible", "weak", "common"})
FUNCTIONS = frozenset({"entry", "func"})
_BLANKS = " \t\r\n\f"
_VECTORS = frozenset({"v2", "v4", "v8"})
_POINTED = frozenset({"const", "global", "local", "shared"})
# A function's parameter in the form that compilers emit: nine of ten parameter lists match, at a fifth of the cost of
# lexing.
_USUAL = re.compile(
    rf"[{BLANK}]*+\.param[ \t]++(?:\.align[ \t]++({DIGITS_TEXT})[ \t]++)?+\.(pred|[bfsu][0-9]{{1,3}})[ \t]++"
    rf"(?:(\.ptr)(?:[ \t]++\.(const|global|local|shared))?+[ \t]++\.align[ \t]++({DIGITS_TEXT})[ \t]++)?+"
    rf"({NAME_TEXT})(?:\[({DIGITS_TEXT})\])?+[{BLANK}]*+(?:,|\Z)",
    re.ASCII,
)


@dataclass(slots=True)
class Qualifiers:
    """Qualifiers of a declaration before its name, in any order."""

    space: str | None = None
    type: str | None = None
    linking: str | None = None
    alignment: int | None = None
    vector: str | None = None
    pointer: Pointer | None = None
    attributes: list[Attribute] = field(default_factory=list[Attribute])

    def read(self, cursor: Cursor) -> None:
        """Take all qualifiers that follow, up to and including `.entry` or `.func`."""
        while word := cursor.find(KEYWORD):
            self._word(cursor, word[1], word.start())
            if word[1] in FUNCTIONS:
                self._only_link(word[0], word.start())
                return

    def _only_link(self, word: str, at: int) -> None:
        """Raise a `SyntaxFault` if a qualifier other than linking precedes a function."""
        others = (self.space, self.alignment, self.vector, self.pointer)
        if self.linking == "common" or self.attributes or any(other is not None for other in others):
            help = (
                f"put attributes after '{word}'"
                if self.attributes
                else "remove the qualifiers other than .visible, .extern or .weak"
            )
            allowed = ".visible, .extern or .weak"
            raise SyntaxFault(f"only {allowed} can precede '{word}'", at, at + len(word), help)

    def _word(self, cursor: Cursor, word: str, at: int) -> None:
        if word in ("align", "ptr") and self.pointer is not None:
            raise SyntaxFault(f"'.{word}' after '.ptr'", at, at + len(word) + 1, "write .ptr{.space}{.align N}")
        if word == "align":
            self.alignment = cursor.number("a number of bytes")
        elif word == "attribute":
            self.attributes.extend(attributes(cursor))
        elif word == "ptr":
            self.pointer = _pointer(cursor)
        else:
            slot = _slot(word)
            if getattr(self, slot) is not None:
                old, kind = getattr(self, slot), "state space" if slot == "space" else slot
                raise SyntaxFault(
                    f"'.{word}' after '.{old}': only one {kind} is allowed", at, at + len(word) + 1, "remove one"
                )
            setattr(self, slot, word)


def _slot(word: str) -> str:
    if word in _VECTORS:
        return "vector"
    if word in LINKING:
        return "linking"
    stem = word.partition("::")[0].partition("[")[0]
    return "space" if stem in SPACES or word == "reg" else "type"


def _pointer(cursor: Cursor) -> Pointer:
    """Read the state space and the alignment after `.ptr`, which must be in this order."""
    space = _next_word(cursor, _POINTED)
    aligned = _next_word(cursor, frozenset({"align"}))
    return Pointer(space, cursor.number("a number of bytes") if aligned else None)


def _next_word(cursor: Cursor, words: frozenset[str]) -> str | None:
    """Take the next keyword if it is one of `words`; return it without its dot."""
    found = KEYWORD.match(cursor.text, cursor.skip())
    if found is None or found[1] not in words:
        return None
    cursor.at = cursor.end = found.end()
    return found[1]


def attributes(cursor: Cursor) -> list[Attribute]:
    """Read the list `(.managed, .unified(1, 2))` after `.attribute`."""
    cursor.need("(")
    out: list[Attribute] = []
    while True:
        word = cursor.find(KEYWORD) or cursor.refuse("an attribute", "write .managed or .unified(1, 2)")
        arguments: tuple[Operand, ...] = ()
        if cursor.eat("("):
            arguments = OperandParser(cursor).operands()
            cursor.need(")")
        out.append(Attribute(word[1], arguments))
        if not cursor.eat(","):
            cursor.need(")")
            return out


def count(cursor: Cursor) -> int | None:
    """Read the count `<n>` after a declared name, if present."""
    if not cursor.eat("<"):
        return None
    number = cursor.number("a number of names")
    cursor.need(">")
    return number


def declaration(cursor: Cursor, qualifiers: Qualifiers) -> Variable | RegisterDeclaration:
    """Read the declared names after a declaration's qualifiers, up to and including the `;`."""
    if qualifiers.type is None:
        cursor.refuse("a type", "write a type such as .b32 or .f64")
    return _registers(cursor, qualifiers) if qualifiers.space == "reg" else _variable(cursor, qualifiers)


def _registers(cursor: Cursor, qualifiers: Qualifiers) -> RegisterDeclaration:
    names = [RegisterName(cursor.name("a register's name"), count(cursor))]
    while cursor.eat(","):
        names.append(RegisterName(cursor.name("a register's name"), count(cursor)))
    _end(cursor, "',' or ';'")
    return RegisterDeclaration(
        type=qualifiers.type or "",
        names=tuple(names),
        vector=qualifiers.vector,
        alignment=qualifiers.alignment,
        **cursor.spelling(),
    )


def _variable(cursor: Cursor, qualifiers: Qualifiers) -> Variable:
    declarators = [_declarator(cursor)]
    while cursor.eat(","):
        declarators.append(_declarator(cursor))
    _end(cursor, "'[', '=', ',' or ';'")
    return Variable(
        space=qualifiers.space or "",
        type=qualifiers.type or "",
        declarators=tuple(declarators),
        linking=qualifiers.linking,
        alignment=qualifiers.alignment,
        vector=qualifiers.vector,
        attributes=tuple(qualifiers.attributes),
        **cursor.spelling(),
    )


def _end(cursor: Cursor, expected: str) -> None:
    if not cursor.eat(";"):
        cursor.refuse(expected, "end the declaration with ';'")


def _declarator(cursor: Cursor) -> Declarator:
    name = cursor.name("a variable's name")
    number = count(cursor)
    operands = OperandParser(cursor)
    dimensions = operands.dimensions()
    initializer = operands.operand() if cursor.eat("=") else None
    return Declarator(name, dimensions, initializer, number)


def parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    """Read the parameters after an opening parenthesis, up to and including the closing one."""
    if cursor.eat(")"):
        return ()
    out = [_parameter(cursor)]
    while cursor.eat(","):
        out.append(_parameter(cursor))
    if not cursor.eat(")"):
        cursor.refuse("',' or ')'")
    return tuple(out)


def usual_parameters(text: str) -> tuple[Parameter, ...] | None:
    """Read the parameters between the parentheses of a list; None if the text does not have the usual form."""
    out: list[Parameter] = []
    at = 0
    while at < len(text):
        found = _USUAL.match(text, at)
        if found is None:
            return None if text.strip(_BLANKS) else ()
        out.append(_usual(found))
        at = found.end()
    return None if text[-1:] == "," else tuple(out)


def _usual(found: re.Match[str]) -> Parameter:
    node: Any = _ParameterDraft()
    alignment, node.type, ptr, space, pointed, node.name, size = found.groups()
    node.space = "param"
    node.alignment = None if alignment is None else integer(alignment)
    node.pointer = Pointer(space, integer(pointed)) if ptr else None
    node.dimensions = () if size is None else (immediate(size),)
    node.vector = None
    node.attributes = ()
    node.__class__ = Parameter
    done: Parameter = node
    return done


def _parameter(cursor: Cursor) -> Parameter:
    qualifiers = Qualifiers()
    at = cursor.skip()
    qualifiers.read(cursor)
    if qualifiers.space is None:
        help = "write a parameter as '.param .u64 name'"
        if cursor.at == at:
            cursor.refuse("a parameter", help)
        cursor.refuse("'.param' or '.reg' in a parameter", help)
    if qualifiers.type is None:
        cursor.refuse("a type", "write a type such as .b32 or .f64")
    name = cursor.take(NAME) or ("_" if cursor.eat("_") else "")
    return Parameter(
        type=qualifiers.type,
        name=name,
        space=qualifiers.space,
        alignment=qualifiers.alignment,
        vector=qualifiers.vector,
        pointer=qualifiers.pointer,
        dimensions=OperandParser(cursor).dimensions(),
        attributes=tuple(qualifiers.attributes),
    )
