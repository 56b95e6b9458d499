"""Forms of an instruction for its reference page: grouped by version and targets, without repetition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.reference.wording import availability, operands, slot_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.patterns import Pattern

Slots = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class SyntaxLines:
    """Syntax lines whose modifier slots have the same values."""

    lines: tuple[str, ...]
    slots: Slots

    @property
    def text(self) -> str:
        """Text of the syntax lines, followed by the values of their slots, as in the manual."""
        return "\n".join([*(f"{line};" for line in self.lines), *slot_lines(self.slots)])


@dataclass(frozen=True, slots=True)
class FormSection:
    """Forms with equal PTX version and targets. Each operand has its name, and all its descriptions."""

    availability: str
    blocks: tuple[SyntaxLines, ...]
    operands: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class _SectionForm:
    syntax: str
    slots: Slots
    operands: tuple[tuple[str, str], ...]


def sections(patterns: Iterable[Pattern]) -> tuple[FormSection, ...]:
    """Group the forms of an instruction by version and targets, oldest version first."""
    ordered = sorted(patterns, key=lambda each: (each.row.since, each.row.targets, each.row.before or ("", (0, 0))))
    found: dict[str, list[_SectionForm]] = {}
    for each in ordered:
        form = _SectionForm(each.row.syntax, each.row.slots, tuple(operands(each)))
        found.setdefault(availability(each.row), []).append(form)
    return tuple(_section(available, forms) for available, forms in found.items())


def _section(available: str, forms: list[_SectionForm]) -> FormSection:
    lines: dict[Slots, dict[str, None]] = {}
    words: dict[str, dict[str, None]] = {}
    for form in _merged(forms):
        lines.setdefault(form.slots, {})[form.syntax] = None
        for name, said in form.operands:
            words.setdefault(name, {})[said] = None
    return FormSection(
        available,
        tuple(SyntaxLines(tuple(each), slots) for slots, each in lines.items()),
        tuple((name, tuple(each)) for name, each in words.items()),
    )


def _merged(forms: list[_SectionForm]) -> list[_SectionForm]:
    """Merge forms that differ only in the values of one slot, until no such pair is left."""
    kept: list[_SectionForm] = []
    for form in forms:
        for place, other in enumerate(kept):
            joined = _joined(other, form)
            if joined is not None:
                kept[place] = joined
                break
        else:
            kept.append(form)
    return kept if len(kept) == len(forms) else _merged(kept)


def _joined(first: _SectionForm, second: _SectionForm) -> _SectionForm | None:
    if (first.syntax, first.operands) != (second.syntax, second.operands):
        return None
    if [name for name, _ in first.slots] != [name for name, _ in second.slots]:
        return None
    unlike = [place for place, (one, other) in enumerate(zip(first.slots, second.slots, strict=True)) if one != other]
    if len(unlike) > 1:
        return None
    slots = list(first.slots)
    for place in unlike:
        name, values = slots[place]
        slots[place] = (name, tuple(dict.fromkeys((*values, *second.slots[place][1]))))
    return replace(first, slots=tuple(slots))
