"""The table spelt out: for a row, instructions that use every word and every type of it.

Registers are named by their types, `%u32_1`, so that the text says what its operands are. The oracle's test holds these
against ptxas; they also make examples for the reference pages.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from pyptx_ir.isa.patterns import Pattern, Place, compile_row
from pyptx_ir.isa.scalar_types import HELD_BY, TYPES, doubled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.rows import InstructionRow

# Where the address operand of a form points, by the state space among its words.
ADDRESSES: dict[str, str] = {
    "global": "gmem",
    "const": "cmem",
    "local": "lmem",
    "param": "pp",
    "param::entry": "pp",
    "param::func": "fp",
    "shared": "smem",
    "shared::cta": "smem",
    "shared::cluster": "smem",
}

# Constants that a place of this name may have.
CONSTANTS: dict[str, str] = {"size": "16", "count": "232", "align": "16", "immLut": "0x80"}


def register_type(name: str) -> str | None:
    """Return the type that the name of a form's register says."""
    stem, _, number = name.removeprefix("%").rpartition("_")
    return stem if name.startswith("%") and number.isdigit() else None


def forms(row: InstructionRow) -> Iterator[str]:
    """Yield instructions: each combination of types, and for the first of them each other word, alone and in pairs."""
    pattern = compile_row(row)
    for words in _spellings(pattern):
        yield from _instructions(pattern, words)


def _spellings(pattern: Pattern) -> Iterator[tuple[str, ...]]:
    """Yield the words of opcodes, one entry per item of the pattern; an absent one is empty."""
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
    """Yield `base`, then `base` with every other word put in once; if `thorough`, also with every two words."""
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
    """Return `base` with some words put in, and the rest of their optional groups."""
    words = list(base)
    for place, word in changes:
        group = pattern.items[place].group
        for other, item in enumerate(pattern.items):
            if item.group == group and not words[other]:
                words[other] = choices[other][0]
        words[place] = word
    return tuple(words)


def _instructions(pattern: Pattern, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the instruction with all optional operands, and with none."""
    filled = {item.name: word for item, word in zip(pattern.items, words, strict=True) if word}
    opcode = ".".join((pattern.row.opcode, *(word for word in words if word)))
    spelt: set[str] = set()
    for optional in (False, True):
        places = [
            place
            for place in pattern.places
            if (place.needs in filled.values() if place.needs else optional or not place.optional)
        ]
        operands = [_operand(place, index, filled, optional=optional) for index, place in enumerate(places, 1)]
        text = f"{opcode} {', '.join(operands)};" if operands else f"{opcode};"
        if text not in spelt:
            spelt.add(text)
            yield text


def _operand(place: Place, index: int, filled: dict[str, str], *, optional: bool) -> str:
    first = _spell(place.kind, place, index, filled)
    if not place.second or (place.optional_second and not optional):
        return first
    return f"{first}|{_spell(place.second, place, index + 4, filled)}"


def _spell(kind: str, place: Place, index: int, filled: dict[str, str]) -> str:
    fixed = {
        "address": f"[{_address(place, filled)}]",
        "imm": CONSTANTS.get(place.name, "1"),
        "label": "done",
        "pointer": f"%u64_{index}",
        "int32": f"%u32_{index}",
        "size_or_pred": "8",
        "any": f"%u32_{index}",
    }
    if kind in fixed:
        return fixed[kind]
    name, _, argument = kind.partition("(")
    argument = argument.removesuffix(")")
    if name == "vec":
        length = next((int(word[1]) for word in filled.values() if word in ("v2", "v4", "v8")), 1)
        return _vector(length, argument, index, filled, bare=True)
    if "*" in kind:
        count, _, inner = kind.partition("*")
        return _vector(int(count), inner, index, filled, bare=False)
    type_name = filled.get(argument or kind, argument or kind)
    type_name = doubled(type_name) if name == "wide" else type_name
    return f"%{HELD_BY[type_name][-1] if type_name in HELD_BY else type_name}_{index}"


def _vector(length: int, kind: str, index: int, filled: dict[str, str], *, bare: bool) -> str:
    place = Place("", kind)
    elements = [_spell(kind, place, index + offset, filled) for offset in range(length)]
    return elements[0] if bare and length == 1 else f"{{{', '.join(elements)}}}"


def _address(place: Place, filled: dict[str, str]) -> str:
    if place.name == "src":
        return "gmem"
    spaces = [word for word in filled.values() if word in ADDRESSES]
    if spaces and spaces[0] == "param" and place.written:
        return ADDRESSES["param::func"]
    return ADDRESSES[spaces[0]] if spaces else "%u64_9"
