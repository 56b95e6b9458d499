"""Tables of repeated texts, each parsed once: operands, opcodes and guards.

A text has the same meaning in every module, so modules share the tables; a table that becomes too large is cleared. A
text that a table can't parse raises `Fault`. The statement is then read lexeme by lexeme, which reports the error, if
any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from pyptx_ir.syntax.cursor import Cursor, SyntaxFault
from pyptx_ir.syntax.drafts import RegisterDraft, address, immediate, symbol, vector
from pyptx_ir.syntax.lexemes import INTEGER_TEXT, MOST_DIGITS, NAME_TEXT, NUMBER
from pyptx_ir.syntax.nodes import Guard
from pyptx_ir.syntax.operand_parser import OperandParser
from pyptx_ir.syntax.operands import CallList, Immediate, Operand, Register, Sink, Symbol

_SHAPE = re.compile(
    rf"(?P<name>{NAME_TEXT}(?:\.[A-Za-z_]\w*+)*+)|(?P<number>-?+(?:{NUMBER.pattern}))",
    re.ASCII | re.VERBOSE,
)
# Matches one operand of an operand list; operands with nested brackets need the full parser.
_ITEM = re.compile(r"(?:[^,{}\[\]()]++|\{[^{}]*+\}|\[[^\[\]]*+\]|\([^()]*+\))++")
_INTEGER = re.compile(rf"-?+{INTEGER_TEXT}", re.ASCII)
_OPCODE = re.compile(r"[A-Za-z]\w*+(?:\.\w++(?:::\w++)*+(?:(?<=const)\[[0-9]++\])?)*+", re.ASCII)


class OperandTable(dict[str, Operand]):
    """Operands by their text, which must be ASCII."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__({"_": Sink(), "WARP_SZ": Immediate("WARP_SZ")})

    def __missing__(self, text: str) -> Operand:
        if text[:1] == "%" and text[1:].isalnum():
            # Build a register node here, without a call: compilers use a new register in almost every instruction.
            value: Any = RegisterDraft()
            value.name = text
            value.__class__ = Register
            operand: Operand = value
        else:
            operand = self._read(text)
        self[text] = operand
        return operand

    def split(self, text: str) -> tuple[Operand, ...]:
        """Read comma-separated operands of any instruction except `call`."""
        return tuple(map(self.__getitem__, _items(text)))

    def split_call(self, text: str) -> tuple[Operand, ...]:
        """Read the operands of a `call`, where parentheses enclose lists."""
        return tuple([self._listed(item.strip()) for item in _items(text)])

    def _listed(self, text: str) -> Operand:
        if text[:1] != "(":
            return self[text]
        inner = text[1:-1]
        if text[-1] != ")" or not inner.strip():
            raise SyntaxFault("an unclosed or empty list", 0, 0)
        return CallList(self.split(inner))

    def _read(self, text: str) -> Operand:
        """Read an operand of a form that compilers emit; the full parser reads operands of any other form."""
        first = text[:1]
        if first == "[":
            return self._address(text)
        if first == "{":
            return self._vector(text)
        if first.isspace():
            return self[text.lstrip()]
        if "," in text:
            raise SyntaxFault("more than one operand", 0, 0)
        if text.isdecimal() and len(text) <= MOST_DIGITS:
            return immediate(text)
        if text.replace("$", "_").isidentifier() and text != "$":
            return symbol(text)
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return self._unusual(text)
        return immediate(text) if shape.lastgroup == "number" else _named(text)

    def _address(self, text: str) -> Operand:
        # The full parser reads nested brackets, because it limits their depth.
        if text[-1] != "]" or "," in text or "[" in text[1:] or "{" in text:
            return _careful(text)
        base, plus, offset = text[1:-1].partition("+")
        place = self[base]
        if place.__class__ is not Register and place.__class__ is not Symbol:
            return _careful(text)
        if not plus:
            return address(place, None)
        distance = self[offset]
        return address(place, distance) if distance.__class__ is Immediate else _careful(text)

    def _vector(self, text: str) -> Operand:
        if text[-1] != "}" or "{" in text[1:]:
            return _careful(text)
        try:
            return vector(tuple(map(self.__getitem__, text[1:-1].split(", "))))
        except SyntaxFault:
            return _careful(text)  # an element is followed by a comma without a space, or has nested brackets

    def _unusual(self, text: str) -> Operand:
        bare = text.strip()
        if bare != text:
            return self[bare]
        return _careful(text)


class LineTable(dict[str, Operand]):
    """Values in data lines of debugging sections by their text, which must be ASCII."""

    __slots__ = ()

    def __missing__(self, text: str) -> Operand:
        plain = _INTEGER.fullmatch(text) is not None
        operand = self[text] = immediate(text) if plain else _careful(text, lines=True)
        return operand


def _items(text: str) -> list[str]:
    items: list[str] = _ITEM.findall(text)
    if ",".join(items) != text:
        raise SyntaxFault("brackets inside brackets", 0, 0)
    return items


def _careful(text: str, *, lines: bool = False) -> Operand:
    cursor = Cursor(text)
    operand = OperandParser(cursor, lines=lines).operand()
    if cursor.skip() < len(text):
        cursor.refuse("the end of the operand")
    return operand


class OpcodeTable(dict[str, tuple[str, ...]]):
    """Opcodes by their text, split at the dots."""

    __slots__ = ()

    def __missing__(self, text: str) -> tuple[str, ...]:
        words = tuple(text.split("."))
        if _OPCODE.fullmatch(text) is None:
            raise SyntaxFault("unusual opcode", 0, 0)
        self[text] = words
        return words


class GuardTable(dict[str, Guard]):
    """Guards by their text after the `@`."""

    __slots__ = ()

    def __missing__(self, text: str) -> Guard:
        guard = self[text] = Guard(text.removeprefix("!"), negated=text[0] == "!")
        return guard


def _named(name: str) -> Operand:
    return Register(name) if name[0] == "%" else Symbol(name)


# Maximum entries of one table. An `OperandTable` of this size takes some 4 MB; the largest modules need half of it.
_MOST = 1 << 15


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of parsed texts that all parsers of a process share."""

    operands: OperandTable
    opcodes: OpcodeTable
    guards: GuardTable
    line_values: LineTable

    def size(self) -> int:
        """Return the number of entries in the largest of the four tables."""
        return max(len(self.operands), len(self.opcodes), len(self.guards), len(self.line_values))


@cache
def _shared() -> Tables:
    return Tables(OperandTable(), OpcodeTable(), GuardTable(), LineTable())


def shared_tables() -> Tables:
    """Return the process's tables of parsed texts, which are cleared first if one exceeds its maximum size."""
    if _shared().size() > _MOST:
        _shared.cache_clear()
    return _shared()
