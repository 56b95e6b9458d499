"""`Diagnostic` of a PTX file: as a value, as text with a caret, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.debug_info import SOURCE_LINE, position_of
from pyptx_ir.renamed import former_attribute
from pyptx_ir.reports import Position, Problem
from pyptx_ir.syntax.source import visible

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Frame
    from pyptx_ir.syntax.source import Source, Span

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault (`message`), its position, its severity (`"error"` or `"warning"`), and a `help`, which may be empty.

    `line` and `column` count from 1, in characters; `span` covers the fault in the module's text. `code` is the kind of
    error; `pyptx explain CODE` explains it. `origin` are the source lines of a faulty instruction (its
    `.loc`), innermost first.
    """

    line: int
    column: int
    severity: str
    code: str
    message: str
    help: str
    span: Span = field(compare=False, repr=False)
    origin: tuple[Frame, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = former_attribute

    @property
    def is_error(self) -> bool:
        """Whether ptxas rejects the module because of the fault, or the manual forbids it."""
        return self.severity == ERROR

    def problem(self, file: str) -> Problem:
        """Return the diagnostic as a problem of `file`, for reports; its position has no end."""
        source = (position_of(self.origin, SOURCE_LINE),) if self.origin else ()
        positions = (Position(file, self.line, self.column), *source)
        return Problem(
            file, self.code, "error" if self.is_error else "warning", self.message, positions, help=self.help
        )


def shown(diagnostic: Diagnostic, source: Source) -> str:
    """Return `FILE:LINE:COLUMN: error[code]: message`, the line with a caret below the fault, source lines and help."""
    place, _, picture = source.caret(diagnostic.span).partition("\n")
    lines = [f"{place}: {diagnostic.severity}[{diagnostic.code}]: {visible(diagnostic.message)}", picture]
    if diagnostic.origin:
        position = position_of(diagnostic.origin)
        lines += [f"note: {line}" for line in (f"at {position.in_function}", *position.stack)]
    if diagnostic.help:
        lines.append(f"help: {visible(diagnostic.help)}")
    return "\n".join(lines)
