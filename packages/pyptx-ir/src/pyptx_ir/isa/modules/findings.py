"""What a rule finds, and where it stands in the text.

A rule knows statements and words, not lines: a finding names its statement by its place in the walk, which is the order
of `positions`. Lines are computed once, at the end, and only if there is something to report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.isa.modules.diagnostic import Diagnostic
from pyptx_ir.isa.modules.places import own_text, place_in
from pyptx_ir.syntax.source import Span
from pyptx_ir.syntax.spans import positions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.source import Source


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
        text = own_text(node, source.text[span.start : span.end])
        start, end = place_in(text, node, finding.operand, finding.word)
        place = Span(span.start + start, span.start + end)
    else:
        place = Span(0, 0)
    message, hint = finding.message, finding.hint
    if finding.other is not None:
        line = str(source.line_column(entries[finding.other][1].start)[0])
        message, hint = message.replace("{line}", line), hint.replace("{line}", line)
    row, column = source.line_column(place.start)
    return Diagnostic(row, column, codes()[finding.code].severity, finding.code, message, hint, place)
