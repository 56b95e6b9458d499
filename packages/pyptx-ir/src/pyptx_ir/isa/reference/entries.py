"""Rows of the instruction table, grouped by instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.patterns import Pattern, compile_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.rows import InstructionRow

# Chapters of NVIDIA's instructions, in list order; chapters of third parties follow.
CHAPTERS = (
    "Arithmetic",
    "Floating point",
    "Bits",
    "Comparison and selection",
    "Data movement",
    "Asynchronous copies",
    "Fabric",
    "Textures and surfaces",
    "Control flow",
    "Synchronization",
    "Atomics",
    "Asynchronous barriers",
    "Warp matrices",
    "Warpgroup matrices",
    "Tensor memory",
    "Stack",
    "Video",
    "Miscellaneous",
)
# Chapter of instructions for which no row of the instruction table gives a chapter.
ELSEWHERE = "Other instructions"


@dataclass(frozen=True, slots=True)
class Entry:
    """An instruction by its name in the manual, `cp.async.bulk`, with all its forms."""

    name: str
    chapter: str
    summary: str
    forms: tuple[Pattern, ...]


def entries(rows: Iterable[InstructionRow]) -> tuple[Entry, ...]:
    """Group instruction rows into one `Entry` per instruction; order by chapter, then by the first row."""
    forms: dict[str, list[Pattern]] = {}
    for row in rows:
        forms.setdefault(row.instruction, []).append(compile_row(row))
    return tuple(sorted([_entry(name, tuple(patterns)) for name, patterns in forms.items()], key=_place))


def _entry(name: str, forms: tuple[Pattern, ...]) -> Entry:
    """Return the `Entry` of an instruction with these rows, one of which may have the instruction's summary."""
    summary = next((form.row.summary for form in forms if form.row.summary), "")
    chapter = next((form.row.chapter for form in forms if form.row.chapter), ELSEWHERE)
    return Entry(name, chapter, summary, forms)


def _place(entry: Entry) -> tuple[int, str]:
    if entry.chapter in CHAPTERS:
        return (CHAPTERS.index(entry.chapter), "")
    return (len(CHAPTERS), entry.chapter)
