"""Canonical text, split at the positions where whitespace may be.

`cut` splits a text at its words: `["", "add.s32", " %", "r1", ", ", "4", ";"]`. The separators between words consist of
marks and blanks; a `%` or a dot at the end belongs to the following word. Two texts of one statement differ only in the
blanks of their separators. The separators alone determine the *pairs* of consecutive tokens.

A pair is named by its two tokens, after the enclosing bracket and a colon if there is one. Examples: `", %"` at top
level, `"[: % +"` inside an address, `"w(: , ."` inside the parentheses after a name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SPACES = "const|global|local|param|shared"  # as in `.shared.b32 y;`, where the state space is a word of its own
# Words of PTX: names with their components and modifiers; numbers, including floats with a signed exponent; strings.
_REST = r"(?:[\w$.]++|::(?=[\w.])|(?<=\.const)\[[0-9]++\])*+"
_WORD = re.compile(
    rf'((?<=\A\.)(?:reg|{_SPACES})(?=\.)|[A-Za-z_$]{_REST}|[0-9]++(?:\.?[0-9]*+[eE][+-][0-9]++|{_REST})|"[^"\n]*")',
    re.ASCII,
)
_BLANKS = " \t\r\n\f\v"
_NO_BLANKS = str.maketrans("", "", _BLANKS)
# Token kinds in the key of the whitespace between two adjacent tokens; a punctuation mark is its own kind.
OPCODE, WORD, NUMBER, STRING = "opcode", "w", "0", '"'
# Kind of the `)` after the arguments of a call, as the first token of a pair; any other `)` has the kind `)`.
_ARGUMENTS = ",()"
_GLUED = ("%", ".")  # last characters of the text between two words that belong to the second word
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def cut(text: str) -> list[str]:
    """Split a text: separators at even indices of the result, words at odd indices."""
    return _WORD.split(text)


def erased(text: str) -> str:
    r"""Return a text with `\0` in place of each word: its separators in one string, for comparison."""
    return _WORD.sub("\0", text)


def same_tokens(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two texts split by `cut` differ only in whitespace. Comments do not count as whitespace."""
    return one[1::2] == other[1::2] and bare("\0".join(one[::2])) == bare("\0".join(other[::2]))


def bare(text: str) -> str:
    """Return the separator between two words without its whitespace."""
    return text.translate(_NO_BLANKS)


@lru_cache(maxsize=1 << 12)
def pairs(
    between: tuple[str, ...], kinds: tuple[str, ...] | None, opcode: int | None
) -> tuple[tuple[str, str, str], ...]:
    """Return per token: its pair name (previous token, token), the whitespace before it, and its text as a `%`-format.

    The format of a word is `%s`. `between` are the separators between the words, `kinds` the `word_kinds` of the words.
    """
    return tuple(_pairs(between, kinds or (WORD,) * (len(between) - 1), opcode))


@lru_cache(maxsize=1 << 12)
def gaps(
    canonical: tuple[str, ...], spelt: tuple[str, ...], kinds: tuple[str, ...] | None, opcode: int | None
) -> tuple[tuple[str, str, str], ...]:
    """Return per token: its pair name (previous token, token), and the canonical and the actual whitespace before it.

    `canonical` and `spelt` are the separators of the canonical and of the actual text, which have the same words.
    """
    usually, found = (pairs(each, kinds, opcode) for each in (canonical, spelt))
    return tuple([(pair, usual, gap) for (pair, usual, _), (_, gap, _) in zip(usually, found, strict=True)])


def word_kinds(words: Iterable[str], opcode: int | None) -> tuple[str, ...] | None:
    """Return the kind of each word, for names of token pairs; None for the words of a statement with an `opcode`.

    In statements without an opcode, such as declarations, a word is a number, a string or another word.
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
    """Return the name of `mark` as the first token of a pair: `mark`, except at the end of a call's arguments."""
    if closed == f"{_ARGUMENTS[:-1]}: ":
        return _ARGUMENTS
    return last + mark if last == _ARGUMENTS else mark


def word_kind(word: str) -> str:
    """Return the kind of a word outside instructions, for names of token pairs: number, string or other word."""
    first = word[0]
    return NUMBER if first.isdecimal() else STRING if first == STRING else WORD
