r"""Context that compiler comments repeat.

LLVM and NVVM number calls (`// callseq 3, 0`) and basic blocks (`// %bb.2:`), name functions (`// @k`), resolve the
file of a `.loc`, and begin comments in column 40. In leading trivia, such a piece is a placeholder in braces: `" //
callseq {call}, 0\n\t"`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Loc
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyptx_ir.syntax.style.items import Item

INDENT, MARGIN = "{indent}", "{margin}"
_COLUMN = 40  # column at which LLVM starts comments: MCAsmInfo::CommentColumn
_MARGIN = re.compile(r" +(?=//)")
_GOES_ON = re.compile(r"[\w$]")
# Matches whitespace and the comments around inline assembly, which contain no placeholders.
_ASM = re.compile(r"(?:[\n\t]|// (?:begin|end) inline asm\n)*")


@value
class Context(Value):
    """Context that comments may repeat: next and previous statement, the line where the trivia begins, file names."""

    item: Item
    before: Item
    line: str
    files: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """Placeholder in a comment: its name, the comment text before it, and a function of a `Context` for its value."""

    name: str
    front: re.Pattern[str]
    value: Callable[[Context], str]


def _location(context: Context, *, folder: bool = True, caller: bool = True) -> str:
    """Return LLVM's comment after a `.loc`, with or without the file's folder and the inlining location."""
    node = context.before.node
    if not isinstance(node, Loc) or node.file not in context.files:
        return ""
    text = _spot(context.files[node.file], node.line, node.column, folder=folder)
    around = node.inlined_at
    if around is None or not caller:
        return text
    outer = _spot(context.files.get(around.file, ""), around.line, around.column, folder=folder)
    return f"{text} @[ {outer} ]"


def _spot(path: str, line: int, column: int, *, folder: bool) -> str:
    name = path.removeprefix("./") if folder else path.rpartition("/")[2]
    return f"{name}:{line}:{column}"


_PLACES = (
    _Placeholder("{function}", re.compile(r"\.globl\t|// @|Begin function "), lambda context: context.item.function),
    _Placeholder("{call}", re.compile("callseq "), lambda context: str(context.item.calls)),
    _Placeholder("{called}", re.compile("callseq "), lambda context: str(context.item.calls - 1)),
    _Placeholder("{block}", re.compile(r"// %bb\."), lambda context: str(context.item.block)),
    _Placeholder("{remark}", re.compile("// "), lambda context: context.before.remark),
    _Placeholder("{location}", re.compile("// "), _location),
    _Placeholder("{brief location}", re.compile("// "), lambda context: _location(context, folder=False)),
    _Placeholder(
        "{callee location}", re.compile("// "), lambda context: _location(context, folder=False, caller=False)
    ),
)
NAMES = (INDENT, MARGIN, *(place.name for place in _PLACES))
_WITHOUT_CALLER = tuple([place for place in _PLACES if place.name not in {"{location}", "{brief location}"}])
"""Placeholders for Triton, which does not print inlining locations: `{callee location}` follows each `.loc`."""


def repeats(leading_trivia: str | None) -> bool:
    """Return whether leading trivia has comments, each with a placeholder such as `{call}`."""
    if leading_trivia is None or "{" not in leading_trivia:
        return False
    comments = leading_trivia.split("//")[1:]
    return bool(comments) and all(any(place.name in each for place in _PLACES) for each in comments)


def indented(rule: str, item: Item) -> str:
    """Replace `{indent}` in the trivia before a statement by one tab for each brace that encloses the statement."""
    return rule.replace(INDENT, "\t" * item.depth)


def filled(rule: str, context: Context) -> str:
    """Return trivia with each placeholder replaced by its value in this context."""
    text = indented(rule, context.item)
    if "{" not in text:
        return text
    for place in _PLACES:
        if place.name in text:
            text = text.replace(place.name, place.value(context))
    while MARGIN in text:
        before, _, behind = text.partition(MARGIN)
        text = before + " " * max(1, _COLUMN - _column(_last_line(context.line + before))) + behind
    return text


def indentable(leading_trivia: str, depth: int) -> tuple[str, ...]:
    """Return trivia, and its version with an indent placeholder if it ends in one tab per open brace.

    Returns an empty tuple if the trivia literally contains the name of a placeholder.
    """
    if "{" in leading_trivia and any(name in leading_trivia for name in NAMES):
        return ()
    before, newline, indent = leading_trivia.rpartition("\n")
    return (leading_trivia, f"{before}\n{INDENT}") if newline and indent == "\t" * depth else (leading_trivia,)


def abstracted(leading_trivia: str, context: Context) -> Iterator[str]:
    """Yield the leading trivia, then its variants with placeholders that `filled` replaces by the original text."""
    plain = indentable(leading_trivia, context.item.depth)
    yield from plain
    if not plain or "//" not in leading_trivia or _ASM.fullmatch(leading_trivia):
        return
    before, newline, indent = leading_trivia.rpartition("\n")
    repeated = [before, _repeated(before, context, _PLACES)]
    if isinstance(context.before.node, Loc):
        repeated.append(_repeated(before, context, _WITHOUT_CALLER))
    ways = list(dict.fromkeys(repeated))
    wide = _MARGIN.sub(MARGIN, before)
    # Replace the spaces before `//` by `{margin}` in all variants if that gives the original text in this one.
    if wide != before and filled(wide + newline + indent, context) == leading_trivia:
        ways += dict.fromkeys([_MARGIN.sub(MARGIN, each) for each in ways])
    for text in ways[1:]:
        yield text + newline + indent
        if plain[1:]:
            yield text + newline + INDENT


def _repeated(text: str, context: Context, places: Iterable[_Placeholder]) -> str:
    """Return trivia with a placeholder wherever a comment repeats its context."""
    for place in places:
        value = place.value(context)
        if value and value in text and place.front.search(text):
            text = "".join(_pieces(text, place, value))
    return text


def _pieces(text: str, place: _Placeholder, value: str) -> Iterator[str]:
    at = 0
    for found in place.front.finditer(text):
        start, end = found.end(), found.end() + len(value)
        if found.start() >= at and text.startswith(value, start) and not _GOES_ON.match(text, end):
            yield text[at:start] + place.name
            at = end
    yield text[at:]


def _last_line(text: str) -> str:
    return text[text.rfind("\n") + 1 :]


def _column(line: str) -> int:
    """Return LLVM's width of a line: a tab advances to the next multiple of 8, and by 0 from a multiple."""
    column = 0
    for piece in line.split("\t"):
        column = -(-column // 8) * 8 + len(piece)
    return column
