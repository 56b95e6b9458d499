"""The error for invalid PTX syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from pyptx_ir.syntax.source import Source, Span


class PtxSyntaxError(PyptxError):
    """A statement with invalid syntax.

    `line` and `column` count from 1, in characters; `span` contains offsets. `errors` contains every error of the text
    in order, including this one.
    """

    def __init__(self, message: str, source: Source, span: Span, help: str | None = None) -> None:
        """Compose the error text: `message`, then the line of `span` in `source` with carets, then `help`."""
        self.source = source
        self.span = span
        self.line, self.column = source.line_column(span.start)
        self.errors: tuple[PtxSyntaxError, ...] = (self,)
        super().__init__(message, where=source.caret(span), help=help)

    def __reduce__(self) -> tuple[type[PtxSyntaxError], tuple[str, Source, Span, str | None]]:
        """Pickle as constructor arguments, because worker processes return their errors."""
        return type(self), (self.message, self.source, self.span, self.help)
