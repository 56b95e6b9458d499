"""Match the modifiers of an opcode with the modifier slots in a row of the instruction table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.scalar_types import TYPES

if TYPE_CHECKING:
    from pyptx_ir.isa.patterns import ModifierSlot, Pattern

# Types and element formats, whose order in an opcode is significant: cvt.f32.u32 is not cvt.u32.f32.
_ORDERED = TYPES | {"b2", "b4", "b8x16", "b6x16_p32", "b4x16_p64"}
# State spaces, whose order in an opcode is significant: `cp.async.bulk.global.shared::cta` copies to global memory.
_SPACES = frozenset(("global", "shared", "shared::cta", "shared::cluster", "const", "local", "param"))
# Layouts of operands A and B, whose order in an opcode is significant: mma.row.col is not mma.col.row.
_LAYOUTS = frozenset(("row", "col"))
# Bitwise operations, whose order in an opcode is significant: mma.xor.popc counts the bits of the xor.
_BITWISE = frozenset(("xor", "and", "popc"))
_FAMILIES = (_ORDERED, _SPACES, _LAYOUTS, _BITWISE)


def match_modifiers(pattern: Pattern, words: tuple[str, ...]) -> dict[str, str] | None:
    """Return the modifier of every filled slot, by name; None if `words` is not a form of the instruction row.

    Types keep their order among themselves (`cvt.f32.u32` is not `cvt.u32.f32`), and so do state spaces and layouts. As
    in ptxas, other modifiers may be in any order, except the first `leading` modifiers of a row.
    """
    taken = places_taken(pattern, words)
    if taken is None:
        return None
    return {pattern.items[place].name: word for word, place in zip(words, taken, strict=True)}


def places_taken(pattern: Pattern, words: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return, per modifier, the index of the slot that it fills in the syntax line; None if `words` do not match."""
    items = pattern.items
    if len(words) > len(items) or not pattern.vocabulary.issuperset(words):
        return None
    taken = _assign(items, words, ())
    leading = int(pattern.row.leading)
    return None if taken is None or taken[:leading] != tuple(range(leading)) else taken


def _assign(items: tuple[ModifierSlot, ...], words: tuple[str, ...], taken: tuple[int, ...]) -> tuple[int, ...] | None:
    if len(taken) == len(words):
        return taken if _complete(items, taken) else None
    word = words[len(taken)]
    kin = next((family for family in _FAMILIES if word in family), frozenset[str]())
    for place in range(len(items)):
        if word not in items[place].words or place in taken:
            continue
        if kin and any(used > place and earlier in kin for earlier, used in zip(words, taken, strict=False)):
            continue
        found = _assign(items, words, (*taken, place))
        if found is not None:
            return found
    return None


def _complete(items: tuple[ModifierSlot, ...], taken: tuple[int, ...]) -> bool:
    """Return whether all required modifiers of a syntax line are present, and no optional group is incomplete."""
    present = {items[place].group for place in taken}
    return all(place in taken for place, item in enumerate(items) if not item.optional or item.group in present)


def unknown_words(pattern: Pattern, words: tuple[str, ...]) -> list[str]:
    """Return the modifiers that no slot in the syntax line of an instruction row accepts."""
    return [word for word in words if word not in pattern.vocabulary]


def missing_items(pattern: Pattern, words: tuple[str, ...]) -> list[ModifierSlot]:
    """Return the required modifier slots of an instruction row that none of the modifiers `words` can fill."""
    return [item for item in pattern.items if not item.optional and not item.words.intersection(words)]
