"""Canonical text, cut where white space may stand.

`cut` takes a text apart at its words: `["", "add.s32", " %", "r1", ", ", "4", ";"]`. What stands between two words is
marks and blanks; a `%` or a dot at its end belongs to the word behind it. The texts between the words of two spellings
of one statement differ in blanks alone, and they alone decide which *pairs* of tokens follow each other.

A pair is named by its two tokens and, in front of a colon, by the bracket around them: `", %"` at top level, `"[: % +"`
inside an address, `"w(: , ."` inside the parentheses behind a name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SPACES = "const|global|local|param|shared"  # which begin a declaration, as `.reg` does: `.reg.b32 x;`
# Words with their components and modifiers; floats with a signed exponent and other numbers; strings.
_REST = r"(?:[\w$.]++|::(?=[\w.])|(?<=\.const)\[[0-9]++\])*+"
_WORD = re.compile(
    rf'((?<=\A\.)(?:reg|{_SPACES})(?=\.)|[A-Za-z_$]{_REST}|[0-9]++(?:\.?[0-9]*+[eE][+-][0-9]++|{_REST})|"[^"\n]*")',
    re.ASCII,
)
_BLANKS = " \t\r\n\f\v"
_NO_BLANKS = str.maketrans("", "", _BLANKS)
# What stands for a token in the name of a pair: a mark for itself, and these.
OPCODE, WORD, NUMBER, STRING = "opcode", "w", "0", '"'
_ARGUMENTS = ",()"  # the end of a call's arguments, not of its results
_GLUED = ("%", ".")  # in front of a word: part of it
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def cut(text: str) -> list[str]:
    """Return what stands between words at even places, and the words at odd ones."""
    return _WORD.split(text)


def erased(text: str) -> str:
    r"""Return a text with `\0` for each word: what stands between words, in one piece."""
    return _WORD.sub("\0", text)


def same_tokens(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two texts that were cut differ in white space alone; comments are none."""
    return one[1::2] == other[1::2] and bare("\0".join(one[::2])) == bare("\0".join(other[::2]))


def bare(text: str) -> str:
    """Drop the blanks of what stands between two words."""
    return text.translate(_NO_BLANKS)


@lru_cache(maxsize=1 << 12)
def pairs(
    between: tuple[str, ...], kinds: tuple[str, ...] | None, opcode: int | None
) -> tuple[tuple[str, str, str], ...]:
    """Return for each token: the name of the pair that it ends, the gap in front of it, and its text as a `%`-format.

    The format of a word is `%s`. `kinds` are the `word_kinds` of what stands between.
    """
    return tuple(_pairs(between, kinds or (WORD,) * (len(between) - 1), opcode))


@lru_cache(maxsize=1 << 12)
def gaps(
    canonical: tuple[str, ...], spelt: tuple[str, ...], kinds: tuple[str, ...] | None, opcode: int | None
) -> tuple[tuple[str, str, str], ...]:
    """Return for each token of a text: the name of the pair, its gap in canonical text, and the gap where it is spelt.

    Both are what stands between the same words.
    """
    usually, found = (pairs(each, kinds, opcode) for each in (canonical, spelt))
    return tuple([(pair, usual, gap) for (pair, usual, _), (_, gap, _) in zip(usually, found, strict=True)])


def word_kinds(words: Iterable[str], opcode: int | None) -> tuple[str, ...] | None:
    """Return what stands for words in the names of pairs; None for those of a statement with an `opcode`.

    Where there is none, as in declarations, numbers and strings are told from other words.
    """
    return None if opcode is not None else tuple(map(word_kind, words))


def _pairs(between: tuple[str, ...], kinds: Sequence[str], opcode: int | None) -> Iterator[tuple[str, str, str]]:
    around = [""]
    last = ""
    for number, marks in enumerate(between):
        word = kinds[number] if number < len(kinds) else None
        glued = marks[-1] if word is not None and marks.endswith(_GLUED) else ""
        gap = ""
        for mark in marks[: len(marks) - len(glued)]:
            if mark in _BLANKS:
                gap += mark
                continue
            yield f"{around[-1]}{last} {mark}", gap, mark.replace("%", "%%")
            closed = around.pop() if mark in _CLOSING and len(around) > 1 else ""
            if mark in _OPENING:
                around.append(f"{last}{mark}: " if mark == "(" else f"{mark}: ")
            gap, last = "", _behind(last, mark, closed)
        if word is not None:
            kind = OPCODE if number == opcode else glued or word
            yield f"{around[-1]}{last} {kind}", gap, glued.replace("%", "%%") + "%s"
            last = kind


def _behind(last: str, mark: str, closed: str) -> str:
    """Return what a mark is called in front of the next token: behind a call's arguments, commas are others."""
    if closed == f"{_ARGUMENTS[:-1]}: ":
        return _ARGUMENTS
    return last + mark if last == _ARGUMENTS else mark


def word_kind(word: str) -> str:
    """Return what stands for a word in the name of a pair, outside of instructions."""
    first = word[0]
    return NUMBER if first.isdecimal() else STRING if first == STRING else WORD
