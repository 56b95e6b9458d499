"""Change one line, name or operand of a module. Each function changes the module's lines in place, or no line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import TypeAlias

Change: TypeAlias = Callable[[list[str], random.Random, list[int]], None]

NAME = re.compile(r"[%$\w.]+")
NUMBER = re.compile(r"(?<![\w.%$])\d+(?![\w.])")
TYPE = re.compile(r"\.(?:[bsu](?:8|16|32|64)|f(?:16|32|64)|pred)\b")
SPACE = re.compile(r"\.(?:global|shared|local|param|const|reg)\b")
LINKING = re.compile(r"\.(?:visible|extern|weak|entry|func)\b")
WORD = re.compile(r"\.[a-z_]\w*(?:::\w+)?")
REGISTER = re.compile(r"%[a-z]+\d+\b")
BASE = re.compile(r"\[[^\]{,]+\]")
OPERANDS = re.compile(r"(?<=\s)[^\s{};(][^;{}(]*(?=;)")
NUMBERS = ("-1", "0", "1", "3", "255", "256", "65536", "4294967296", "1.5", "0f3F800000", "1/0", "(4)", "4+4")
TYPES = (".b8", ".u16", ".b32", ".s32", ".u64", ".b64", ".f16", ".f32", ".f64", ".pred", ".b128")
SPACES = (".global", ".shared", ".local", ".param", ".const", ".reg")
LINKINGS = (".visible", ".extern", ".weak", ".common", ".entry", ".func")
SELECTORS = (".x", ".w", ".b0", ".h1", ".y")
BASES = ("[0]", "[4096]", "[%r1]", "[%rd1]", "[%f1]", "[1.5]", "[%r1+4]")


def deleted(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Remove a random line of a module."""
    del lines[chance.choice(places)]


def doubled(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Repeat a random line of a module."""
    i = chance.choice(places)
    lines.insert(i, lines[i])


def moved(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Move a random line of a module to the position of another line."""
    line = lines.pop(chance.choice(places))
    lines.insert(chance.choice(places[:-1]), line)


def exchanged(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Exchange two random lines of a module."""
    i, k = chance.choice(places), chance.choice(places)
    lines[i], lines[k] = lines[k], lines[i]


def renamed(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Replace a name in a random line by a name of another line."""
    i, k = chance.choice(places), chance.choice(places)
    mine, others = NAME.findall(lines[i]), NAME.findall(lines[k])
    if mine and others:
        lines[i] = lines[i].replace(chance.choice(mine), chance.choice(others), 1)


def less(lines: list[str], chance: random.Random, places: list[int]) -> None:
    """Drop the last operand of a random instruction."""
    i = chance.choice(places)
    lines[i] = re.sub(r",[^,;{}\[\]()]*;", ";", lines[i], count=1)


def _replacing(pattern: re.Pattern[str], choices: tuple[str, ...], *, behind: bool = False) -> Change:
    """Return a change that replaces a match of the pattern by one of `choices`, or inserts it after the match."""

    def change(lines: list[str], chance: random.Random, places: list[int]) -> None:
        able = [i for i in places if pattern.search(lines[i])]
        if not able:
            return
        i = chance.choice(able)
        found = chance.choice(list(pattern.finditer(lines[i])))
        start = found.end() if behind else found.start()
        lines[i] = lines[i][:start] + chance.choice(choices) + lines[i][found.end() :]

    return change


CHANGES: dict[str, Change] = {
    "line deleted": deleted,
    "line doubled": doubled,
    "line moved": moved,
    "lines exchanged": exchanged,
    "name of another line": renamed,
    "operand dropped": less,
    "number": _replacing(NUMBER, NUMBERS),
    "type": _replacing(TYPE, TYPES),
    "state space": _replacing(SPACE, SPACES),
    "linking": _replacing(LINKING, LINKINGS),
    "word dropped": _replacing(WORD, ("",)),
    "register component": _replacing(REGISTER, SELECTORS, behind=True),
    "address": _replacing(BASE, BASES),
}
