"""Findings of rules, and their positions in the text.

A rule reports a statement and a word in it, not a line. A finding refers to its statement by the index in
`pyptx_ir.syntax.positions`. Lines are computed once, after all rules, and only if there are findings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_ir.debug_info import instruction_frames
from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.isa.modules.diagnostic import Diagnostic
from pyptx_ir.isa.modules.part_spans import own_text, place_in
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.source import Span
from pyptx_ir.syntax.spans import positions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_ir.syntax.source import Source


@dataclass(frozen=True, slots=True)
class Finding:
    """An error in one statement.

    `operand` is the index of the faulty operand, `word` the text above the caret (inside that operand, if both are
    given). Without an operand and a word, the caret is under the statement's first word. `at` is the index of the
    statement (None: the statement that the walk is at). `other` is the index of a second statement, whose line number
    replaces `{line}` in message and help.
    """

    code: str
    message: str
    help: str = ""
    word: str = ""
    operand: int | None = None
    at: int | None = None
    other: int | None = None


def located(found: Iterable[tuple[int, Finding]], module: Module, source: Source) -> list[Diagnostic]:
    """Convert findings, each with the index of its statement, to diagnostics with text positions."""
    entries = list(positions(module))
    at_fault = [at for at, node in enumerate(entries) if isinstance(node[0], Instruction)]
    frames = dict(zip(at_fault, instruction_frames(module), strict=True))
    return [replace(_located(finding, entries, at, source), origin=frames.get(at, ())) for at, finding in found]


def _located(finding: Finding, entries: list[tuple[Statement, Span]], at: int, source: Source) -> Diagnostic:
    if entries:
        node, span = entries[max(0, min(at, len(entries) - 1))]
        text = own_text(node, source.text[span.start : span.end])
        start, end = place_in(text, node, finding.operand, finding.word)
        place = Span(span.start + start, span.start + end)
    else:
        place = Span(0, 0)
    message, help = finding.message, finding.help
    if finding.other is not None:
        line = str(source.line_column(entries[finding.other][1].start)[0])
        message, help = message.replace("{line}", line), help.replace("{line}", line)
    row, column = source.line_column(place.start)
    return Diagnostic(row, column, codes()[finding.code].severity, finding.code, message, help, place)
