"""Printing of operands as Python expressions that emit the same operands as arguments of `ptx.inst`."""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.groups.special_registers import special
from pyptx_dsl.registers.operands import NUMERIC, float_text, literal_bits
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_transpile.reading.names import Registers

WHOLE = re.compile(r"(?:0|-?[1-9][0-9]*)\Z", re.ASCII)
_LONGEST_FLOAT = 12  # maximum characters of a float literal printed in decimal; a longer one is printed as its bits
_SLICE = 3  # minimum consecutive registers of a group that are printed as one slice


def quoted(text: str) -> str:
    """Return a Python string literal in ASCII, with double quotes if that needs no escape."""
    body = ascii(text)
    if body[0] == "'" and '"' not in body:
        return f'"{body[1:-1]}"'.replace("\\'", "'")
    return body


class Values:
    """Printer of operands, with the registers declared at the current position."""

    def __init__(self, registers: Registers, *, special: bool = False) -> None:
        """Store the names of visible registers; with `special`, special registers are printed as function calls."""
        self._registers, self._special = registers, special

    def expression(self, operand: tree.Operand, opcode: tuple[str, ...] = ()) -> str:
        """Return the Python expression for an operand of an instruction.

        The expression does not depend on the position, except for numbers, whose format depends on the opcode.
        """
        if operand.__class__ is tree.Immediate:
            return number(operand.text, _bits(opcode))
        texts = self._registers.texts[-1]
        known = texts.get(id(operand))
        if known is not None:
            return known[1]
        text = self._expression(operand, opcode)
        if operand.__class__ is not tree.Vector:
            texts[id(operand)] = operand, text
        return text

    def _expression(self, operand: tree.Operand, opcode: tuple[str, ...]) -> str:
        match operand:
            case tree.Register(name) | tree.Symbol(name):
                return self._registers.find(name) or (self._special and special_register(name)) or quoted(name)
            case tree.Vector(elements):
                return self._registers.vector(elements) or self.vector(elements, opcode)
            case tree.CallList(elements):
                return f"({self.expressions(elements, opcode)}{',' if len(elements) == 1 else ''})"
            case tree.Pair(first, second):
                return f"reg.pair({self.expression(first)}, {self.expression(second)})"
            case tree.Negated(tree.Register(name) | tree.Symbol(name)) if found := self._registers.find(name):
                return f"~{found}"
            case tree.Address(base=tree.Register() | tree.Symbol() as base, offset=offset):
                more = "" if offset is None else f", {self.expression(offset)}"
                return f"ptx.addr({self.expression(base)}{more})"
            case tree.TensorAddress(elements):
                return f"ptx.tensor_addr({self.expressions(elements)})"
            case tree.Unified(address):
                return f"ptx.unified({self.expression(address)})"
            case _:
                return quoted(spell(operand))

    def expressions(self, operands: Iterable[tree.Operand], opcode: tuple[str, ...] = ()) -> str:
        """Return the expressions of operands, separated by commas."""
        return ", ".join([self.expression(each, opcode) for each in operands])

    def vector(self, elements: tuple[tree.Operand, ...], opcode: tuple[str, ...]) -> str:
        """Return a Python list of operands; consecutive registers of a group are a slice."""
        parts = list(self.parts(elements, opcode))
        if len(parts) == 1 and parts[0].startswith("*"):
            return parts[0][1:]
        return f"[{', '.join(parts)}]"

    def parts(self, elements: tuple[tree.Operand, ...], opcode: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield the elements of a Python list of operands; consecutive registers of a group are a slice: `*r[4:12]`."""
        at = 0
        while at < len(elements):
            run = self._run(elements, at)
            if run is not None:
                text, count = run
                yield text
                at += count
            else:
                yield self.expression(elements[at], opcode)
                at += 1

    def _run(self, elements: tuple[tree.Operand, ...], at: int) -> tuple[str, int] | None:
        """Return the slice of equally spaced group registers that starts at `at`, and their number; else None."""
        row = [self._element(each) for each in elements[at : at + 2]]
        if len(elements) - at < _SLICE or row[0] is None or row[1] is None or row[0][0] != row[1][0]:
            return None
        (bank, first), step = row[0], row[1][1] - row[0][1]
        count = 2
        while at + count < len(elements) and self._element(elements[at + count]) == (bank, first + count * step):
            count += 1
        end = first + count * step
        if count < _SLICE or step == 0 or end < 0:
            return None
        stride = "" if step == 1 else f":{step}"
        return f"*{bank}[{first}:{end}{stride}]", count

    def _element(self, operand: tree.Operand) -> tuple[str, int] | None:
        match operand:
            case tree.Register(name) | tree.Symbol(name):
                return self._registers.element(name)
            case _:
                return None


@lru_cache(maxsize=256)
def special_register(name: str) -> str | None:
    """Return the call for a special register, `ptx.special.tid.x()`; None for every other name."""
    if name not in special_registers() or name.endswith(".w"):
        return None
    stem, dot, axis = name[1:].partition(".")
    if hasattr(special, stem):
        return f"ptx.special.{stem}{dot}{axis}()"
    return f"ptx.sreg({quoted(name)})"


def literal(operand: tree.Immediate, opcode: tuple[str, ...]) -> str:
    """Return the Python expression for a literal in an instruction."""
    return number(operand.text, _bits(opcode))


@lru_cache(maxsize=1 << 12)
def _bits(opcode: tuple[str, ...]) -> int:
    """Return the width in bits of an instruction's float literals; 0 if its literals are integers."""
    if not opcode or opcode[0] not in NUMERIC:
        return 0
    # The selector of slct has another type than its values.
    return literal_bits(opcode) or (32 if opcode[0] == "slct" else 0)


@lru_cache(maxsize=1 << 14)
def number(text: str, bits: int) -> str:
    """Return the Python expression for a literal: an integer, or a float if `bits` is 32 or 64."""
    if WHOLE.match(text):
        return text if not bits else quoted(text)
    head = text[:2].lower()
    if (head, bits) in {("0f", 32), ("0d", 64)}:
        value: float = struct.unpack(">f" if bits == 32 else ">d", bytes.fromhex(text[2:]))[0]
        shown = _shortest(value, bits).replace("e+", "e")
        if math.isfinite(value) and float_text(float(shown), bits) == text and len(shown) <= _LONGEST_FLOAT:
            return shown
    return quoted(text)


def _shortest(value: float, bits: int) -> str:
    """Return the shortest decimal text that Python converts to this float of `bits` bits."""
    if bits == 64 or not math.isfinite(value):
        return repr(value)
    wanted = float_text(value, bits)
    for digits in range(1, 10):
        shown = repr(float(f"{value:.{digits}g}"))
        if float_text(float(shown), bits) == wanted:
            return shown
    return repr(value)
