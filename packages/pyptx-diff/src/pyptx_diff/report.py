"""Reports of a comparison: text in the style of `git diff`, and problems for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.reports import Position, Problem, Report
from pyptx_ir.terminal import painted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_diff.result import Change, Comparison, FunctionDifference, StatementLine

_MARKS: Final = {"same": " ", "removed": "-", "added": "+"}
_STYLES: Final = {"-": "removed", "+": "added", "@": "name", "!": "reason", "*": "heading"}  # colors of `git diff`
_WIDEST: Final = 120  # maximum number of characters of a statement in a report; an initializer can have megabytes


def text(comparison: Comparison, names: tuple[str, str], *, colors: bool = False, renamings: bool = False) -> str:
    """Return the report on two compared files; empty if they do not differ."""
    lines: list[tuple[str, str]] = []
    if comparison.parts:
        lines += [("*", f"--- {names[0]}"), ("*", f"+++ {names[1]}")]
    for part in comparison.parts:
        lines += _part(part)
    if renamings and comparison.renamings:
        lines.append(("@", "@@ renamed @@"))
        for one in comparison.renamings:
            where = f" in {one.function}" if one.function else ""
            lines.append((" ", f"{one.kind} {one.before} → {one.after}{where}"))
    return "".join(f"{painted(line, _STYLES[mark]) if colors and mark in _STYLES else line}\n" for mark, line in lines)


def report_of(comparison: Comparison, names: tuple[str, str], *, renamings: bool = False) -> Report:
    """Return a report with an error per changed statement, at its line in the second file if it is in both.

    `details` is the object of `Comparison.as_json`.
    """
    problems = tuple(_problem(change, names) for change in comparison.changes())
    return Report("pyptx diff", names, problems, details=comparison.as_json(renamings=renamings))


def _problem(change: Change, names: tuple[str, str]) -> Problem:
    both = zip(names, (change.before, change.after), (change.after, change.before), strict=True)
    shown = [(Position(name, line.line), _shown(line, other)) for name, line, other in both if line is not None]
    positions = tuple(position for position, _ in reversed(shown))
    message = f"{change.kind}: {' → '.join(text for _, text in shown)}"
    return Problem(positions[0].file, change.kind, "error", message, positions, change.reasons)


def _part(part: FunctionDifference) -> Iterator[tuple[str, str]]:
    name = part.after if part.before in (part.after, None) else part.before
    both = f"{part.before} → {part.after}" if None not in (part.before, part.after) and name != part.after else name
    places = [
        place for hunk in part.hunks for change in hunk for place in (change.before, change.after) if place is not None
    ]
    width = max(len(str(place.line)) for place in places)
    for hunk in part.hunks:
        yield "@", f"@@ {part.kind} {both}".rstrip() + " @@"
        for change in hunk:
            yield from _change(change, width)


def _change(change: Change, width: int) -> Iterator[tuple[str, str]]:
    before, after = change.before, change.after
    nothing = " " * width
    if change.kind != "changed":
        mark = _MARKS[change.kind]
        yield mark, f"{mark} {_number(before, width)}  {_number(after, width)}  {_shown(after or before)}"
        return
    yield "-", f"- {_number(before, width)}  {nothing}  {_shown(before, after)}"
    yield "+", f"+ {nothing}  {_number(after, width)}  {_shown(after, before)}"
    for reason in change.reasons:
        yield "!", f"! {nothing}  {nothing}    {reason}"


def _number(place: StatementLine | None, width: int) -> str:
    return " " * width if place is None else f"{place.line:>{width}}"


def _shown(place: StatementLine | None, other: StatementLine | None = None) -> str:
    """Return a statement's text; if it is long, the part around the first difference from the statement `other`."""
    whole = "" if place is None else place.shown
    if len(whole) <= _WIDEST:
        return whole
    pairs = zip(whole, "" if other is None else other.shown, strict=False)
    differs = next((at for at, (mine, its) in enumerate(pairs) if mine != its), 0)
    start = max(0, differs - _WIDEST // 2)
    return f"{'…' if start else ''}{whole[start : start + _WIDEST]}{'…' if start + _WIDEST < len(whole) else ''}"
