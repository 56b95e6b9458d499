"""Format a text in another style: only its whitespace changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax.lexemes import COMMENT_TEXT
from pyptx_ir.syntax.parser import parse, parse_recovering
from pyptx_ir.syntax.style.items import Item, items
from pyptx_ir.syntax.style.tokens import cut, same_tokens
from pyptx_ir.syntax.style.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.style.style import Style

_COMMENT = re.compile(f"({COMMENT_TEXT})", re.ASCII)


class FormattingError(PyptxError):
    """A style that would change more of a text than its whitespace."""


def formatted(text: str, style: Style, name: str = "<string>") -> str:
    """Return the text in a style.

    Tokens and comments are kept, including comments after a statement on its line. A statement with a comment inside
    keeps its source text. Several blank lines next to a comment become one.

    Raises:
        PtxSyntaxError: the text is not valid PTX.
        FormattingError: the style's leading trivia are not whitespace and comments.

    """
    module = parse(text, name)
    own = list(items(module))
    out: list[str] = []
    for item, (_, leading_trivia, spelling) in zip(
        own, Writer(style).written([_open(item) for item in own]), strict=True
    ):
        out.append(_leading_trivia(item, leading_trivia))
        kept = item.raw is None or not same_tokens(cut(item.raw), cut(spelling))
        out.append((item.raw or "") if kept else spelling)
    done = "".join(out)
    read, errors = parse_recovering(done, name)
    if errors or read != module or _comments(items(read)) != _comments(own):
        raise FormattingError(f"{name}: this style would change more than whitespace")
    return done


def _open(item: Item) -> Item:
    """Return a copy of a statement or brace without trivia and source text, so that the style provides both."""
    copy = Item(item.kind, item.name, item.node, None, None if item.node is not None else item.raw)
    copy.depth, copy.calls, copy.block, copy.function = item.depth, item.calls, item.block, item.function
    return copy


def _leading_trivia(item: Item, styled: str) -> str:
    """Return the comments in a statement's own leading trivia, with the style's whitespace around them."""
    own = item.leading_trivia or ""
    comments, wanted = _COMMENT.findall(own), _COMMENT.findall(styled)
    if comments == wanted:
        return styled if _only_comments(own) else own
    if not _only_comments(own):
        return own  # keep the position of `#` line markers and of lines in a listing
    if not comments:
        return _blank(styled)
    blank = _blank(styled)
    indent = blank[blank.rfind("\n") + 1 :] if "\n" in blank else "\t" * item.depth
    gaps = _COMMENT.split(own)[::2]
    if "\n" not in own and "\n" in blank:
        gaps[-1] = blank  # keep a comment on the line of the statement before it
    return "".join(
        [part for gap, comment in zip(gaps, [*comments, ""], strict=True) for part in (_break(gap, indent), comment)]
    )


def _only_comments(leading_trivia: str) -> bool:
    return not _COMMENT.sub("", leading_trivia).strip(" \t\r\n\f\v")


def _blank(leading_trivia: str) -> str:
    """Return the whitespace before the first comment of trivia if it has a line end, else after the last comment."""
    pieces = _COMMENT.split(leading_trivia)
    return pieces[0] if "\n" in pieces[0] else pieces[-1]


def _break(gap: str, indent: str) -> str:
    """Return the whitespace next to a comment, reduced to at most one blank line."""
    lines = gap.count("\n")
    return "\n" * min(lines, 2) + indent if lines else gap


def _comments(row: Iterable[Item]) -> list[str]:
    """Return the comments of a text, in text order."""
    return [
        comment for item in row for text in (item.leading_trivia, item.raw) for comment in _COMMENT.findall(text or "")
    ]
