"""Suggestions for misspelled names, at a cost that does not grow with the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Maximum length of a name that gets suggestions: comparing two names of lengths n and m takes time O(n m).
LONGEST = 64
# A comparison takes 10 µs, so one suggestion takes at most 20 ms; a large kernel has about 2,000 names.
MOST_COMPARED = 2_000


def close_names(name: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    """Return at most `most` of the known names that are similar to `name`, best first; `cutoff` is difflib's ratio."""
    from difflib import get_close_matches  # imported here, because only invalid PTX needs difflib

    return get_close_matches(name, comparable(name, known, cutoff), n=most, cutoff=cutoff)


def comparable(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    """Return, in order, the known names whose length permits the similarity `cutoff` to `name`."""
    if len(name) > LONGEST:
        return []
    least, longest = len(name) * cutoff / (2 - cutoff), len(name) * (2 - cutoff) / cutoff
    return [other for other in known if least <= len(other) <= longest][:MOST_COMPARED]
