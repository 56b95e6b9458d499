"""Which known name a misspelt one may stand for, at a cost that does not grow with the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Comparing two names takes the product of their lengths; whoever misspells one this long needs no suggestion to see it.
LONGEST = 64
# At 10 µs for a comparison, one suggestion costs 20 ms at most; a large kernel has as many names.
MOST_COMPARED = 2_000


def close_names(name: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    """Return at most `most` of the known names, most alike first; `cutoff` is difflib's ratio."""
    from difflib import get_close_matches  # only a wrong text pays for it

    return get_close_matches(name, comparable(name, known, cutoff), n=most, cutoff=cutoff)


def comparable(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    """Return those of the known names, in their order, that are not ruled out by their length alone."""
    if len(name) > LONGEST:
        return []
    least, longest = len(name) * cutoff / (2 - cutoff), len(name) * (2 - cutoff) / cutoff
    return [other for other in known if least <= len(other) <= longest][:MOST_COMPARED]
