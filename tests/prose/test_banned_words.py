"""Prose uses the field's terms: no area has more banned words than `allowed.tsv` says, and that number only falls."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from .extract import QUOTED, Piece, pieces

HERE = Path(__file__).parent
MOST_EXCEPTIONS = 60


def rows(name: str) -> list[list[str]]:
    """Return the rows of a table of this folder, without its head."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


BANNED = [(re.compile(pattern), instead) for pattern, _, instead in rows("banned.tsv")]
ALLOWED = {area: int(count) for area, count in rows("allowed.tsv")}
EXCEPTIONS = [(path, words) for path, words, _ in rows("exceptions.tsv")]


def area_of(path: str) -> str:
    """Return the part of the repository that a file belongs to: the longest of those that `allowed.tsv` names."""
    named = [area for area in ALLOWED if path.startswith(f"{area}/") or path == area]
    return max(named, key=len, default=path)


def excepted(piece: Piece, start: int, end: int) -> bool:
    """Return whether an exception covers these characters of a piece."""
    for path, words in EXCEPTIONS:
        if path == piece.path and any(
            found.start() <= start and end <= found.end() for found in re.finditer(re.escape(words), piece.text)
        ):
            return True
    return False


@cache
def hits() -> dict[str, list[str]]:
    """Return a line for each banned word, by area."""
    found: dict[str, list[str]] = defaultdict(list)
    for piece in pieces():
        for pattern, instead in BANNED:
            for match in pattern.finditer(piece.text):
                if not excepted(piece, *match.span()):
                    line = f"{piece.path}:{piece.line}: {match.group()!r}: use {instead}"
                    found[area_of(piece.path)].append(line)
    return found


@pytest.mark.parametrize("area", ALLOWED)
def test_an_area_has_as_many_banned_words_as_the_table_allows(area: str) -> None:
    found = hits()[area]
    assert len(found) <= ALLOWED[area], "\n".join(found)
    assert len(found) == ALLOWED[area], f"lower the number of {area} in allowed.tsv to {len(found)}"


def test_every_file_belongs_to_an_area() -> None:
    assert not set(hits()) - set(ALLOWED)


def test_every_exception_is_still_needed() -> None:
    texts = defaultdict(list)
    for piece in pieces():
        texts[piece.path].append(piece.text)
    assert not [(path, words) for path, words in EXCEPTIONS if not any(words in text for text in texts[path])]
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS


def test_words_in_backticks_are_code() -> None:
    assert QUOTED.sub("``", "a `b c` d ``e `f` g`` h") == "a `` d `` h"
