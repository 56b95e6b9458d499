"""Prose uses the field's terms: no banned word without an exception."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from .extract import Piece, pieces, pieces_of, prose

HERE = Path(__file__).parent
MOST_EXCEPTIONS = 10


def rows(name: str) -> list[list[str]]:
    """Return the rows of a TSV table of this folder, without the header line."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


BANNED = [(re.compile(pattern), instead) for pattern, _, instead in rows("banned.tsv")]
ANY = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in BANNED))
EXCEPTIONS = [(path, words) for path, words, _ in rows("exceptions.tsv")]


def excepted(piece: Piece, start: int, end: int) -> bool:
    """Return whether a row of exceptions.tsv covers these characters of a piece of prose."""
    for path, words in EXCEPTIONS:
        if path == piece.path and any(
            found.start() <= start and end <= found.end() for found in re.finditer(re.escape(words), piece.text)
        ):
            return True
    return False


@cache
def hits() -> tuple[str, ...]:
    """Return a line for each banned word that has no exception."""
    return tuple(
        f"{piece.path}:{piece.line}: {match.group()!r}: use {instead}"
        for piece in pieces()
        if ANY.search(piece.text)
        for pattern, instead in BANNED
        for match in pattern.finditer(piece.text)
        if not excepted(piece, *match.span())
    )


def test_no_prose_has_a_banned_word() -> None:
    assert not hits(), "\n".join(hits())


def test_every_exception_is_still_needed() -> None:
    for path, words in EXCEPTIONS:
        assert any(words in piece.text for piece in pieces_of(path)), (path, words)
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS


def test_code_and_addresses_are_not_prose() -> None:
    assert prose("a `b c` d ``e `f` g`` h") == "a `` d `` h"
    assert prose("[the\npage](../x.md#behind), [`f`](y.md) (so)") == "[the page](), [``]() (so)"
