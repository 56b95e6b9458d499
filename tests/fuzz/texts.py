"""Mutants of the corpus: functions of compilers' modules with tokens removed, repeated, exchanged or invented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.syntax import decode

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
# A text of this size is parsed and checked in 2 ms, so that 100,000 take minutes; one in a hundred is a whole module.
SIZE = 4_000
WHOLE = 100
TOKEN = re.compile(r"\s+|//[^\n]*|[%$\w]+|.", re.ASCII | re.DOTALL)
MARKS = (*'[]{}(),;:<>+-|!@"=?', "/*", "*/", "//")
CHARACTERS = "\0\t\r\n\f\x1b \\'#é\u2028\ud800😀"
REPEATS = (2, 10, 300, 3000)
MOST = 1_000_000  # maximum characters that one change adds to a text; repeated repetitions would grow exponentially


@cache
def modules() -> tuple[str, ...]:
    """Return the PTX texts of the corpus."""
    return tuple(decode(path.read_bytes()) for path in sorted(CORPUS.glob("*/*.ptx")))


@cache
def words() -> tuple[str, ...]:
    """Return the distinct tokens of the corpus: names, opcodes, numbers, types."""
    found = {word for text in modules()[::7] for word in re.findall(r"[%$.\w]+", text)}
    return tuple(sorted(found))


def piece(chance: Random) -> str:
    """Return the header of a module and a part of its body, rarely a whole module."""
    text = chance.choice(modules())
    if len(text) <= SIZE or not chance.randrange(WHOLE):
        return text
    start = text.find("\n", chance.randrange(len(text) - SIZE // 2)) + 1
    head = text[: text.find(".address_size 64") + len(".address_size 64\n")]
    return f"{head}.entry k() {{\n.reg .b32 %r<99>;\n{text[start : start + SIZE]}"


def removed(tokens: list[str], at: int, chance: Random) -> None:
    del tokens[at : at + chance.choice((1, 1, 1, 5, 50))]


def repeated(tokens: list[str], at: int, chance: Random) -> None:
    """Repeat a few tokens, sometimes so often that superlinear run time shows."""
    few = tokens[at : at + chance.choice((1, 2, 4))]
    tokens[at:at] = few * min(chance.choice(REPEATS), MOST // sum(map(len, few)))


def exchanged(tokens: list[str], at: int, chance: Random) -> None:
    other = chance.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]


def another(tokens: list[str], at: int, chance: Random) -> None:
    tokens[at] = chance.choice(words())


def marked(tokens: list[str], at: int, chance: Random) -> None:
    tokens.insert(at, chance.choice(MARKS))


def nested(tokens: list[str], at: int, chance: Random) -> None:
    """Insert opening brackets, with or without the matching closing brackets."""
    many = chance.choice(REPEATS)
    opening, closing = chance.choice((("[", "]"), ("{", "}"), ("(", ")"), ("- ", ""), ("1+", ""), ("/* ", "")))
    tokens[at] = opening * many + tokens[at] + closing * chance.choice((0, many))


def scrawled(tokens: list[str], at: int, chance: Random) -> None:
    tokens.insert(at, "".join(chance.choices(CHARACTERS, k=chance.choice((1, 3)))))


def cut(tokens: list[str], at: int, _: Random) -> None:
    del tokens[at:]


CHANGES: tuple[Callable[[list[str], int, Random], None], ...] = (
    *(removed, exchanged, another, another, marked, marked),
    *(removed, exchanged, repeated, nested, scrawled, cut),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A text and the names of the changes made; a seed reproduces it."""

    text: str
    changes: tuple[str, ...]


def mutant(chance: Random) -> Mutant:
    """Return a mutant of a piece of a corpus module, with up to eight changes."""
    tokens = TOKEN.findall(piece(chance))
    done: list[str] = []
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if tokens:
            change = chance.choice(CHANGES)
            change(tokens, chance.randrange(len(tokens)), chance)
            done.append(change.__name__)
    return Mutant("".join(tokens), tuple(done))
