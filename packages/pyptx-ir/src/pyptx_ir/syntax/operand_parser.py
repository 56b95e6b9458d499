"""Parse operands, lexeme by lexeme. Manual: "Instruction Operands", "Constant Expressions"."""

from __future__ import annotations

import re

from pyptx_ir.syntax.cursor import Cursor, SyntaxFault
from pyptx_ir.syntax.lexemes import CAST, COMPONENT, DOTTED_NAME, NAME, NUMBER, OPERATOR, UNIFIED
from pyptx_ir.syntax.operand_spelling import PRECEDENCE
from pyptx_ir.syntax.operands import (
    Address,
    Apply,
    Binary,
    CallList,
    Immediate,
    Index,
    Negated,
    Operand,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Ternary,
    Unary,
    Unified,
    Vector,
)

# Maximum depth of operands: parsing, comparing and hashing are recursive; compilers nest three levels deep.
DEEPEST_OPERAND = 64
_NAMES = (Register, Symbol, Sink)
_SINK = re.compile(r"_(?![\w$])", re.ASCII)
_ADDITIVE = PRECEDENCE["+"]
_TERNARY = PRECEDENCE["?"]


class OperandParser:
    """Reads operands at a cursor. `lines` is set where the end of a line ends the statement.

    With `lines`, a word with a dot is a name (`.debug_str`) or begins the next statement. Otherwise it is a component
    of the preceding name (`%tid .x`).
    """

    __slots__ = ("_cursor", "_depth", "_lines", "_names")

    def __init__(self, cursor: Cursor, *, lines: bool = False) -> None:
        self._cursor = cursor
        self._depth = 0
        self._lines = lines
        self._names = DOTTED_NAME if lines else NAME

    def operands(self, *, call: bool = False) -> tuple[Operand, ...]:
        """Read comma-separated operands; in a `call`, parentheses enclose lists."""
        out = [self.operand(call=call)]
        while self._cursor.eat(","):
            out.append(self.operand(call=call))
        return tuple(out)

    def operand(self, *, call: bool = False) -> Operand:
        """Read one operand of an instruction or initializer."""
        if call and self._cursor.eat("("):
            return CallList(self._list(")"))
        return self._expression(_TERNARY)

    def dimensions(self) -> tuple[Operand | None, ...]:
        """Read dimensions `[n][m]` after a declared name; an empty bracket is None."""
        out: list[Operand | None] = []
        while self._cursor.eat("["):
            out.append(None if self._cursor.sees("]") else self._expression(_TERNARY))
            self._cursor.need("]")
        return tuple(out)

    # --- expressions by precedence ------------------------------------------------------------------

    def _expression(self, least: int) -> Operand:
        return self._continued(self._unary(), least)

    def _continued(self, left: Operand, least: int) -> Operand:
        """Read the operators of at least a given precedence after the operand `left`."""
        cursor, depth = self._cursor, self._depth
        while True:
            before = cursor.at, cursor.end
            op = cursor.take(OPERATOR)
            if op is None or PRECEDENCE[op] < least:
                cursor.at, cursor.end = before
                break
            self._deeper()
            left = self._ternary(left) if op == "?" else self._binary(op, left)
        self._depth = depth
        return left

    def _binary(self, op: str, left: Operand) -> Operand:
        if op == "+" and isinstance(left, _NAMES):  # a whole expression follows: `variable+1<<2` is variable+(1<<2)
            return Binary(op, left, self._expression(_TERNARY))
        right = self._expression(PRECEDENCE[op] + 1)
        if op == "|" and isinstance(left, (*_NAMES, Vector)) and isinstance(right, _NAMES):
            return Pair(left, right)
        return Binary(op, left, right)

    def _ternary(self, condition: Operand) -> Operand:
        then = self._expression(_TERNARY)
        self._cursor.need(":")
        return Ternary(condition, then, self._expression(_TERNARY))

    def _unary(self) -> Operand:
        cursor = self._cursor
        mark = cursor.text[cursor.skip() : cursor.at + 1]
        if mark in {"-", "+", "!", "~"}:
            cursor.eat(mark)
            return self._signed(mark)
        cast = self._cast() if mark == "(" else None
        return self._primary(mark) if cast is None else Unary(cast, self._below())

    def _cast(self) -> str | None:
        """Take a cast, `(.s64)` or `(.u64)`, if it is the next lexeme."""
        cursor = self._cursor
        before = cursor.at, cursor.end
        cursor.eat("(")
        kind = cursor.take(CAST)
        if kind is not None and cursor.eat(")"):
            return f"({kind})"
        cursor.at, cursor.end = before
        return None

    def _signed(self, mark: str) -> Operand:
        operand = self._below()
        match operand:
            case Immediate(text) if mark == "-" and text[0] not in "+-":
                return Immediate("-" + text)
            case Register() | Symbol() if mark == "!":
                return Negated(operand)
            case _:
                return Unary(mark, operand)

    def _below(self) -> Operand:
        self._deeper()
        operand = self._unary()
        self._depth -= 1
        return operand

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST_OPERAND:
            at = self._cursor.at
            raise SyntaxFault(f"operand nests deeper than {DEEPEST_OPERAND} levels", at, at + 1, "split it")

    # --- primaries ----------------------------------------------------------------------------------

    def _primary(self, mark: str) -> Operand:
        if mark in {"[", "{", "("}:
            self._deeper()
            operand = self._bracketed(mark)
            self._depth -= 1
            return operand
        return self._postfix(self._atom())

    def _bracketed(self, mark: str) -> Operand:
        self._cursor.eat(mark)
        if mark == "[":
            return self._address()
        if mark == "{":
            return Vector(self._list("}"))
        elements = self._list(")")
        return Parenthesized(elements[0]) if len(elements) == 1 else CallList(elements)

    def _atom(self) -> Operand:
        cursor = self._cursor
        number = cursor.take(NUMBER)
        if number is not None:
            return Immediate(number)
        name = cursor.take(self._names)
        if name is None:
            if cursor.take(_SINK):
                return Sink()
            cursor.refuse("an operand")
        while not self._lines and (component := cursor.take(COMPONENT)):
            name += component
        if name == "WARP_SZ":
            return Immediate(name)
        return Register(name) if name[0] == "%" else Symbol(name)

    def _postfix(self, atom: Operand) -> Operand:
        cursor, depth = self._cursor, self._depth
        while isinstance(atom, Symbol | Index) and cursor.eat("["):
            self._deeper()
            atom = Index(atom, self._expression(_TERNARY))
            cursor.need("]")
        if isinstance(atom, Symbol | Immediate) and cursor.eat("("):
            self._deeper()
            atom = Apply(atom, self._expression(_TERNARY))
            cursor.need(")")
        self._depth = depth
        return atom

    def _address(self) -> Operand:
        """Read the contents of brackets: a base and an offset, or the parts of a tensor or texture address."""
        cursor = self._cursor
        base = self._unary()
        if isinstance(base, _NAMES) and (sum_of_constants := self._offset(base)) is not None:
            return sum_of_constants
        if cursor.eat("+") or cursor.sees("-"):
            offset = self._expression(_ADDITIVE)
            if cursor.eat("]"):
                return self._attributed(Address(base, offset))
            # Inside a bracketed list, `base+offset` is an ordinary expression.
            base = _sum(base, offset)
        base = self._continued(base, _TERNARY)
        if cursor.eat("]"):
            return self._attributed(Address(base))
        if not cursor.sees(","):
            cursor.refuse("']'")
        elements = [base]
        while cursor.eat(","):
            elements.append(self._expression(_TERNARY))
        cursor.need("]")
        return TensorAddress(tuple(elements))

    def _offset(self, base: Operand) -> Operand | None:
        """Read `+` and a whole constant expression up to the bracket, or nothing: `[r+1<<2]` is `[r+(1<<2)]`."""
        cursor = self._cursor
        before = cursor.at, cursor.end
        if cursor.eat("+"):
            offset = self._expression(_TERNARY)
            if cursor.eat("]"):
                return self._attributed(Address(base, offset))
        cursor.at, cursor.end = before
        return None

    def _attributed(self, address: Address) -> Operand:
        """Read `.unified` after an address, if present."""
        return Unified(address) if self._cursor.take(UNIFIED) else address

    def _list(self, close: str) -> tuple[Operand, ...]:
        """Read comma-separated operands up to and including the bracket `close`."""
        cursor = self._cursor
        if cursor.eat(close):
            return ()
        element = self._element if close == "}" else self._plain
        out = [element()]
        while cursor.eat(","):
            out.append(element())
        if not cursor.eat(close):
            cursor.refuse(f"',' or '{close}'")
        return tuple(out)

    def _plain(self) -> Operand:
        return self._expression(_TERNARY)

    def _element(self) -> Operand:
        """Read an element of a vector, or a field of an opaque initializer: `filter_mode = nearest`."""
        operand = self._expression(_TERNARY)
        if isinstance(operand, Symbol) and self._cursor.eat("="):
            return Binary("=", operand, self._expression(_TERNARY))
        return operand


def _sum(left: Operand, right: Operand) -> Operand:
    """Return the sum of `left` and `right`, associated from left to right; `right` may be a sum itself."""
    if not isinstance(left, _NAMES) and isinstance(right, Binary) and PRECEDENCE[right.op] == _ADDITIVE:
        return Binary(right.op, _sum(left, right.left), right.right)
    return Binary("+", left, right)
