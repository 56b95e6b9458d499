"""Expansion of the instruction table: instructions that use every modifier and every type of a row.

Registers are named by their types, `%u32_1`, so that the text determines the operands. The oracle test checks these
instructions with ptxas; they are also examples on the reference pages.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import Use
from pyptx_ir.isa.patterns import Pattern, compile_row
from pyptx_ir.isa.scalar_types import TYPES
from pyptx_ir.plugins.operand_kinds import operand_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from pyptx_ir.isa.rows import InstructionRow


def register_type(name: str) -> str | None:
    """Return the type in a register name of an expanded form, `u32` of `%u32_1`; None for any other name."""
    stem, _, number = name.removeprefix("%").rpartition("_")
    return stem if name.startswith("%") and number.isdigit() else None


def forms(row: InstructionRow) -> Iterator[str]:
    """Yield examples of an instruction row: each combination of types, the first also with other modifiers."""
    pattern = compile_row(row)
    for words in _spellings(pattern):
        yield from _instructions(pattern, words)


def some_forms(row: InstructionRow, chance: Random, most: int) -> Iterator[str]:
    """Yield at most `most` of an instruction row's `forms`: the first, and random others (all would take long)."""
    pattern = compile_row(row)
    spellings = list(_spellings(pattern))
    first = next(_instructions(pattern, spellings[0]))
    yield first
    for _ in range(most - 1):
        others = [form for form in _instructions(pattern, chance.choice(spellings)) if form != first]
        if others:
            yield chance.choice(others)


def _spellings(pattern: Pattern) -> Iterator[tuple[str, ...]]:
    """Yield the modifiers of example opcodes, one per modifier slot of `pattern`; an absent modifier is empty."""
    choices = [sorted(item.words) for item in pattern.items]
    typed = [place for place, words in enumerate(choices) if words[0] in TYPES]
    base = ["" if item.optional else words[0] for item, words in zip(pattern.items, choices, strict=True)]
    seen: set[tuple[str, ...]] = set()
    for types in product(*(choices[place] for place in typed)):
        words = list(base)
        for place, name in zip(typed, types, strict=True):
            words[place] = name
        for spelling in _variants(
            pattern, choices, typed, words, thorough=types == tuple(choices[p][0] for p in typed)
        ):
            if spelling not in seen:
                seen.add(spelling)
                yield spelling


def _variants(
    pattern: Pattern, choices: list[list[str]], typed: list[int], base: list[str], *, thorough: bool
) -> Iterator[tuple[str, ...]]:
    """Yield opcode `base`, then `base` with each other modifier in turn; if `thorough`, also with each pair of them."""
    yield tuple(base)
    changes = [
        (place, word)
        for place, words in enumerate(choices)
        if place not in typed
        for word in words
        if word != base[place]
    ]
    for change in changes:
        yield _with(pattern, choices, base, change)
    if not thorough:
        return
    for first, second in product(changes, changes):
        if first[0] < second[0]:
            yield _with(pattern, choices, base, first, second)


def _with(pattern: Pattern, choices: list[list[str]], base: list[str], *changes: tuple[int, str]) -> tuple[str, ...]:
    """Return opcode `base` with the modifiers in `changes`, and with the other modifiers of their optional groups."""
    words = list(base)
    for place, word in changes:
        group = pattern.items[place].group
        for other, item in enumerate(pattern.items):
            if item.group == group and not words[other]:
                words[other] = choices[other][0]
        words[place] = word
    return tuple(words)


def _instructions(pattern: Pattern, words: tuple[str, ...]) -> Iterator[str]:
    """Yield an instruction without and with its optional operands, then each variant with one operand replaced."""
    filled = {item.name: word for item, word in zip(pattern.items, words, strict=True) if word}
    opcode = ".".join((pattern.row.opcode, *(word for word in words if word)))
    spelt: dict[str, None] = {}
    for optional in (False, True):
        places = [place for place in pattern.places if place.stands(filled) and (optional or not place.optional)]
        choices = [
            _operand(Use(pattern.row, filled, place, operand_kinds()), index, optional=optional)
            for index, place in enumerate(places, 1)
        ]
        base = [examples[0] for examples in choices]
        spelt[_spelt(opcode, base)] = None
        for index, examples in enumerate(choices):
            for example in examples[1:]:
                spelt[_spelt(opcode, [*base[:index], example, *base[index + 1 :]])] = None
    yield from spelt


def _spelt(opcode: str, operands: list[str]) -> str:
    return f"{opcode} {', '.join(operands)};" if operands else f"{opcode};"


def _operand(use: Use, index: int, *, optional: bool) -> tuple[str, ...]:
    place = use.place
    examples = use.examples(place.kind, index)
    if not place.second or (place.optional_second and not optional):
        return examples
    second = use.examples(place.second, index + 4)[0]
    return tuple(f"{first}|{second}" for first in examples)
