"""Text of a comparison, in the style of `git diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.diff.result import Change, Comparison, FunctionDifference, StatementLine

_MARKS: Final = {"same": " ", "removed": "-", "added": "+"}
_COLOURS: Final = {"-": "31", "+": "32", "@": "36", "!": "33", "*": "1"}  # ANSI colors, as in `git diff`
_WIDEST: Final = 120  # maximum number of characters of a statement in a report; an initializer can have megabytes


def text(comparison: Comparison, names: tuple[str, str], *, colour: bool = False, renamings: bool = False) -> str:
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
    return "".join(f"{_painted(line, _COLOURS.get(mark, '')) if colour else line}\n" for mark, line in lines)


def _painted(line: str, colour: str) -> str:
    return f"\x1b[{colour}m{line}\x1b[m" if colour else line


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
