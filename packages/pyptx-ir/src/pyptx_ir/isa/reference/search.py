"""Search of instructions by name, modifiers and meaning."""

from __future__ import annotations

import dataclasses
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.targets import includes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.isa.patterns import Pattern
    from pyptx_ir.isa.reference.entries import Entry

# Score of a search word, by where it matches; the sum over all words orders the results.
WHOLE, NAME, MODIFIER, BEGINNING, SYNONYM, PART, SUMMARY = 1000, 20, 10, 8, 6, 4, 3
SUGGESTIONS = 5

# Common search words, and the prefixes of the corresponding modifiers and names.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "fp4": ("e2m1",),
    "fp6": ("e2m3", "e3m2"),
    "fp8": ("e4m3", "e5m2"),
    "half": ("f16",),
    "shuffle": ("shfl",),
    "texture": ("tex", "tld4", "txq"),
    "tma": ("tensor",),
    "tmem": ("tcgen05",),
}


@dataclass(frozen=True, slots=True)
class Result:
    """An instruction (`entry`) that a search found, with its best matching forms; `exact` for a full match."""

    entry: Entry
    score: int

    @property
    def exact(self) -> bool:
        """Whether the search text is the instruction's name, or an opcode of it."""
        return self.score >= WHOLE


def search(found: Iterable[Entry], text: str) -> tuple[Result, ...]:
    """Return the instructions that match every word of `text`, best first, each with the forms that match most words.

    Words are separated by spaces or dots, in any order: `bf16x2 cvt` finds the forms of `cvt` with `.bf16x2`. A full
    name (`cp.async`) or opcode (`mad.lo.u32`) comes first.
    """
    results = [result for entry in found if (result := _result(entry, text.strip()))]
    return tuple(sorted(results, key=lambda result: (-result.score, result.entry.name)))


def _result(entry: Entry, text: str) -> Result | None:
    if entry.name.lower() == text.lower():
        return Result(entry, 2 * WHOLE)
    opcode = tuple(text.split("."))
    spelt = tuple(form for form in entry.forms if form.row.opcode == opcode[0] and match_modifiers(form, opcode[1:]))
    if spelt:
        return Result(dataclasses.replace(entry, forms=spelt), WHOLE)
    words = [word for word in re.split(r"[\s.]+", text.lower()) if word]
    modifiers = {word.lower() for form in entry.forms for item in form.items for word in item.words}
    scores = [_fit(word, entry.name.lower().split("."), modifiers, entry.summary.lower()) for word in words]
    if not all(scores):
        return None
    return Result(dataclasses.replace(entry, forms=_closest(entry.forms, words)), sum(scores))


def _fit(word: str, names: Sequence[str], modifiers: set[str], summary: str) -> int:
    """Return the score of one search word for an instruction; 0 if the word does not match."""
    meant = SYNONYMS.get(word, ())
    spelt = (*names, *modifiers)
    fits = {
        NAME: word in names,
        MODIFIER: word in modifiers,
        BEGINNING: any(name.startswith(word) for name in names),
        SYNONYM: any(each.startswith(meant) for each in spelt),
        PART: not meant and (_among(word, names) or any(word in modifier.split("::") for modifier in modifiers)),
        SUMMARY: re.search(rf"\b{re.escape(_stem(word))}", summary) is not None,
    }
    return max((score for score, fit in fits.items() if fit), default=0)


def _among(word: str, names: Sequence[str]) -> bool:
    return any(word in name for name in names)


def _stem(word: str) -> str:
    """Return the prefix of a search word that other word forms share: `matri` of `matrices`."""
    return word[: max(4, len(word) - 3)]


def _closest(forms: tuple[Pattern, ...], words: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the instruction's forms that contain most of the search words, or synonyms of these."""

    def spelt(form: Pattern) -> int:
        known = {form.row.opcode} | {word.lower() for item in form.items for word in item.words}
        meant = (SYNONYMS.get(word, ()) for word in words)
        return len(known.intersection(words)) + sum(any(each.startswith(some) for each in known) for some in meant)

    most = max(map(spelt, forms))
    return tuple(form for form in forms if spelt(form) == most)


def available(found: Iterable[Result], target: str | None, version: tuple[int, int] | None) -> tuple[Result, ...]:
    """Return the search results with only the forms available for a target and PTX version; omit empty results."""
    left: list[Result] = []
    for result in found:
        forms = tuple(form for form in result.entry.forms if _has(form, target, version))
        if forms:
            left.append(Result(dataclasses.replace(result.entry, forms=forms), result.score))
    return tuple(left)


def _has(form: Pattern, target: str | None, version: tuple[int, int] | None) -> bool:
    row = form.row
    if version is not None and version < row.since:
        return False
    if target is None:
        return True
    if row.before and includes(target, row.before[0]) and (version is None or version >= row.before[1]):
        return False
    return not row.targets or any(includes(target, need) for need in row.targets)


def nearest(found: Iterable[Entry], text: str) -> tuple[str, ...]:
    """Return the instruction names most similar to `text`."""
    names = [entry.name for entry in found]
    return tuple(difflib.get_close_matches(text.strip().lower(), names, n=SUGGESTIONS, cutoff=0.5))
