"""The rows of the table, gathered by the instruction that they are forms of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.patterns import Pattern, compile_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.rows import InstructionRow

# The chapters of NVIDIA's instructions, in the order in which they are listed; those of third parties follow.
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
# The chapter of instructions whose rows name none.
ELSEWHERE = "Other instructions"


@dataclass(frozen=True, slots=True)
class Entry:
    """An instruction as people speak of it, `cp.async.bulk`, with all of its forms."""

    name: str
    chapter: str
    summary: str
    forms: tuple[Pattern, ...]


def entries(rows: Iterable[InstructionRow]) -> tuple[Entry, ...]:
    """Gather rows into entries: by chapter, and there in the order of the rows."""
    forms: dict[str, list[Pattern]] = {}
    for row in rows:
        forms.setdefault(row.instruction, []).append(compile_row(row))
    return tuple(sorted([_entry(name, tuple(patterns)) for name, patterns in forms.items()], key=_place))


def _entry(name: str, forms: tuple[Pattern, ...]) -> Entry:
    """Return the entry of these forms, one of which may have the summary."""
    summary = next((form.row.summary for form in forms if form.row.summary), "")
    chapter = next((form.row.chapter for form in forms if form.row.chapter), ELSEWHERE)
    return Entry(name, chapter, summary, forms)


def _place(entry: Entry) -> tuple[int, str]:
    if entry.chapter in CHAPTERS:
        return (CHAPTERS.index(entry.chapter), "")
    return (len(CHAPTERS), entry.chapter)
