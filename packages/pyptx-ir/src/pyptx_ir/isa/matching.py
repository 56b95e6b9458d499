"""Which word of an opcode fills which place of a syntax line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.scalar_types import TYPES

if TYPE_CHECKING:
    from pyptx_ir.isa.patterns import Item, Pattern

# Words that keep their order: types, and the formats of elements that no register has.
_ORDERED = TYPES | {"b2", "b4", "b8x16", "b6x16_p32", "b4x16_p64"}
# And state spaces: `cp.async.bulk.global.shared::cta` copies to global memory, the other order from it.
_SPACES = frozenset(("global", "shared", "shared::cta", "shared::cluster", "const", "local", "param"))
# And layouts, of the first matrix and of the second: mma.row.col is not mma.col.row.
_LAYOUTS = frozenset(("row", "col"))
# And operations on bits: mma.xor.popc counts what xor leaves.
_BITWISE = frozenset(("xor", "and", "popc"))
_FAMILIES = (_ORDERED, _SPACES, _LAYOUTS, _BITWISE)


def match_modifiers(pattern: Pattern, words: tuple[str, ...]) -> dict[str, str] | None:
    """Return the word of every slot that is filled, by its name, or None if `words` do not spell a form of the row.

    Types keep their order among themselves (`cvt.f32.u32` is not `cvt.u32.f32`), and so do state spaces and layouts;
    other words may stand anywhere, as for ptxas, but for the `leading` first ones of a row.
    """
    taken = places_taken(pattern, words)
    if taken is None:
        return None
    return {pattern.items[place].name: word for word, place in zip(words, taken, strict=True)}


def places_taken(pattern: Pattern, words: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return which place of the syntax line each word fills, or None as `match_modifiers` does."""
    items = pattern.items
    if len(words) > len(items) or not pattern.vocabulary.issuperset(words):
        return None
    taken = _assign(items, words, ())
    leading = int(pattern.row.leading)
    return None if taken is None or taken[:leading] != tuple(range(leading)) else taken


def _assign(items: tuple[Item, ...], words: tuple[str, ...], taken: tuple[int, ...]) -> tuple[int, ...] | None:
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


def _complete(items: tuple[Item, ...], taken: tuple[int, ...]) -> bool:
    """Tell whether nothing required is missing, and no optional group is half there."""
    present = {items[place].group for place in taken}
    return all(place in taken for place, item in enumerate(items) if not item.optional or item.group in present)


def unknown_words(pattern: Pattern, words: tuple[str, ...]) -> list[str]:
    """Return the words that no place of the row's syntax line takes."""
    return [word for word in words if word not in pattern.vocabulary]


def missing_items(pattern: Pattern, words: tuple[str, ...]) -> list[Item]:
    """Return the required places that none of `words` can fill."""
    return [item for item in pattern.items if not item.optional and not item.words.intersection(words)]
