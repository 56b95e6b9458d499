"""Readings of an instruction by rows of the instruction table: types, modifiers as keywords, operands by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.row_forms import keywords_in, types_in
from pyptx_ir.isa.check import patterns_of
from pyptx_ir.isa.fitting import places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.patterns import Pattern
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["Reading", "readings"]


@dataclass(frozen=True, slots=True)
class Reading:
    """An instruction matched with a row of the instruction table; `operands`: the row's operand names -> operands."""

    types: tuple[str, ...]
    keywords: dict[str, str | bool]
    operands: dict[str, Operand]


def readings(instruction: Instruction) -> Iterator[Reading]:
    """Yield a `Reading` for each row of the instruction table that matches an instruction; equal ones only once."""
    words = instruction.opcode[1:]
    known: list[Reading] = []
    for pattern in patterns_of(instruction.opcode[0]):
        keywords = keywords_in(pattern.row, words)
        operands = None if keywords is None else _named(instruction, pattern)
        if keywords is not None and operands is not None:
            reading = Reading(types_in(words), keywords, operands)
            if reading not in known:
                known.append(reading)
                yield reading


def _named(instruction: Instruction, pattern: Pattern) -> dict[str, Operand] | None:
    """Return an instruction's operands by name in an instruction table row; None if the numbers of operands differ."""
    places = places_of(pattern, instruction.opcode[1:], len(instruction.operands))
    if places is None:
        return None
    return {place.name: operand for place, operand in zip(places, instruction.operands, strict=True)}
