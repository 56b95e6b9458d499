"""Modules of the corpus with one thing changed: `pyptx check` has an error exactly where ptxas has one.

Lines are deleted, doubled, moved and exchanged, and names replaced by other names of the module; the table's own oracle
changes single instructions.
"""

from __future__ import annotations

import random
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.modules import check_text
from pyptx_ir.syntax import decode
from pyptx_ir.toolchain.finder import find_tool

from .ptxas_verdicts import complaints

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.ptxas

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
MUTANTS = 90
NAME = re.compile(r"[%$\w.]+")

# What ptxas refuses and the check has no error for, in ptxas's words.
UNSEEN: dict[str, str] = {
    r"Not a name of any known instruction": "a word that no table knows may be one of a newer PTX: a warning",
    r"32-Bit (compilation|ABI).* (is no longer|is not) supported": "a limit of this ptxas, not of PTX",
    r"is not allowed for per-function compilation": "goes with an option of the run, not with the text",
    r"Arguments mismatch for instruction 'setp'": "a whole vector register where one number belongs: its kind is open",
    r"Unsupported \.version": "a version that is newer than the table is a warning",
}
# What the check refuses and ptxas takes, in the check's words.
SURPLUS: dict[str, str] = {
    r"^syntax: ": "ptxas takes a prototype without its ';', and reads on where a statement lacks its end",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module of the corpus, for its target, with one change."""

    origin: str
    target: str
    text: str


def deleted(lines: list[str], chance: random.Random, places: list[int]) -> None:
    del lines[chance.choice(places)]


def doubled(lines: list[str], chance: random.Random, places: list[int]) -> None:
    i = chance.choice(places)
    lines.insert(i, lines[i])


def moved(lines: list[str], chance: random.Random, places: list[int]) -> None:
    line = lines.pop(chance.choice(places))
    lines.insert(chance.choice(places[:-1]), line)


def exchanged(lines: list[str], chance: random.Random, places: list[int]) -> None:
    i, k = chance.choice(places), chance.choice(places)
    lines[i], lines[k] = lines[k], lines[i]


def renamed(lines: list[str], chance: random.Random, places: list[int]) -> None:
    i, k = chance.choice(places), chance.choice(places)
    mine, others = NAME.findall(lines[i]), NAME.findall(lines[k])
    if mine and others:
        lines[i] = lines[i].replace(chance.choice(mine), chance.choice(others), 1)


CHANGES: tuple[Callable[[list[str], random.Random, list[int]], None], ...] = (
    deleted,
    doubled,
    moved,
    exchanged,
    renamed,
)


@cache
def small_modules() -> tuple[dict[str, str], ...]:
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    newest = find_tool("ptxas").newest_ptx
    return tuple(
        row
        for row in rows
        if row["assembles"]
        and row["bytes"] < 12_000
        and "debug" not in row["path"]
        and int(re.sub(r"\D", "", row["target"])) >= 75
        and tuple(map(int, row["ptx"].split("."))) <= newest
    )


def mutants(seed: int, count: int) -> list[Mutant]:
    chance = random.Random(seed)
    found: list[Mutant] = []
    while len(found) < count:
        row = chance.choice(small_modules())
        lines = decode((CORPUS / row["path"]).read_bytes()).split("\n")
        places = [i for i, line in enumerate(lines) if line.strip() and not line.strip().startswith("//")]
        if len(places) < 6:
            continue
        chance.choice(CHANGES)(lines, chance, places)
        found.append(Mutant(row["path"], row["target"], "\n".join(lines)))
    return found


def disagreement(mutant: Mutant) -> str:
    """Return how check and ptxas differ about a mutant, or an empty string."""
    ours = [f"{one.code}: {one.message} (line {one.line})" for one in check_text(mutant.text) if one.is_error]
    theirs = complaints(mutant.text, mutant.target)
    if bool(ours) == bool(theirs):
        return ""
    known = SURPLUS if ours else UNSEEN
    if any(re.search(pattern, said) for pattern in known for said in (ours or theirs)):
        return ""
    return f"{mutant.origin}: {'check' if ours else 'ptxas'} says {(ours or theirs)[0]}"


def test_a_change_is_an_error_exactly_where_ptxas_has_one() -> None:
    found = mutants(1, MUTANTS)
    assert list(filter(None, map(disagreement, found))) == []
    refused = sum(bool(complaints(mutant.text, mutant.target)) for mutant in found[:20])
    assert 5 <= refused <= 18, "the changes break some modules and leave others legal"


def test_every_known_difference_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in (*UNSEEN.values(), *SURPLUS.values()))
