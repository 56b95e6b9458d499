"""The rows of the table, gathered by the instruction that they are forms of."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.patterns import Pattern, compile_row
from pyptx_ir.isa.table.summaries import SUMMARIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.patterns import Item
    from pyptx_ir.isa.rows import InstructionRow

# The chapter of what no summary covers: the instructions of third parties.
ELSEWHERE = "Other instructions"
# The score of a name that a row does not spell.
NONE = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """An instruction as people speak of it, `cp.async.bulk`, with all of its forms."""

    name: str
    chapter: str
    summary: str
    forms: tuple[Pattern, ...]


def entries(rows: Iterable[InstructionRow]) -> tuple[Entry, ...]:
    """Gather rows into entries: in the order of the summaries, and behind them what those do not know, by name."""
    forms: dict[str, list[Pattern]] = {}
    for row in rows:
        for name in names_of(row):
            forms.setdefault(name, []).append(compile_row(row))
    known = {
        name: Entry(name, chapter, summary, tuple(forms[name]))
        for chapter, summaries in SUMMARIES.items()
        for name, summary in summaries.items()
        if name in forms
    }
    others = [Entry(name, ELSEWHERE, "", tuple(forms[name])) for name in sorted(forms.keys() - known.keys())]
    return (*known.values(), *others)


@functools.cache
def names_of(row: InstructionRow) -> tuple[str, ...]:
    """Return the names of the instructions that a row is a form of.

    One, as a rule: the longest that the row spells out. With optional words and slots it may spell longer ones, too, as
    `rsqrt.approx{.ftz}.type` spells `rsqrt.approx.ftz.f64`, and then it is a form of those as well. Without a summary,
    it is the name of the section of the manual that the row states, or else the opcode.
    """
    items = compile_row(row).items
    spelt = tuple(item for item in items if len(item.words) == 1 and not item.optional)
    candidates = _candidates(row.opcode)
    scores = {name: _score(name, spelt) for name in candidates}
    certain = max(scores.values(), default=NONE)
    found = [name for name, score in scores.items() if score == certain and score != NONE]
    found += [name for name in candidates if _score(name, items)[0] > certain[0]]
    return tuple(found) or (row.manual or row.opcode,)


@functools.cache
def _candidates(opcode: str) -> tuple[str, ...]:
    return tuple(name for summaries in SUMMARIES.values() for name in summaries if name.partition(".")[0] == opcode)


def _score(name: str, items: tuple[Item, ...]) -> tuple[int, int, int]:
    """Return how many words of a name the items spell, in order, how many exactly, and how early; NONE if not all.

    `wait` is spelt by `wait::ld`, too.
    """
    words = name.split(".")[1:]
    exact = 0
    passed = 0
    for word in words:
        place = next((index for index in range(passed, len(items)) if _spells(items[index], word)), None)
        if place is None:
            return NONE
        exact += word in items[place].words
        passed = place + 1
    return (len(words) + 1, exact, -passed)


def _spells(item: Item, word: str) -> bool:
    return any(spelt == word or spelt.startswith(f"{word}::") for spelt in item.words)
