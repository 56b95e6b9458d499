"""What a rule finds, and where it stands in the text.

A rule knows statements and words, not lines: a finding names its statement by its place in the walk, which is the order
of `positions`. Lines are computed once, at the end, and only if there is something to report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.isa.modules.diagnostic import Diagnostic
from pyptx_ir.syntax.nodes import Function, Instruction
from pyptx_ir.syntax.spans import Span, positions
from pyptx_ir.syntax.spelling import header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.source import Source

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", re.DOTALL)
_GUARDED = re.compile(r"@\s*!?\s*[\w$%.]+\s*")
_WORD = re.compile(r"\.?[^\s;,(){}\[\]]+")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in one statement.

    `operand` is the index of the operand at fault, `word` what to put the caret under (inside that operand, if both are
    given); with neither, it stands under the statement's first word. `at` is the statement (None: the one that the walk
    is at), `other` a second one, whose line replaces `{line}` in message and hint.
    """

    code: str
    message: str
    hint: str = ""
    word: str = ""
    operand: int | None = None
    at: int | None = None
    other: int | None = None


def located(found: Iterable[tuple[int, Finding]], module: Module, source: Source) -> list[Diagnostic]:
    """Give each finding, which comes with the number of its statement, its place in the text."""
    entries = list(positions(module))
    return [_located(finding, entries, at, source) for at, finding in found]


def _located(finding: Finding, entries: list[tuple[Statement, Span]], at: int, source: Source) -> Diagnostic:
    if entries:
        node, span = entries[max(0, min(at, len(entries) - 1))]
        start, end = _place(_own_text(node, source.text[span.start : span.end]), node, finding)
        place = Span(span.start + start, span.start + end)
    else:
        place = Span(0, 0)
    message, hint = finding.message, finding.hint
    if finding.other is not None:
        line = str(source.line_column(entries[finding.other][1].start)[0])
        message, hint = message.replace("{line}", line), hint.replace("{line}", line)
    row, column = source.line_column(place.start)
    return Diagnostic(row, column, codes()[finding.code].severity, finding.code, message, hint, place)


def _own_text(node: Statement, text: str) -> str:
    """Return the statement's text up to its body, with blanks for comments and strings."""
    if isinstance(node, Function):
        text = text[: len(node.raw if node.raw is not None else header(node))]
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _place(text: str, node: Statement, finding: Finding) -> tuple[int, int]:
    start, end = 0, len(text)
    if finding.operand is not None:
        start, end = _operand(text, finding.operand)
        if not finding.word:
            return start, end
    if finding.word:
        begins = "" if finding.word.startswith(".") else r"(?<![\w$%])"
        found = re.compile(rf"{begins}{re.escape(finding.word)}(?![\w$]|::)").search(text, start, end)
        if found:
            return found.span()
        return _first_word(text, node) if finding.operand is None else (start, end)
    return _first_word(text, node)


def _first_word(text: str, node: Statement) -> tuple[int, int]:
    start = _opcode_at(text) if isinstance(node, Instruction) else 0
    found = _WORD.match(text, start)
    return found.span() if found else (start, min(start + 1, len(text)))


def _opcode_at(text: str) -> int:
    guard = _GUARDED.match(text)
    return guard.end() if guard else 0


def _operand(text: str, index: int) -> tuple[int, int]:
    """Return where the operand of this index stands in an instruction: commas outside brackets part them."""
    opcode = _WORD.match(text, _opcode_at(text))
    start = at = opcode.end() if opcode else 0
    depth = count = 0
    while at < len(text) and text[at] != ";":
        depth += _BRACKETS.get(text[at], 0)
        if text[at] == "," and not depth:
            if count == index:
                break
            count, start = count + 1, at + 1
        at += 1
    piece = text[start:at]
    start += len(piece) - len(piece.lstrip())
    return start, max(start + 1, start + len(piece.strip()))
