"""One remark about a file, as a value, as text with a caret, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.syntax.source import visible

if TYPE_CHECKING:
    from pyptx_ir.syntax.source import Source, Span

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong (`message`), where, how bad (`"error"` or `"warning"`), and what to do (`hint`, maybe empty).

    `line` and `column` count from 1, in characters; `span` covers the place at fault in the module's text. `code` names
    the kind of mistake; `docs/checking.md` explains each.
    """

    line: int
    column: int
    severity: str
    code: str
    message: str
    hint: str
    span: Span = field(compare=False, repr=False)

    @property
    def is_error(self) -> bool:
        """Tell whether ptxas refuses the module for it, or the manual forbids it."""
        return self.severity == ERROR

    def as_json(self) -> dict[str, int | str]:
        """Return the six fields that a tool needs, in a fixed order."""
        return {
            "line": self.line,
            "column": self.column,
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
        }


def shown(diagnostic: Diagnostic, source: Source) -> str:
    """Compose `FILE:LINE:COLUMN: error[code]: message`, the line with a caret below the place, and the hint."""
    place, _, picture = source.caret(diagnostic.span).partition("\n")
    lines = [f"{place}: {diagnostic.severity}[{diagnostic.code}]: {visible(diagnostic.message)}", picture]
    if diagnostic.hint:
        lines.append(f"hint: {visible(diagnostic.hint)}")
    return "\n".join(lines)
