"""Text that is not PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from pyptx_ir.syntax.source import Source, Span


class PtxSyntaxError(PyptxError):
    """A statement that is not PTX.

    `line` and `column` count from 1, in characters; `span` holds offsets. `errors` holds every error of the text in
    order, this one included.
    """

    def __init__(self, message: str, source: Source, span: Span, hint: str | None = None) -> None:
        """Locate `message` in `source`."""
        self.source = source
        self.span = span
        self.line, self.column = source.line_column(span.start)
        self.errors: tuple[PtxSyntaxError, ...] = (self,)
        super().__init__(message, where=source.caret(span), hint=hint)

    def __reduce__(self) -> tuple[type[PtxSyntaxError], tuple[str, Source, Span, str | None]]:
        """Pickle by what the error was made of: worker processes send their errors home."""
        return type(self), (self.message, self.source, self.span, self.hint)
