"""What repeats in a text, read once per parse: operands, opcodes and guards by their spelling.

A table lives as long as one parse. A spelling that it can't read raises `Fault`; the statement is then read lexeme by
lexeme, which says what is wrong, if anything is.
"""

from __future__ import annotations

import re
from typing import Any

from pyptx_ir.syntax.cursor import Cursor, Fault
from pyptx_ir.syntax.drafts import draft
from pyptx_ir.syntax.lexemes import INTEGER_TEXT, NAME_TEXT, NUMBER
from pyptx_ir.syntax.nodes import Guard
from pyptx_ir.syntax.operand_parser import OperandParser
from pyptx_ir.syntax.operands import Address, CallList, Immediate, Operand, Register, Sink, Symbol, Vector

_COMPONENTS = r"(?:\.[A-Za-z_]\w*+)*+"
_NUMBER = rf"-?+(?:{NUMBER.pattern})"
_SHAPE = re.compile(
    rf"(?P<name>{NAME_TEXT}{_COMPONENTS})|(?P<number>{_NUMBER})"
    rf"|\[(?P<base>{NAME_TEXT}{_COMPONENTS})(?:\+(?P<offset>{_NUMBER}))?+\]",
    re.ASCII | re.VERBOSE,
)
_FLAT_VECTOR = re.compile(r"\{([\w\s$%.,\-]++)\}", re.ASCII)
# One operand of a list; brackets inside brackets are left to the careful parser.
_ITEM = re.compile(r"(?:[^,{}\[\]()]++|\{[^{}]*+\}|\[[^\[\]]*+\]|\([^()]*+\))++")
_INTEGER = re.compile(rf"-?+{INTEGER_TEXT}", re.ASCII)
_OPCODE = re.compile(r"[A-Za-z]\w*+(?:\.\w++(?:::\w++)*+(?:(?<=const)\[[0-9]++\])?)*+", re.ASCII)

_new = object.__new__
_RegisterDraft, _ImmediateDraft, _AddressDraft = draft(Register), draft(Immediate), draft(Address)


class OperandTable(dict[str, Operand]):
    """Operands by their text, which must be ASCII."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__({"_": Sink(), "WARP_SZ": Immediate("WARP_SZ")})

    def __missing__(self, text: str) -> Operand:
        if text[:1] == "%" and text[1:].isalnum():
            # `_register`, inlined: compilers name a new register in almost every instruction.
            value: Any = _new(_RegisterDraft)
            value.name = text
            value.__class__ = Register
            operand: Operand = value
        else:
            operand = self._read(text)
        self[text] = operand
        return operand

    def split(self, text: str) -> tuple[Operand, ...]:
        """Read operands with commas between them."""
        return tuple(map(self.__getitem__, _items(text)))

    def split_call(self, text: str) -> tuple[Operand, ...]:
        """Read the operands of a `call`, where parentheses hold lists."""
        return tuple([self._listed(item.strip()) for item in _items(text)])

    def _listed(self, text: str) -> Operand:
        if text[:1] != "(":
            return self[text]
        inner = text[1:-1]
        if text[-1] != ")" or not inner.strip():
            raise Fault("an unusual list", 0, 0)
        return CallList(self.split(inner))

    def _read(self, text: str) -> Operand:
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return self._unusual(text)
        kind = shape.lastgroup
        if kind == "name":
            return _register(text) if text[0] == "%" else Symbol(text)
        if kind == "number":
            return _immediate(text)
        return _address(self[shape["base"]], self[shape["offset"]] if kind == "offset" else None)

    def _unusual(self, text: str) -> Operand:
        bare = text.strip()
        if bare != text:
            return self[bare]
        flat = _FLAT_VECTOR.fullmatch(text)
        if flat is not None:
            return Vector(tuple([self[item.strip()] for item in flat[1].split(",")]))
        if "," in text and text[:1] not in {"{", "["}:
            raise Fault("more than one operand", 0, 0)
        return _careful(text, lines=False)


class LineTable(dict[str, Operand]):
    """The values in lines of debugging sections by their text, which must be ASCII."""

    __slots__ = ()

    def __missing__(self, text: str) -> Operand:
        plain = _INTEGER.fullmatch(text) is not None
        operand = self[text] = _immediate(text) if plain else _careful(text, lines=True)
        return operand


def _items(text: str) -> list[str]:
    items: list[str] = _ITEM.findall(text)
    if ",".join(items) != text:
        raise Fault("brackets inside brackets", 0, 0)
    return items


def _careful(text: str, *, lines: bool) -> Operand:
    cursor = Cursor(text)
    operand = OperandParser(cursor, lines=lines).operand()
    if cursor.skip() < len(text):
        cursor.refuse("the end of the operand")
    return operand


class OpcodeTable(dict[str, tuple[str, ...]]):
    """Opcodes split at their dots. A `call` is unusual: its parentheses hold lists."""

    __slots__ = ()

    def __missing__(self, text: str) -> tuple[str, ...]:
        words = tuple(text.split("."))
        if words[0] == "call" or _OPCODE.fullmatch(text) is None:
            raise Fault("unusual opcode", 0, 0)
        self[text] = words
        return words


class GuardTable(dict[str, Guard]):
    """Guards by the text behind their `@`."""

    __slots__ = ()

    def __missing__(self, text: str) -> Guard:
        guard = self[text] = Guard(text.removeprefix("!"), negated=text[0] == "!")
        return guard


def _register(name: str) -> Operand:
    value: Any = _new(_RegisterDraft)
    value.name = name
    value.__class__ = Register
    done: Operand = value
    return done


def _immediate(text: str) -> Operand:
    value: Any = _new(_ImmediateDraft)
    value.text = text
    value.__class__ = Immediate
    done: Operand = value
    return done


def _address(base: Operand, offset: Operand | None) -> Operand:
    value: Any = _new(_AddressDraft)
    value.base = base
    value.offset = offset
    value.__class__ = Address
    done: Operand = value
    return done
