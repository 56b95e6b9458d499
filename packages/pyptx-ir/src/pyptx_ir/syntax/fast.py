"""The fast path: one regular expression for each ordinary statement, operands and opcodes looked up by their text.

Compilers repeat themselves: of a hundred operands some five are new. What this path does not recognise at a glance (comments
between tokens, nested vectors, directives, errors) it leaves to the careful path, which builds the very same nodes.
"""

from __future__ import annotations

import re

from pyptx_ir.syntax.failure import Failure
from pyptx_ir.syntax.lexer import IDENTIFIER_PATTERN, TRIVIA_PATTERN, Cursor
from pyptx_ir.syntax.nodes import Guard, Instruction, Label, Loc, Statement
from pyptx_ir.syntax.operand_parser import operand
from pyptx_ir.syntax.operands import Address, Immediate, Operand, Register, Vector

# Groups: 1 lead; 2 instruction, with 3 guard, 4 opcode, 5 operands; 6 label; 7 .loc with 8-10 its numbers.
STATEMENT = re.compile(
    rf"""({TRIVIA_PATTERN})(?:
      ((?:@(!?%?[\w$]++)[ \t]++)?([a-z][\w]*+(?:\.[\w:]++)*+)(?:[ \t]*+(?<=[ \t])([^;/"]*+))?;)
    | ({IDENTIFIER_PATTERN}:(?!:))
    | (\.loc[ \t]++(\d++)[ \t]++(\d++)[ \t]++(\d++)(?=[ \t]*+\r?\n))
    )""",
    re.VERBOSE | re.ASCII,
)

_REGISTER = re.compile(r"%[\w$]++(?:\.[xyzw])?", re.ASCII)
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]++U?|[0-9]++U?)", re.ASCII)
_HEX_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", re.ASCII)
_ADDRESS = re.compile(r"\[(%[\w$]++)(?:\+(-?[0-9]++))?\]", re.ASCII)
# One operand with its comma, where brackets are not nested in brackets of their own kind.
_PIECE = re.compile(r"[^,\[\](){}]*+(?:\[[^\[\](){}]*+\]|\{[^\[\](){}]*+\}|\([^\[\](){}]*+\))?+[^,\[\](){}]*+(?:,|$)")
_BRACKETED = re.compile(r"[{(]|\[[^\]]*,")


class OperandTable(dict[str, Operand]):
    """Operands by their text, with the comma and white space around it, filled on demand."""

    def __missing__(self, text: str) -> Operand:
        """Parse the operand once."""
        value = self[text] = self._parse(text.removesuffix(",").strip())
        return value

    def _parse(self, text: str) -> Operand:
        if _REGISTER.fullmatch(text):
            return Register(text)
        address = _ADDRESS.fullmatch(text)
        if address is not None:
            offset = address[2]
            return Address(Register(address[1]), None if offset is None else self[offset])
        if _INTEGER.fullmatch(text) or _HEX_FLOAT.fullmatch(text):
            return Immediate(text)
        if text[:1] == "{" and text[-1:] == "}" and text[1:-1].strip():
            return Vector(self.split(text[1:-1]))
        return self._parse_carefully(text)

    def _parse_carefully(self, text: str) -> Operand:
        cursor = Cursor(text)
        value = operand(cursor)
        if cursor.text:
            raise cursor.failure("expected ','")
        return value

    def split(self, text: str) -> tuple[Operand, ...]:
        """Parse a list of operands; Failure (with offsets that mean nothing) when it isn't one."""
        if not _BRACKETED.search(text):
            return tuple(map(self.__getitem__, text.split(",")))
        pieces = _PIECE.findall(text)
        if sum(map(len, pieces)) != len(text) or text.rstrip()[-1:] == ",":
            return self._split_carefully(text)
        if pieces and not pieces[-1]:
            pieces.pop()
        return tuple(map(self.__getitem__, pieces))

    def _split_carefully(self, text: str) -> tuple[Operand, ...]:
        cursor = Cursor(text)
        found = [operand(cursor)]
        while cursor.accept(","):
            found.append(operand(cursor))
        if cursor.text:
            raise cursor.failure("expected ','")
        return tuple(found)


class FastPath:
    """What one parse remembers: operands, operand lists, opcodes, guards and leads by their text."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._operands = OperandTable()
        self._opcodes: dict[str, tuple[str, ...]] = {}
        self._guards: dict[str | None, Guard | None] = {None: None}
        self._leads: dict[str, str] = {}

    def statements(self, text: str, at: int, out: list[Statement]) -> int:
        """Append the ordinary statements that stand at `at` in a row to `out`; return the offset behind them."""
        leads, opcodes, guards, split, append = self._leads, self._opcodes, self._guards, self._operands.split, out.append
        next_statement = STATEMENT.scanner(text, at).match  # type: ignore[attr-defined]  # documented nowhere, there since 2.x
        while (match := next_statement()) is not None:
            lead, raw, guard, opcode, operands, label, loc, *numbers = match.groups()
            lead = leads.setdefault(lead, lead)
            if raw is not None:
                words = opcodes.get(opcode)
                if words is None:
                    words = opcodes[opcode] = tuple(opcode.split("."))
                if words[0] == "call" or (guard not in guards and not self._know_guard(guard)):
                    break
                try:
                    values = split(operands) if operands else ()
                except Failure:
                    break
                append(Instruction(words, values, guards[guard], lead=lead, raw=raw))
            elif label is not None:
                append(Label(label[:-1], lead=lead, raw=label))
            else:
                append(Loc(int(numbers[0]), int(numbers[1]), int(numbers[2]), lead=lead, raw=loc))
            at = match.end()
        return at

    def _know_guard(self, text: str) -> bool:
        self._guards[text] = Guard(text[1:], negated=True) if text[0] == "!" else Guard(text)
        return True

    def lead(self, text: str) -> str:
        """Return the one string that stands for every equal lead."""
        return self._leads.setdefault(text, text)

